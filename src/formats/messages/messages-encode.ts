import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Message } from '../call/call.ts'
import type { Losses } from '../fields.ts'
import type { Target } from '../wire-format.ts'
import { encodeParts } from './blocks-encode.ts'

interface Turn {
  role: 'user' | 'assistant' | 'system'
  content: JsonObject[]
}

/** Leading system messages become `system`; the rest become turns in the order the vendor requires. */
export function encodeMessages(messages: Message[], target: Target, losses: Losses): JsonObject {
  if (messages.some(({ name }) => name !== undefined)) losses.add('message_name')
  const systemCount = countSystemMessages(messages)
  const system = messages
    .slice(0, systemCount)
    .flatMap(({ parts }) => encodeParts(parts, { target, losses, role: 'system' }))
  const turns: Turn[] = []
  for (const message of messages.slice(systemCount)) addTurn(turns, encodeTurn(message, target, losses))
  for (const turn of turns) if (turn.role === 'user') turn.content = moveToolResultsFirst(turn.content)
  trimPrefill(turns)
  return { ...(system.length > 0 && { system }), messages: turns }
}

/** Number of leading system messages. The vendor requires a turn: if all are system messages, the last becomes it. */
function countSystemMessages(messages: Message[]): number {
  const end = messages.findIndex(({ role }) => role === 'user' || role === 'assistant')
  return end >= 0 ? end : Math.max(0, messages.length - 1)
}

function encodeTurn(message: Message, target: Target, losses: Losses): Turn {
  const { role, parts } = message
  if (role === 'user' || role === 'assistant') {
    return { role, content: encodeParts(parts, { target, losses, role }) }
  }
  // Native blocks, such as tool changes, are allowed only under this role.
  const hasNativeBlocks = parts.some((part) => part.kind === 'opaque')
  const content = encodeParts(parts, { target, losses, role: 'system' })
  return hasNativeBlocks
    ? { role: 'system', content }
    : { role: 'user', content: content.map(wrapInstruction) }
}

/** Only newer models accept system messages between turns; this form works with every model. */
function wrapInstruction(block: JsonObject): JsonObject {
  return block.type === 'text'
    ? { ...block, text: `<system>\n${asString(block.text) ?? ''}\n</system>` }
    : block
}

/** The vendor requires alternating turns that are not empty. */
function addTurn(turns: Turn[], turn: Turn): void {
  const last = turns.at(-1)
  if (turn.content.length === 0) return
  if (last?.role === turn.role) last.content.push(...turn.content)
  else turns.push(turn)
}

/** The vendor requires tool results before other content. */
function moveToolResultsFirst(blocks: JsonObject[]): JsonObject[] {
  const isResult = (block: JsonObject) => block.type === 'tool_result'
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}

/** A prefill, which the model continues, must not end in white space. */
function trimPrefill(turns: Turn[]): void {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== 'assistant' || block?.type !== 'text') return
  block.text = asString(block.text)?.trimEnd() ?? ''
  if (block.text !== '') return
  last.content.pop()
  if (last.content.length === 0) turns.pop()
}

/** Whether the last assistant turn calls tools without starting with a thinking block. */
export function hasToolUseWithoutThinking(messages: unknown): boolean {
  const turns = messages as Turn[]
  const last = turns.findLast(({ role }) => role === 'assistant')
  const first = last?.content[0]?.type
  if (first === 'thinking' || first === 'redacted_thinking') return false
  return last?.content.some((block) => block.type === 'tool_use') ?? false
}
