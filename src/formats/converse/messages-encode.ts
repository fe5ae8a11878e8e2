import type { JsonObject } from '../../platform/json/json-values.ts'
import type { Message } from '../call/call.ts'
import type { Losses } from '../fields.ts'
import type { Target } from '../wire-format.ts'
import { absentText, DocumentNames, encodeParts } from './parts-encode.ts'

export interface Turn {
  role: 'user' | 'assistant'
  content: JsonObject[]
}

/** Leading system messages become `system`, later ones text of the user; turns alternate, and begin with the user's. */
export function encodeMessages(
  messages: Message[],
  target: Target,
  losses: Losses,
): { system: JsonObject[]; messages: Turn[] } {
  if (messages.some(({ name }) => name !== undefined)) losses.add('message_name')
  const names = new DocumentNames()
  const system: JsonObject[] = []
  const turns: Turn[] = []
  for (const { role, parts } of messages) {
    const isInstruction = role === 'system' || role === 'developer'
    const blocks = encodeParts(parts, { target, losses, names, role })
    if (isInstruction && turns.length === 0) system.push(...blocks)
    else
      addTurn(
        turns,
        role === 'assistant' ? 'assistant' : 'user',
        isInstruction ? blocks.map(wrapInstruction) : blocks,
      )
  }
  // The vendor requires a turn.
  if (turns.length === 0) addTurn(turns, 'user', system.splice(0))
  if (turns[0]?.role === 'assistant') turns.unshift({ role: 'user', content: [{ text: absentText }] })
  for (const turn of turns) arrange(turn)
  return { system, messages: turns }
}

function addTurn(turns: Turn[], role: Turn['role'], content: JsonObject[]): void {
  if (content.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) last.content.push(...content)
  else turns.push({ role, content })
}

function wrapInstruction(block: JsonObject): JsonObject {
  return typeof block.text === 'string' ? { text: `<system>\n${block.text}\n</system>` } : block
}

/** The vendor requires tool results before other content, and a text beside a document. */
function arrange(turn: Turn): void {
  if (turn.role !== 'user') return
  const isResult = (block: JsonObject) => block.toolResult !== undefined
  if (turn.content.some(isResult))
    turn.content = [...turn.content.filter(isResult), ...turn.content.filter((block) => !isResult(block))]
  const hasDocument = turn.content.some((block) => block.document !== undefined)
  const hasText = turn.content.some((block) => block.text !== undefined)
  if (hasDocument && !hasText) turn.content.push({ text: absentText })
}
