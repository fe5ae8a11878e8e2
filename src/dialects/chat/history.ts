import type { ReasoningFormat, ReasoningPart } from '../../call/part.ts'
import { belongsTo } from '../../call/reasoning.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { Target } from '../dialect.ts'
import type { Losses } from '../fields.ts'
import { formatName, reasoningFormatOf } from '../reasoning-format.ts'
import { thinkingText } from './parts-decode.ts'
import {
  DetailNumbers,
  formatOf,
  isBareSignature,
  isSigned,
  readableOf,
  writeDetails,
} from './reasoning-details.ts'

/** An assistant message with its thinking, where the upstream expects it; what it does not take is named. */
export function encodeHistory(
  message: JsonObject,
  thoughts: ReasoningPart[],
  target: Target,
  losses: Losses,
): JsonObject {
  const numbers = new DetailNumbers()
  const details: JsonObject[] = []
  let text = ''
  for (const part of thoughts) {
    const signed = part.signature !== undefined || part.encrypted !== undefined
    if (isBareSignature(part) && part.id !== undefined && belongsTo(part, target.signatures)) continue
    if (!takes(target, part.format, signed)) losses.add(signed ? 'reasoning_signature' : 'reasoning')
    else if (target.history.field === 'reasoning_details') {
      details.push(...writeDetails(part, numbers.part()))
    } else text += readableOf(part)
  }
  return withThoughts(message, text, details, target)
}

/** The same for a client's own message, which stays as it is where nothing must change. */
export function passHistory(given: JsonObject, target: Target, losses: Losses): JsonObject {
  const { message, thinking } = splitThinking(given, target)
  const { reasoning, reasoning_content: alias, reasoning_details: entries, ...rest } = message
  if (reasoning === undefined && alias === undefined && entries === undefined && thinking === '')
    return withThoughts(message, '', [], target)
  const details = objectsOf(entries)
  const kept = details.filter((entry) => passesEntry(entry, target, losses))
  if (target.history.field === 'reasoning_details' && kept.length > 0)
    return { ...rest, reasoning_details: sameOr(entries, kept.map(withSdkName)) }
  const readable = kept.length < details.length ? '' : textOf(reasoning) || thinking || readableEntries(kept)
  const text = textOf(alias) || readable
  if (text !== '' && !takesText(target, textOf(alias) ? 'reasoning_content' : null)) {
    losses.add('reasoning')
    return withThoughts(rest, '', [], target)
  }
  if (text === '' && alias === '' && target.history.required) return { ...rest, reasoning_content: '' }
  return withThoughts(rest, text, textEntries(text, target), target)
}

/** Whether the upstream understands thinking of this format. */
function takes(target: Target, format: ReasoningFormat, signed: boolean): boolean {
  if (format === 'unknown' && !signed) return takesText(target, null)
  const { history, signatures } = target
  return history.field === 'reasoning_details' && (history.anySignature === true || format === signatures)
}

/** Text that nobody signed is for models that think, unless the client wrote it in the upstream's own field. */
function takesText({ history, signatures, reasoning }: Target, writtenIn: string | null): boolean {
  if (signatures !== 'unknown' || history.field === 'none') return false
  return reasoning !== null || history.field === writtenIn
}

function passesEntry(entry: JsonObject, target: Target, losses: Losses): boolean {
  const signed = isSigned(entry)
  const passes = takes(target, formatOf(entry), signed)
  if (!passes) losses.add(signed ? 'reasoning_signature' : 'reasoning')
  return passes
}

function withSdkName(entry: JsonObject): JsonObject {
  const format = reasoningFormatOf(entry.format)
  return format === undefined || formatName(format) === entry.format
    ? entry
    : { ...entry, format: formatName(format) }
}

function sameOr(given: unknown, entries: JsonObject[]): unknown {
  const same =
    Array.isArray(given) && given.length === entries.length && given.every((item, at) => item === entries[at])
  return same ? given : entries
}

function readableEntries(entries: JsonObject[]): string {
  return entries.map((entry) => textOf(entry.text) ?? textOf(entry.summary) ?? '').join('')
}

function textEntries(text: string, { history }: Target): JsonObject[] {
  if (text === '' || history.field !== 'reasoning_details') return []
  return [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }]
}

function withThoughts(message: JsonObject, text: string, details: JsonObject[], target: Target): JsonObject {
  const { field, required } = target.history
  if (details.length > 0) return { ...message, reasoning_details: details }
  if (field === 'thinking') return text === '' ? message : withThinkingPart(message, text)
  if (field !== 'reasoning' && field !== 'reasoning_content') return message
  const needed = required && target.reasoning !== null && objectsOf(message.tool_calls).length > 0
  return text !== '' || needed ? { ...message, [field]: text } : message
}

function withThinkingPart(message: JsonObject, text: string): JsonObject {
  const { content } = message
  const parts = Array.isArray(content) ? content : content ? [{ type: 'text', text: content }] : []
  if (parts.some(isThinking)) return message
  return { ...message, content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }, ...parts] }
}

/** Thinking among the content, taken out for upstreams that have another place for it. */
function splitThinking(message: JsonObject, target: Target): { message: JsonObject; thinking: string } {
  const { content } = message
  if (target.history.field === 'thinking' || !Array.isArray(content) || !content.some(isThinking))
    return { message, thinking: '' }
  const thinking = content
    .filter(isThinking)
    .map((part) => thinkingText(objectOf(part)?.thinking))
    .join('')
  return { message: { ...message, content: content.filter((part) => !isThinking(part)) }, thinking }
}

function isThinking(part: unknown): boolean {
  return objectOf(part)?.type === 'thinking'
}
