import type { ChatBody } from '../../../formats/chat/schema.ts'
import type { MessagesBody } from '../../../formats/messages/schema.ts'
import type { ResponsesBody } from '../../../formats/responses/schema.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'

type RequestField = keyof ChatBody | keyof MessagesBody | keyof ResponsesBody

/**
 * Whether a preset stores a field of the request it is created from: configuration is stored, the content and the
 * caller's identity are not. The type makes the table complete: a new field of a format must be added here.
 */
const fieldRetention: Record<RequestField, 'stored' | 'dropped'> = {
  model: 'stored',
  models: 'stored',
  fallbacks: 'stored',
  temperature: 'stored',
  top_p: 'stored',
  top_k: 'stored',
  min_p: 'stored',
  top_a: 'stored',
  frequency_penalty: 'stored',
  presence_penalty: 'stored',
  repetition_penalty: 'stored',
  max_tokens: 'stored',
  max_completion_tokens: 'stored',
  max_output_tokens: 'stored',
  stop: 'stored',
  stop_sequences: 'stored',
  seed: 'stored',
  logit_bias: 'stored',
  logprobs: 'stored',
  top_logprobs: 'stored',
  response_format: 'stored',
  text: 'stored',
  output_config: 'stored',
  tools: 'stored',
  tool_choice: 'stored',
  parallel_tool_calls: 'stored',
  provider: 'stored',
  plugins: 'stored',
  reasoning: 'stored',
  reasoning_effort: 'stored',
  thinking: 'stored',
  verbosity: 'stored',
  service_tier: 'stored',
  speed: 'stored',
  transforms: 'stored',
  cache_control: 'stored',
  context_management: 'stored',
  stop_server_tools_when: 'stored',
  route: 'stored',
  include: 'stored',
  truncation: 'stored',
  cache_enabled: 'stored',
  cache_ttl_seconds: 'stored',
  cache_mode: 'stored',
  cache_scope: 'stored',
  cache_threshold: 'stored',
  modalities: 'stored',
  image_config: 'stored',
  max_tool_calls: 'stored',

  // Stored as the system prompt.
  system: 'dropped',
  instructions: 'dropped',

  messages: 'dropped',
  input: 'dropped',
  prompt: 'dropped',
  stream: 'dropped',
  stream_options: 'dropped',
  user: 'dropped',
  session_id: 'dropped',
  metadata: 'dropped',
  trace: 'dropped',
  store: 'dropped',
  background: 'dropped',
  previous_response_id: 'dropped',
  conversation: 'dropped',
  preset: 'dropped',
  prediction: 'dropped',
  prompt_cache_key: 'dropped',
  prompt_cache_options: 'dropped',
  safety_identifier: 'dropped',
  debug: 'dropped',
}

export type RequestFields = Partial<Record<RequestField, unknown>>
export type PresetConfig = Record<string, unknown>

/** Bounds the size of a page of versions. */
export const maxPartBytes = 256 * 1024

/** The fields a preset stores, under the names they were sent with. Null counts as absent, as in a request. */
export function extractConfig(body: RequestFields): PresetConfig {
  const retained = Object.entries(fieldRetention).flatMap(([field, retention]) => {
    const value = body[field as RequestField]
    if (retention === 'dropped' || value === undefined || value === null) return []
    return [[field, field === 'tools' ? stripCredentials(value) : value] as const]
  })
  const config = Object.fromEntries(retained)
  if (Buffer.byteLength(JSON.stringify(config)) > maxPartBytes) {
    throw invalidFieldError('body', `its configuration is larger than ${maxPartBytes} bytes`)
  }
  return config
}

/** Many members can read a preset: a tool's credentials are not configuration and are sent with each request. */
const credentialFields = new Set(['authorization', 'authorization_token', 'headers'])

function stripCredentials(tools: unknown): unknown {
  if (!Array.isArray(tools)) return tools
  return tools.map((tool: object) =>
    Object.fromEntries(Object.entries(tool).filter(([field]) => !credentialFields.has(field))),
  )
}
