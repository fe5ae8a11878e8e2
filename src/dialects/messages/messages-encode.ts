import type { Message } from '../../call/call.ts'
import { asString, type JsonObject } from '../../lib/json-values.ts'
import type { Target } from '../dialect.ts'
import type { Losses } from '../fields.ts'
import { encodeParts } from './blocks-encode.ts'

interface Turn {
  role: 'user' | 'assistant' | 'system'
  content: JsonObject[]
}

/** The prompt: what leads the conversation is `system`, the rest are turns that the vendor accepts. */
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

/** How many messages are the system prompt. A conversation needs a turn: if all are, the last one becomes it. */
function countSystemMessages(messages: Message[]): number {
  const end = messages.findIndex(({ role }) => role === 'user' || role === 'assistant')
  return end >= 0 ? end : Math.max(0, messages.length - 1)
}

function encodeTurn(message: Message, target: Target, losses: Losses): Turn {
  const { role, parts } = message
  if (role === 'user' || role === 'assistant') {
    return { role, content: encodeParts(parts, { target, losses, role }) }
  }
  // Blocks of this format, such as changes of the tools, are allowed under this role alone.
  const hasNativeBlocks = parts.some((part) => part.kind === 'opaque')
  const content = encodeParts(parts, { target, losses, role: 'system' })
  return hasNativeBlocks
    ? { role: 'system', content }
    : { role: 'user', content: content.map(wrapInstruction) }
}

/** Only newer models take instructions between turns; every model understands them so. */
function wrapInstruction(block: JsonObject): JsonObject {
  return block.type === 'text'
    ? { ...block, text: `<system>\n${asString(block.text) ?? ''}\n</system>` }
    : block
}

/** Turns alternate, and none is empty. */
function addTurn(turns: Turn[], turn: Turn): void {
  const last = turns.at(-1)
  if (turn.content.length === 0) return
  if (last?.role === turn.role) last.content.push(...turn.content)
  else turns.push(turn)
}

/** The vendor wants the results of tools before anything else that is said. */
function moveToolResultsFirst(blocks: JsonObject[]): JsonObject[] {
  const isResult = (block: JsonObject) => block.type === 'tool_result'
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}

/** The beginning of an answer, for the model to go on with: it must not end in white space. */
function trimPrefill(turns: Turn[]): void {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== 'assistant' || block?.type !== 'text') return
  block.text = asString(block.text)?.trimEnd() ?? ''
  if (block.text !== '') return
  last.content.pop()
  if (last.content.length === 0) turns.pop()
}

/** Whether the turn that the model goes on with called tools without having thought in this vendor's way. */
export function hasToolUseWithoutThinking(messages: unknown): boolean {
  const turns = messages as Turn[]
  const last = turns.findLast(({ role }) => role === 'assistant')
  const first = last?.content[0]?.type
  if (first === 'thinking' || first === 'redacted_thinking') return false
  return last?.content.some((block) => block.type === 'tool_use') ?? false
}
