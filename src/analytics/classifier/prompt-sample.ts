import type { Message, ModelCall, Tool } from '../../formats/call/call.ts'

/** The part of a request that is examined: bounded, however long the prompt is. */
export interface PromptSample {
  /** The start and the end of the last message of the user that has text. */
  userStart: string
  userEnd: string
  /** The start of the system prompt. */
  system: string
  tools: readonly string[]
}

const maxStart = 1500
const maxEnd = 500
const maxSystem = 800
const maxTools = 64
const maxToolName = 64
/** Messages and parts that are searched for text, from the end. */
const maxMessages = 64
const maxParts = 16

export function samplePrompt({ messages, tools = [] }: ModelCall): PromptSample {
  const { start, end } = readEnds(findLastUserTexts(messages))
  const system = messages.find(({ role }) => role === 'system' || role === 'developer')
  return {
    userStart: start,
    userEnd: end,
    system: (system ? listTexts(system)[0] : undefined)?.slice(0, maxSystem) ?? '',
    tools: tools.slice(0, maxTools).map((tool) => toolNameOf(tool).slice(0, maxToolName)),
  }
}

function findLastUserTexts(messages: readonly Message[]): string[] {
  const oldest = Math.max(0, messages.length - maxMessages)
  for (let index = messages.length - 1; index >= oldest; index--) {
    const message = messages[index]
    const texts = message?.role === 'user' ? listTexts(message) : []
    if (texts.length > 0) return texts
  }
  return []
}

function listTexts({ parts }: Message): string[] {
  const inspected =
    parts.length <= 2 * maxParts ? parts : [...parts.slice(0, maxParts), ...parts.slice(-maxParts)]
  return inspected.flatMap((part) => (part.kind === 'text' && part.text !== '' ? [part.text] : []))
}

/** A text that is not longer than both has no end of its own. */
function readEnds(texts: readonly string[]): { start: string; end: string } {
  const [first = ''] = texts
  const last = texts.at(-1) ?? ''
  if (texts.length > 1) return { start: first.slice(0, maxStart), end: last.slice(-maxEnd) }
  if (first.length <= maxStart) return { start: first, end: '' }
  return { start: first.slice(0, maxStart), end: first.slice(Math.max(maxStart, first.length - maxEnd)) }
}

function toolNameOf(tool: Tool): string {
  return tool.kind === 'native' ? tool.type : tool.name
}
