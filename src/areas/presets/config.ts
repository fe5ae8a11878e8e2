import type { ChatBody } from '../../dialects/chat/schema.ts'
import type { MessagesBody } from '../../dialects/messages/schema.ts'
import type { ResponsesBody } from '../../dialects/responses/schema.ts'
import { invalidFieldError } from '../../errors/gateway-error.ts'

type RequestField = keyof ChatBody | keyof MessagesBody | keyof ResponsesBody

/**
 * Whether a preset keeps a field of the request it is created from: configuration is kept, the content and the
 * caller's identity are not. The type makes the table complete: a new field of a format must be added here.
 */
const fieldRetention: Record<RequestField, 'kept' | 'dropped'> = {
  model: 'kept',
  models: 'kept',
  fallbacks: 'kept',
  temperature: 'kept',
  top_p: 'kept',
  top_k: 'kept',
  min_p: 'kept',
  top_a: 'kept',
  frequency_penalty: 'kept',
  presence_penalty: 'kept',
  repetition_penalty: 'kept',
  max_tokens: 'kept',
  max_completion_tokens: 'kept',
  max_output_tokens: 'kept',
  stop: 'kept',
  stop_sequences: 'kept',
  seed: 'kept',
  logit_bias: 'kept',
  logprobs: 'kept',
  top_logprobs: 'kept',
  response_format: 'kept',
  text: 'kept',
  output_config: 'kept',
  tools: 'kept',
  tool_choice: 'kept',
  parallel_tool_calls: 'kept',
  provider: 'kept',
  plugins: 'kept',
  reasoning: 'kept',
  reasoning_effort: 'kept',
  thinking: 'kept',
  verbosity: 'kept',
  service_tier: 'kept',
  speed: 'kept',
  transforms: 'kept',
  cache_control: 'kept',
  context_management: 'kept',
  stop_server_tools_when: 'kept',
  route: 'kept',
  include: 'kept',
  truncation: 'kept',
  cache_enabled: 'kept',
  cache_ttl_seconds: 'kept',
  modalities: 'kept',
  image_config: 'kept',
  max_tool_calls: 'kept',

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

/** The fields a preset keeps, under the names they were sent with. Null counts as absent, as in a request. */
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
