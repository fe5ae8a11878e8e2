import { estimatePromptTokens } from '../../formats/call/size.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { MeasuredContent, RequestFormat, Unguarded } from '../request/inference-request.ts'
import { replaceLabels } from '../request/options.ts'
import { createState } from '../request/parse.ts'
import type { DecodedMedia, IncomingMedia, MediaRequest, MediaTask } from './task.ts'

/** Requests with longer prompts are processed in slices. */
const largeCharacters = 1024 * 1024

/** Decodes the body, and adds the context of the caller's key and the options of the request. */
export async function parseMediaRequest<Call>(
  gateway: Gateway,
  incoming: IncomingMedia<Call>,
  { name, fields }: Pick<MediaTask<Call, never, unknown>, 'name' | 'fields'>,
): Promise<Unguarded<MediaRequest<Call>>> {
  const { body, unknown = [], decode } = incoming
  const startedAt = performance.now()
  const keyContext = await gateway.accounts.findContext(incoming.caller.key)
  const decoded = decode(body)
  const parsed = {
    startedAt,
    keyContext,
    format: { name, task: name },
    content: toContent(decoded),
    presetId: null,
  }
  const state = createState<RequestFormat, MeasuredContent>(gateway, incoming, parsed)
  state.work?.dropPluginsExcept('moderation')
  return Object.assign(state, {
    media: decoded.call,
    received: { body, unknown, decode, fields, opaque: decoded.opaque ?? [] },
    replyFilter: null,
  })
}

/** Replaces the texts of a request. */
export function replaceBody<Call>(request: Unguarded<MediaRequest<Call>>, body: JsonObject): void {
  const { received } = request
  const decoded = received.decode(body)
  const changes = [[asString(received.body.user), asString(body.user)]] as const
  request.options = replaceLabels(request.options, changes)
  request.content = toContent(decoded)
  request.media = decoded.call
  request.received = { ...received, body }
}

function toContent<Call>({ body, prompt, size }: DecodedMedia<Call>): MeasuredContent {
  const characters = size.promptTokens
  return {
    plain: null,
    call: prompt,
    stream: prompt.stream,
    promptTokens: estimatePromptTokens(prompt),
    body,
    received: { characters, isLarge: characters > largeCharacters, model: asString(body.model) ?? null },
    measure: () => size,
  }
}
