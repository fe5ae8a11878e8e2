import type { Message, ModelCall } from '../../../formats/call/call.ts'
import type {
  InputPart,
  MediaSource,
  OutputPart,
  ReasoningPart,
  ToolResultPart,
} from '../../../formats/call/part.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { type Directives, readDirectives } from './directives.ts'
import { countBase64Bytes } from './tokens.ts'

/** The parts of a call that the reply depends on. */
export interface Prompt {
  directives: Directives
  /** The text of the last user message, without directives. */
  text: string
  /** The content of the last message as text, with attachments described. */
  echo: string
  /** The last message contains tool results. */
  hasToolResults: boolean
  /** Rounds of tool calls since the last text of the user. */
  rounds: number
  /** Tool calls in the whole conversation, to number the next one. */
  toolCallCount: number
}

export function readPrompt({ messages }: ModelCall): Prompt {
  const names = mapToolNames(messages)
  const last = findLastTurn(messages)
  const lastTextIndex = messages.findLastIndex((message) => message.role === 'user' && textOf(message) !== '')
  const { directives, rest } = readDirectives(textOf(messages[lastTextIndex] ?? last.at(-1)))
  const parts = last.flatMap((message) => message.parts)
  const echo = parts
    .map((part) => describePart(part, names))
    .filter((text) => text !== '')
    .join(' ')
  return {
    directives,
    text: rest,
    echo: echo === '' ? '(an empty message)' : echo,
    hasToolResults: parts.some((part) => part.kind === 'tool-result'),
    rounds: messages.slice(lastTextIndex + 1).filter(isToolCall).length,
    toolCallCount: names.size,
  }
}

/** The last user message, with the preceding messages if they are tool results too. */
function findLastTurn(messages: Message[]): Message[] {
  const end = messages.findLastIndex((message) => message.role === 'user')
  const last = messages[end]
  if (!last) return messages.slice(-1)
  if (!isToolResult(last)) return [last]
  let start = end
  while (start > 0 && messages[start - 1]?.role === 'user' && isToolResult(messages[start - 1])) start--
  return messages.slice(start, end + 1)
}

function isToolResult(message: Message | undefined): boolean {
  return message?.parts.some((part) => part.kind === 'tool-result') ?? false
}

function isToolCall(message: Message): boolean {
  return message.role === 'assistant' && message.parts.some((part) => part.kind === 'tool-call')
}

function textOf(message: Message | undefined): string {
  return (message?.parts ?? [])
    .flatMap((part) => (part.kind === 'text' ? [part.text] : []))
    .join(' ')
    .trim()
}

function mapToolNames(messages: Message[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const { parts } of messages) {
    for (const part of parts) if (part.kind === 'tool-call') names.set(part.id, part.name)
  }
  return names
}

function describePart(part: InputPart | OutputPart, names: ReadonlyMap<string, string>): string {
  switch (part.kind) {
    case 'text':
      return readDirectives(part.text).rest
    case 'tool-result':
      return describeResult(part, names)
    case 'image':
    case 'video':
      return `[${part.kind} ${describeSource(part.source)}]`
    case 'file':
      return `[file ${part.filename ? `${part.filename} ` : ''}${describeSource(part.source)}]`
    case 'audio':
      return `[audio ${part.format} ${countBase64Bytes(part.data)} bytes]`
    case 'opaque':
      return `[${typeof part.value.type === 'string' ? part.value.type : 'block'}]`
    case 'refusal':
      return part.text
    case 'reasoning':
    case 'tool-call':
    case 'server-tool':
      return ''
  }
}

function describeResult(part: ToolResultPart, names: ReadonlyMap<string, string>): string {
  const name = part.name ?? names.get(part.id) ?? 'the tool'
  const content = part.content
    .map((inner) => (inner.kind === 'text' ? inner.text : describePart(inner, names)))
    .join(' ')
  return `${name} ${part.isError ? 'failed' : 'returned'}: ${content}`
}

function describeSource(source: MediaSource): string {
  switch (source.kind) {
    case 'data':
      return `${source.mediaType} ${countBase64Bytes(source.data)} bytes`
    case 'text':
      return `text/plain ${Buffer.byteLength(source.text)} bytes`
    case 'url':
      return source.url
    case 'file':
      return source.id
  }
}

const signaturePrefix = 'sandbox.'

/** Signs simulated reasoning, so that tests can check whether clients return it unchanged. */
export function signText(text: string): string {
  return signaturePrefix + sha256(text)
}

/** Reasoning that the sandbox signed and the client changed. */
export function isForged(part: ReasoningPart): boolean {
  return part.signature?.startsWith(signaturePrefix) === true && part.signature !== signText(part.text)
}
