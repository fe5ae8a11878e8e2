import type { ChoiceEnd, ReplyStart } from '../../call/event.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { ReplyFacts } from '../dialect.ts'
import type { ItemFacts } from './output-items.ts'

/** The id a client knows a response by. */
export function responseId(generationId: string): string {
  return `resp_${withoutPrefix(generationId)}`
}

function withoutPrefix(generationId: string): string {
  return generationId.startsWith('gen-') ? generationId.slice('gen-'.length) : generationId
}

export function itemFacts({ id, call, formatNames }: ReplyFacts): ItemFacts {
  return { base: withoutPrefix(id), call, ...(formatNames && { formatNames }) }
}

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** What of a response changes while it is made. */
export interface ResponseState {
  status: ResponseStatus
  output: JsonObject[]
  usage: JsonObject | null
  start: ReplyStart
  incomplete?: string
  error?: JsonObject
  errorType?: string
}

/** The response as a client sees it: the same in events and as a whole reply. */
export function responseObject(about: ReplyFacts, state: ResponseState): JsonObject {
  const { body } = about
  const response: JsonObject = {
    id: responseId(about.id),
    object: 'response',
    created_at: about.created,
    completed_at: state.status === 'completed' ? now(about) : null,
    status: state.status,
    background: body.background ?? false,
    error: state.error ?? null,
    incomplete_details: state.incomplete === undefined ? null : { reason: state.incomplete },
    model: about.model,
    provider: about.provider,
    output: state.output,
    ...echo(body),
    service_tier: state.start.serviceTier ?? about.tier,
    usage: state.usage,
  }
  if (state.errorType !== undefined) response.error_type = state.errorType
  if (state.status === 'completed' || state.status === 'incomplete')
    response.output_text = outputText(state.output)
  return response
}

/** What the client asked, as the format repeats it. */
function echo(body: JsonObject): JsonObject {
  const reasoning = objectOf(body.reasoning)
  return {
    ...kept(body),
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
    text: { format: { type: 'text' }, ...objectOf(body.text) },
    tool_choice: body.tool_choice ?? 'auto',
    tools: objectsOf(body.tools),
    top_logprobs: body.top_logprobs ?? 0,
    truncation: body.truncation ?? 'disabled',
    user: body.user ?? null,
    metadata: body.metadata ?? {},
  }
}

/** What the gateway keeps of a conversation: never the upstream's word, which keeps nothing for us. */
export function kept(body: JsonObject): JsonObject {
  return {
    store: body.store === true,
    previous_response_id: body.previous_response_id ?? null,
    ...(body.conversation ? { conversation: body.conversation } : {}),
  }
}

export function outputText(output: JsonObject[]): string {
  return output
    .filter((item) => item.type === 'message')
    .flatMap((item) => objectsOf(item.content))
    .map((content) => (content.type === 'output_text' ? (textOf(content.text) ?? '') : ''))
    .join('')
}

/** How the end of a choice shows: cut short is `incomplete`, everything else completed. */
export function endOf(end: ChoiceEnd | null): Pick<ResponseState, 'status' | 'incomplete'> {
  if (end?.reason === 'length') return { status: 'incomplete', incomplete: 'max_output_tokens' }
  if (end?.reason === 'content_filter') return { status: 'incomplete', incomplete: 'content_filter' }
  return { status: 'completed' }
}

function now({ created }: ReplyFacts): number {
  return Math.max(created, Math.floor(Date.now() / 1000))
}
