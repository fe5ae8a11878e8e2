import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ChoiceEnd, ReplyStart } from '../call/event.ts'
import { maskMcpSecrets } from '../mcp-secrets.ts'
import { withoutTagList } from '../metadata.ts'
import type { ReplyContext } from '../wire-format.ts'
import type { ItemContext } from './output-items-encode.ts'

/** The id of a response, derived from the generation id. */
export function responseIdOf(generationId: string): string {
  return `resp_${stripPrefix(generationId)}`
}

function stripPrefix(generationId: string): string {
  return generationId.startsWith('gen-') ? generationId.slice('gen-'.length) : generationId
}

export function itemContextOf({ id, call, formatNames, isVendorClient }: ReplyContext): ItemContext {
  const hasOwnEvents = !isVendorClient
  return { idBase: stripPrefix(id), call, ...(formatNames && { formatNames }), hasOwnEvents }
}

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** The fields of a response that change while it is generated. */
export interface ResponseState {
  status: ResponseStatus
  output: JsonObject[]
  usage: JsonObject | null
  start: ReplyStart
  incomplete?: string
  error?: JsonObject
  errorType?: string
}

/** The response object, the same in events and as a whole reply. */
export function encodeResponse(context: ReplyContext, state: ResponseState): JsonObject {
  const { body } = context
  const response: JsonObject = {
    id: responseIdOf(context.id),
    object: 'response',
    created_at: context.created,
    completed_at: state.status === 'completed' ? completedAtOf(context) : null,
    status: state.status,
    background: body.background ?? false,
    error: state.error ?? null,
    incomplete_details: state.incomplete === undefined ? null : { reason: state.incomplete },
    model: context.model,
    provider: context.provider,
    output: state.output,
    ...echoRequest(body),
    service_tier: state.start.serviceTier ?? context.tier,
    usage: state.usage,
  }
  if (state.errorType !== undefined) response.error_type = state.errorType
  if (state.status === 'completed' || state.status === 'incomplete')
    response.output_text = joinOutputText(state.output)
  return response
}

/** The request fields that the format echoes. */
function echoRequest(body: JsonObject): JsonObject {
  const reasoning = asObject(body.reasoning)
  return {
    ...encodeStorageFields(body),
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...reasoning },
    safety_identifier: body.safety_identifier ?? null,
    temperature: body.temperature ?? null,
    top_p: body.top_p ?? null,
    frequency_penalty: body.frequency_penalty ?? null,
    presence_penalty: body.presence_penalty ?? null,
    text: { format: { type: 'text' }, ...asObject(body.text) },
    tool_choice: body.tool_choice ?? 'auto',
    tools: asObjects(maskMcpSecrets(body).tools ?? body.tools),
    top_logprobs: body.top_logprobs ?? 0,
    truncation: body.truncation ?? 'disabled',
    user: body.user ?? null,
    metadata: withoutTagList(body.metadata) ?? {},
  }
}

/** Storage by the gateway, instead of the upstream's values: nothing is stored there. */
export function encodeStorageFields(body: JsonObject): JsonObject {
  return {
    store: body.store === true,
    previous_response_id: body.previous_response_id ?? null,
    ...(body.conversation ? { conversation: body.conversation } : {}),
  }
}

export function joinOutputText(output: JsonObject[]): string {
  return output
    .filter((item) => item.type === 'message')
    .flatMap((item) => asObjects(item.content))
    .map((content) => (content.type === 'output_text' ? (asString(content.text) ?? '') : ''))
    .join('')
}

/** The status of a finished choice: `incomplete` if it was cut short, else `completed`. */
export function encodeChoiceEnd(end: ChoiceEnd | null): Pick<ResponseState, 'status' | 'incomplete'> {
  if (end?.reason === 'length') return { status: 'incomplete', incomplete: 'max_output_tokens' }
  if (end?.reason === 'content_filter') return { status: 'incomplete', incomplete: 'content_filter' }
  return { status: 'completed' }
}

function completedAtOf({ created }: ReplyContext): number {
  return Math.max(created, Math.floor(Date.now() / 1000))
}
