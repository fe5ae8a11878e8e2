import { estimatePromptTokens } from '../../formats/call/size.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { MeasuredContent, Unguarded } from '../request/inference-request.ts'
import { replaceLabels } from '../request/options.ts'
import { createFunds, describeRequest } from '../request/parse.ts'
import type { DecodedMedia, IncomingMedia, MediaRequest, MediaTask } from './task.ts'

/** Requests with longer prompts are processed in slices. */
const largeCharacters = 1024 * 1024

/** Decodes the body, and adds the context of the caller's key and the options of the request. */
export async function parseMediaRequest<Call>(
  gateway: Gateway,
  incoming: IncomingMedia<Call>,
  { name, fields }: Pick<MediaTask<Call, never, unknown>, 'name' | 'fields'>,
): Promise<Unguarded<MediaRequest<Call>>> {
  const { caller, region, httpRequest, body, unknown = [], decode } = incoming
  const startedAt = performance.now()
  const keyContext = await gateway.accounts.findContext(caller.key)
  const decoded = decode(body)
  const description = describeRequest(gateway, incoming, decoded.body, keyContext, startedAt)
  description.work?.dropPluginsExcept('moderation')
  const request = {
    ...description,
    caller,
    region,
    httpRequest,
    format: { name, task: name },
    content: toContent(decoded),
    presetId: null,
    media: decoded.call,
    received: { body, unknown, decode, fields, opaque: decoded.opaque ?? [] },
    funds: null,
  }
  return { ...request, funds: createFunds(request, incoming) }
}

/** The same request with other texts. */
export function replaceBody<Call>(request: MediaRequest<Call>, body: JsonObject): MediaRequest<Call> {
  const { received } = request
  const decoded = received.decode(body)
  const changes = [[asString(received.body.user), asString(body.user)]] as const
  return {
    ...request,
    options: replaceLabels(request.options, changes),
    content: toContent(decoded),
    media: decoded.call,
    received: { ...received, body },
  }
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
