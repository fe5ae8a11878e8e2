import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ReasoningFormat, ReasoningPart } from '../call/part.ts'
import { canReplayReasoning } from '../call/reasoning.ts'
import type { Losses } from '../fields.ts'
import { decodeReasoningFormat, encodeReasoningFormat } from '../reasoning-format.ts'
import type { Target } from '../wire-format.ts'
import { joinThinkingText } from './parts-decode.ts'
import {
  DetailNumbering,
  decodeEntryFormat,
  encodeReasoningDetails,
  isBareSignature,
  isSigned,
  readableTextOf,
} from './reasoning-details.ts'

/** Adds reasoning to an assistant message in the field the upstream expects; what it rejects is a loss. */
export function encodeReasoningHistory(
  message: JsonObject,
  reasoning: ReasoningPart[],
  target: Target,
  losses: Losses,
): JsonObject {
  const numbers = new DetailNumbering()
  const details: JsonObject[] = []
  let text = ''
  for (const part of reasoning) {
    const hasSignature = part.signature !== undefined || part.encrypted !== undefined
    if (isBareSignature(part) && part.id !== undefined && canReplayReasoning(part, target.signatureFormat))
      continue
    if (!acceptsReasoning(target, part.format, hasSignature))
      losses.add(hasSignature ? 'reasoning_signature' : 'reasoning')
    else if (target.reasoningHistory.field === 'reasoning_details') {
      details.push(...encodeReasoningDetails(part, numbers.nextWriter()))
    } else text += readableTextOf(part)
  }
  return withReasoning(message, text, details, target)
}

/** The same for a client's own message, which is returned unmodified if nothing changes. */
export function passReasoningHistory(original: JsonObject, target: Target, losses: Losses): JsonObject {
  const { message, thinking } = splitThinking(original, target)
  const { reasoning, reasoning_content: alias, reasoning_details: entries, ...rest } = message
  if (reasoning === undefined && alias === undefined && entries === undefined && thinking === '')
    return withReasoning(message, '', [], target)
  const details = asObjects(entries)
  const accepted = details.filter((entry) => shouldPassEntry(entry, target, losses))
  if (target.reasoningHistory.field === 'reasoning_details' && accepted.length > 0)
    return { ...rest, reasoning_details: reuseIfEqual(entries, accepted.map(withSdkFormatName)) }
  const readable =
    accepted.length < details.length ? '' : asString(reasoning) || thinking || joinEntryText(accepted)
  const text = asString(alias) || readable
  if (text !== '' && !acceptsReasoningText(target, asString(alias) ? 'reasoning_content' : null)) {
    losses.add('reasoning')
    return withReasoning(rest, '', [], target)
  }
  if (text === '' && alias === '' && target.reasoningHistory.required)
    return { ...rest, reasoning_content: '' }
  return withReasoning(rest, text, buildTextEntries(text, target), target)
}

/** Whether the upstream accepts reasoning of this format. */
function acceptsReasoning(target: Target, format: ReasoningFormat, hasSignature: boolean): boolean {
  if (format === 'unknown' && !hasSignature) return acceptsReasoningText(target, null)
  const { reasoningHistory, signatureFormat } = target
  return (
    reasoningHistory.field === 'reasoning_details' &&
    (reasoningHistory.anySignature === true || format === signatureFormat)
  )
}

/** Unsigned text is only sent to reasoning models, unless the client put it into the upstream's own field. */
function acceptsReasoningText(
  { reasoningHistory, signatureFormat, reasoning }: Target,
  writtenIn: string | null,
): boolean {
  if (signatureFormat !== 'unknown' || reasoningHistory.field === 'none') return false
  return reasoning !== null || reasoningHistory.field === writtenIn
}

function shouldPassEntry(entry: JsonObject, target: Target, losses: Losses): boolean {
  const hasSignature = isSigned(entry)
  const passes = acceptsReasoning(target, decodeEntryFormat(entry), hasSignature)
  if (!passes) losses.add(hasSignature ? 'reasoning_signature' : 'reasoning')
  return passes
}

function withSdkFormatName(entry: JsonObject): JsonObject {
  const format = decodeReasoningFormat(entry.format)
  return format === undefined || encodeReasoningFormat(format) === entry.format
    ? entry
    : { ...entry, format: encodeReasoningFormat(format) }
}

function reuseIfEqual(original: unknown, entries: JsonObject[]): unknown {
  const isEqual =
    Array.isArray(original) &&
    original.length === entries.length &&
    original.every((item, at) => item === entries[at])
  return isEqual ? original : entries
}

function joinEntryText(entries: JsonObject[]): string {
  return entries.map((entry) => asString(entry.text) ?? asString(entry.summary) ?? '').join('')
}

function buildTextEntries(text: string, { reasoningHistory }: Target): JsonObject[] {
  if (text === '' || reasoningHistory.field !== 'reasoning_details') return []
  return [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }]
}

function withReasoning(message: JsonObject, text: string, details: JsonObject[], target: Target): JsonObject {
  const { field, required } = target.reasoningHistory
  if (details.length > 0) return { ...message, reasoning_details: details }
  if (field === 'thinking') return text === '' ? message : withThinkingPart(message, text)
  if (field !== 'reasoning' && field !== 'reasoning_content') return message
  const needed = required && target.reasoning !== null && asObjects(message.tool_calls).length > 0
  return text !== '' || needed ? { ...message, [field]: text } : message
}

function withThinkingPart(message: JsonObject, text: string): JsonObject {
  const { content } = message
  const parts = Array.isArray(content) ? content : content ? [{ type: 'text', text: content }] : []
  if (parts.some(isThinkingPart)) return message
  return { ...message, content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }, ...parts] }
}

/** Removes thinking parts from the content, for upstreams that expect them in another field. */
function splitThinking(message: JsonObject, target: Target): { message: JsonObject; thinking: string } {
  const { content } = message
  if (
    target.reasoningHistory.field === 'thinking' ||
    !Array.isArray(content) ||
    !content.some(isThinkingPart)
  )
    return { message, thinking: '' }
  const thinking = content
    .filter(isThinkingPart)
    .map((part) => joinThinkingText(asObject(part)?.thinking))
    .join('')
  return { message: { ...message, content: content.filter((part) => !isThinkingPart(part)) }, thinking }
}

function isThinkingPart(part: unknown): boolean {
  return asObject(part)?.type === 'thinking'
}
