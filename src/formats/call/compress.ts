import type { Message, ModelCall } from './call.ts'
import type { InputPart, OutputPart, TextPart } from './part.ts'
import { estimatePromptTokens } from './size.ts'

export interface CompressionTarget {
  /** Estimated as in `estimatePromptTokens`. */
  tokens: number
  /** Number of messages, without system messages. */
  messages: number
}

export interface CompressedCall {
  call: ModelCall
  removedMessages: number
  truncatedTexts: number
}

/**
 * Shortens a conversation from its middle until it fits, or null if it does already. System messages and the last
 * message stay. A tool call and its result stay or go together, and texts are cut only if whole messages do not suffice.
 */
export function compressCall(call: ModelCall, target: CompressionTarget): CompressedCall | null {
  const groups = groupMessages(call.messages)
  const limited = limitCount(groups, target.messages)
  const fixedTokens = estimatePromptTokens({ ...call, messages: call.messages.filter(isSystem) })
  const remaining = limitTokens(limited, target.tokens - fixedTokens)
  const isRemaining = new Set(remaining.flatMap((group) => group.messages))
  const messages = call.messages.filter((message) => isSystem(message) || isRemaining.has(message))
  const removedMessages = call.messages.length - messages.length
  const shortened = removedMessages === 0 ? call : { ...call, messages }
  const excess = estimatePromptTokens(shortened) - target.tokens
  const cut = excess > 0 ? cutTexts(shortened, excess * charactersPerToken) : null
  if (removedMessages === 0 && !cut) return null
  return { call: cut?.call ?? shortened, removedMessages, truncatedTexts: cut?.count ?? 0 }
}

const charactersPerToken = 4

function isSystem({ role }: Message): boolean {
  return role === 'system' || role === 'developer'
}

/** Messages that stay or go together. */
interface MessageGroup {
  messages: Message[]
  tokens: number
}

/** A message with tool calls is in a group with all messages up to the last of their results. */
function groupMessages(messages: readonly Message[]): MessageGroup[] {
  const groups: MessageGroup[] = []
  const open = new Set<string>()
  let current: Message[] = []
  for (const message of messages) {
    if (isSystem(message)) continue
    current.push(message)
    for (const part of message.parts) {
      if (part.kind === 'tool-call') open.add(part.id)
      if (part.kind === 'tool-result') open.delete(part.id)
    }
    if (open.size > 0) continue
    groups.push(toGroup(current))
    current = []
  }
  return current.length === 0 ? groups : [...groups, toGroup(current)]
}

function toGroup(messages: Message[]): MessageGroup {
  return { messages, tokens: estimatePromptTokens({ messages, stream: false, unknown: [] }) }
}

/** Half of the messages from the start, half from the end. */
function limitCount(groups: readonly MessageGroup[], max: number): MessageGroup[] {
  return takeFromEnds(groups, max, ({ messages }) => messages.length)
}

function limitTokens(groups: readonly MessageGroup[], max: number): MessageGroup[] {
  return takeFromEnds(groups, max, ({ tokens }) => tokens)
}

/** The groups whose sizes add up to at most `max`, in turns from the end and the start. The last one always stays. */
function takeFromEnds(
  groups: readonly MessageGroup[],
  max: number,
  sizeOf: (group: MessageGroup) => number,
): MessageGroup[] {
  const total = groups.reduce((sum, group) => sum + sizeOf(group), 0)
  const last = groups.at(-1)
  if (total <= max || !last) return [...groups]
  let room = max - sizeOf(last)
  let [start, end] = [0, groups.length - 1]
  let isStartOpen = true
  let isEndOpen = true
  for (let turn = 0; start < end && (isStartOpen || isEndOpen); turn++) {
    const fromStart = turn % 2 === 0
    if (fromStart ? !isStartOpen : !isEndOpen) continue
    const size = sizeOf((fromStart ? groups[start] : groups[end - 1]) ?? last)
    if (size > room) {
      if (fromStart) isStartOpen = false
      else isEndOpen = false
      continue
    }
    room -= size
    if (fromStart) start += 1
    else end -= 1
  }
  return [...groups.slice(0, start), ...groups.slice(end)]
}

/** Characters that a shortened text retains at least. */
const minCharacters = 400
const gap = '\n[...]\n'

/** Cuts the middle out of the longest texts, until `excess` characters are gone. */
function cutTexts(call: ModelCall, excess: number): { call: ModelCall; count: number } | null {
  const texts = call.messages
    .filter((message) => !isSystem(message))
    .flatMap(({ parts }) => parts.flatMap(listTexts))
    .filter(({ text }) => text.length > minCharacters)
    .sort((one, other) => other.text.length - one.text.length)
  const cut = new Map<Part, TextPart>()
  let rest = excess
  for (const part of texts) {
    if (rest <= 0) break
    const length = Math.max(minCharacters, part.text.length - rest - gap.length)
    rest -= part.text.length - length - gap.length
    // What it cites and its token probabilities belong to the whole text.
    const { citations: _citations, logprobs: _logprobs, ...plain } = part
    cut.set(part, { ...plain, text: cutMiddle(part.text, length) })
  }
  if (cut.size === 0) return null
  const replace = (part: Part): Part => cut.get(part) ?? part
  const messages = call.messages.map((message) => {
    if (isSystem(message)) return message
    const parts = message.parts.map((part) =>
      part.kind === 'tool-result'
        ? { ...part, content: part.content.map((inner) => replace(inner) as typeof inner) }
        : replace(part),
    )
    return { ...message, parts }
  })
  return { call: { ...call, messages }, count: cut.size }
}

type Part = InputPart | OutputPart

function listTexts(part: Part): TextPart[] {
  if (part.kind === 'text') return [part]
  return part.kind === 'tool-result' ? part.content.flatMap(listTexts) : []
}

function cutMiddle(text: string, length: number): string {
  const head = Math.ceil(length / 2)
  return `${text.slice(0, head)}${gap}${text.slice(text.length - (length - head))}`.toWellFormed()
}
