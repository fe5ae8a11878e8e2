import { asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import type { Choice, Reply } from '../call/event.ts'
import type { UpstreamFailure } from '../call/failure.ts'
import type { OutputPart, ToolCallPart } from '../call/part.ts'
import { type UsageCost, zeroUsage } from '../call/usage.ts'
import { isWrappedCustomCall, unwrapCustomInput } from '../custom-tools.ts'
import { encodeServiceMetadata, type ReplyContext } from '../wire-format.ts'
import { buildChunkHead } from './chunk.ts'
import { encodeFailure, endedInErrorMessage, malformedReplyFailure } from './error.ts'
import { urlOf } from './parts-decode.ts'
import { DetailNumbering, encodeReasoningDetails, readableTextOf } from './reasoning-details.ts'
import {
  encodeAnnotations,
  encodeAudio,
  encodeChoiceEnd,
  encodeLogprob,
  encodeOpaqueStart,
} from './reply-writer.ts'
import { encodeUsage } from './usage.ts'

/** Encodes a whole reply. One that was cut off keeps its content and has an error in its choices. */
export function encodeReply(reply: Reply, context: ReplyContext, cost: UsageCost): JsonObject {
  const { fingerprint } = reply.start
  const tier = reply.start.serviceTier ?? context.tier
  const choices = reply.choices.length > 0 ? reply.choices : [{ index: 0, parts: [], end: null }]
  return {
    ...buildChunkHead(context, 'chat.completion'),
    ...(tier !== null && { service_tier: tier }),
    system_fingerprint: fingerprint ?? null,
    choices: choices.map((choice) => encodeChoice(choice, reply, context)),
    usage: encodeUsage(reply.usage ?? zeroUsage, cost),
    ...encodeServiceMetadata(context),
  }
}

function encodeChoice(choice: Choice, reply: Reply, context: ReplyContext): JsonObject {
  const failure = reply.failure ?? brokenChoiceFailure(choice, reply)
  const logprobs = choice.parts.flatMap((part) => (part.kind === 'text' ? (part.logprobs ?? []) : []))
  const encoded: JsonObject = {
    index: choice.index,
    message: encodeMessage(choice.parts, context),
    ...encodeChoiceEnd(choice.end),
    ...(failure && { finish_reason: 'error' }),
    logprobs: logprobs.length > 0 ? { content: logprobs.map(encodeLogprob), refusal: null } : null,
  }
  if (failure) encoded.error = encodeFailure(failure)
  return encoded
}

/** The failure of a choice that ended without an error of the upstream. */
export function brokenChoiceFailure({ end }: Choice, { isComplete }: Reply): UpstreamFailure | null {
  if (end?.reason === 'error') return malformedReplyFailure(end.explanation ?? endedInErrorMessage)
  return end || isComplete ? null : malformedReplyFailure('The provider ended its reply early.')
}

function encodeMessage(parts: OutputPart[], context: ReplyContext): JsonObject {
  const toolCalls = parts.filter((part) => part.kind === 'tool-call')
  const texts = parts.filter((part) => part.kind === 'text')
  const refusals = parts.filter((part) => part.kind === 'refusal')
  const text = texts.map((part) => part.text).join('')
  const message: JsonObject = {
    role: 'assistant',
    content: texts.length === 0 && parts.length > 0 ? null : text,
    refusal: refusals.length > 0 ? refusals.map((part) => part.text).join('') : null,
  }
  const isHidden = context.call.reasoning?.exclude === true
  const shown = isHidden ? parts.filter(({ kind }) => kind === 'server-tool') : parts
  Object.assign(message, encodeReasoning(shown, context))
  if (toolCalls.length > 0) {
    message.tool_calls = toolCalls.map((part) => encodeToolCall(part, context))
  }
  const annotations = encodeAllAnnotations(parts)
  if (annotations.length > 0) message.annotations = annotations
  return { ...message, ...encodeMedia(parts) }
}

function encodeToolCall(toolCall: ToolCallPart, context: ReplyContext): JsonObject {
  const { id, name, arguments: argumentsText, custom } = toolCall
  if (custom) return { id, type: 'custom', custom: { name, input: argumentsText } }
  if (isWrappedCustomCall(toolCall, context.call))
    return { id, type: 'custom', custom: { name, input: unwrapCustomInput(argumentsText) } }
  return { id, type: 'function', function: { name, arguments: argumentsText } }
}

function encodeReasoning(parts: OutputPart[], { formatNames }: ReplyContext): JsonObject {
  const numbering = new DetailNumbering(formatNames)
  const details: JsonObject[] = []
  const texts: string[] = []
  for (const part of parts) {
    if (part.kind === 'opaque') details.push(...asObjects(encodeOpaqueStart(part)?.reasoning_details))
    if (part.kind === 'server-tool') details.push(numbering.nextWriter().writeServerTool(part))
    if (part.kind !== 'reasoning') continue
    details.push(...encodeReasoningDetails(part, numbering.nextWriter()))
    const text = readableTextOf(part)
    if (text !== '') texts.push(text)
  }
  if (details.length === 0) return {}
  return { reasoning: texts.length > 0 ? texts.join('\n\n') : null, reasoning_details: details }
}

function encodeAllAnnotations(parts: OutputPart[]): JsonObject[] {
  let offset = 0
  return parts.flatMap((part) => {
    if (part.kind !== 'text') return []
    const annotations = encodeAnnotations(part, offset)
    offset += part.text.length
    return annotations
  })
}

function encodeMedia(parts: OutputPart[]): JsonObject {
  const images: JsonObject[] = []
  const media: JsonObject = {}
  for (const part of parts) {
    const url = part.kind === 'image' ? urlOf(part.source) : undefined
    if (url !== undefined) images.push({ type: 'image_url', image_url: { url } })
    if (part.kind === 'audio') media.audio = encodeAudio(part)
  }
  return images.length > 0 ? { ...media, images } : media
}
