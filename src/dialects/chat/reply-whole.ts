import type { Choice, Reply } from '../../call/event.ts'
import type { UpstreamFailure } from '../../call/failure.ts'
import type { OutputPart, ToolCallPart } from '../../call/part.ts'
import { type Bill, noTokens } from '../../call/usage.ts'
import { type JsonObject, objectsOf } from '../../lib/loose.ts'
import { explained, type ReplyFacts } from '../dialect.ts'
import { isDisguised, undisguised } from '../free-text.ts'
import { chunkHead } from './chunk.ts'
import { endedInError, failureObject, malformed } from './error.ts'
import { urlOf } from './parts-decode.ts'
import { DetailNumbers, readableOf, writeDetails } from './reasoning-details.ts'
import { annotationsOf, audioFields, encodeLogprob, endFields, openingOpaque } from './reply-write.ts'
import { writeUsage } from './usage.ts'

/** A whole reply. One that broke off keeps what there is, and says in its choices what happened. */
export function encodeReply(reply: Reply, about: ReplyFacts, bill: Bill): JsonObject {
  const { fingerprint } = reply.start
  const tier = reply.start.serviceTier ?? about.tier
  const choices = reply.choices.length > 0 ? reply.choices : [{ index: 0, parts: [], end: null }]
  return {
    ...chunkHead(about, 'chat.completion'),
    ...(tier !== null && { service_tier: tier }),
    system_fingerprint: fingerprint ?? null,
    choices: choices.map((choice) => encodeChoice(choice, reply, about)),
    usage: writeUsage(reply.usage ?? noTokens, bill),
    ...explained(about),
  }
}

function encodeChoice(choice: Choice, reply: Reply, about: ReplyFacts): JsonObject {
  const failure = reply.failure ?? brokenEnd(choice, reply)
  const logprobs = choice.parts.flatMap((part) => (part.kind === 'text' ? (part.logprobs ?? []) : []))
  const encoded: JsonObject = {
    index: choice.index,
    message: encodeMessage(choice.parts, about),
    ...endFields(choice.end),
    ...(failure && { finish_reason: 'error' }),
    logprobs: logprobs.length > 0 ? { content: logprobs.map(encodeLogprob), refusal: null } : null,
  }
  if (failure) encoded.error = failureObject(failure)
  return encoded
}

/** How a choice broke off of which the upstream said nothing more. */
export function brokenEnd({ end }: Choice, { complete }: Reply): UpstreamFailure | null {
  if (end?.reason === 'error') return malformed(end.explanation ?? endedInError)
  return end || complete ? null : malformed('The upstream broke off its reply.')
}

function encodeMessage(parts: OutputPart[], about: ReplyFacts): JsonObject {
  const calls = parts.filter((part) => part.kind === 'tool-call')
  const texts = parts.filter((part) => part.kind === 'text')
  const refusals = parts.filter((part) => part.kind === 'refusal')
  const text = texts.map((part) => part.text).join('')
  const message: JsonObject = {
    role: 'assistant',
    content: texts.length === 0 && parts.length > 0 ? null : text,
    refusal: refusals.length > 0 ? refusals.map((part) => part.text).join('') : null,
  }
  if (about.call.reasoning?.exclude !== true) Object.assign(message, encodeThoughts(parts, about))
  if (calls.length > 0) {
    message.tool_calls = calls.map((call) => encodeCall(call, about))
  }
  const annotations = encodeAnnotations(parts)
  if (annotations.length > 0) message.annotations = annotations
  return { ...message, ...encodeMedia(parts) }
}

function encodeCall(call: ToolCallPart, about: ReplyFacts): JsonObject {
  const { id, name, arguments: given, custom } = call
  if (custom) return { id, type: 'custom', custom: { name, input: given } }
  if (isDisguised(call, about.call))
    return { id, type: 'custom', custom: { name, input: undisguised(given) } }
  return { id, type: 'function', function: { name, arguments: given } }
}

function encodeThoughts(parts: OutputPart[], { formatNames }: ReplyFacts): JsonObject {
  const numbers = new DetailNumbers(formatNames)
  const details: JsonObject[] = []
  const texts: string[] = []
  for (const part of parts) {
    if (part.kind === 'opaque') details.push(...objectsOf(openingOpaque(part)?.reasoning_details))
    if (part.kind !== 'reasoning') continue
    details.push(...writeDetails(part, numbers.part()))
    const text = readableOf(part)
    if (text !== '') texts.push(text)
  }
  if (details.length === 0) return {}
  return { reasoning: texts.length > 0 ? texts.join('\n\n') : null, reasoning_details: details }
}

function encodeAnnotations(parts: OutputPart[]): JsonObject[] {
  let place = 0
  return parts.flatMap((part) => {
    if (part.kind !== 'text') return []
    const annotations = annotationsOf(part, place)
    place += part.text.length
    return annotations
  })
}

function encodeMedia(parts: OutputPart[]): JsonObject {
  const images: JsonObject[] = []
  const media: JsonObject = {}
  for (const part of parts) {
    const url = part.kind === 'image' ? urlOf(part.source) : undefined
    if (url !== undefined) images.push({ type: 'image_url', image_url: { url } })
    if (part.kind === 'audio') media.audio = audioFields(part)
  }
  return images.length > 0 ? { ...media, images } : media
}
