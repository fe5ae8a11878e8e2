import type { Call, Message } from '../../call/call.ts'
import type { InputPart, OutputPart, ReasoningPart, Source, ToolResultPart } from '../../call/part.ts'
import { sha256 } from '../../lib/secret.ts'
import { type Directives, readDirectives } from './directives.ts'
import { base64Bytes } from './tokens.ts'

/** What a call asks of the sandbox, as far as its answer depends on it. */
export interface Prompt {
  directives: Directives
  /** The words of the last user message, without directives. */
  text: string
  /** What the last message says and holds, in words. */
  echo: string
  /** The last message brings results of tools. */
  hasResults: boolean
  /** How often tools were called since the user last said something. */
  rounds: number
  /** Tool calls in the whole conversation: the next one gets a number of its own. */
  calls: number
}

export function readPrompt({ messages }: Call): Prompt {
  const names = toolNames(messages)
  const last = lastTurn(messages)
  const spoken = messages.findLastIndex((message) => message.role === 'user' && wordsOf(message) !== '')
  const { directives, rest } = readDirectives(wordsOf(messages[spoken] ?? last.at(-1)))
  const parts = last.flatMap((message) => message.parts)
  const echo = parts
    .map((part) => describe(part, names))
    .filter((words) => words !== '')
    .join(' ')
  return {
    directives,
    text: rest,
    echo: echo === '' ? '(an empty message)' : echo,
    hasResults: parts.some((part) => part.kind === 'tool-result'),
    rounds: messages.slice(spoken + 1).filter(callsTools).length,
    calls: names.size,
  }
}

/** The last user message, with the messages before it that also bring tool results. */
function lastTurn(messages: Message[]): Message[] {
  const end = messages.findLastIndex((message) => message.role === 'user')
  const last = messages[end]
  if (!last) return messages.slice(-1)
  if (!bringsResults(last)) return [last]
  let start = end
  while (start > 0 && messages[start - 1]?.role === 'user' && bringsResults(messages[start - 1])) start--
  return messages.slice(start, end + 1)
}

function bringsResults(message: Message | undefined): boolean {
  return message?.parts.some((part) => part.kind === 'tool-result') ?? false
}

function callsTools(message: Message): boolean {
  return message.role === 'assistant' && message.parts.some((part) => part.kind === 'tool-call')
}

function wordsOf(message: Message | undefined): string {
  return (message?.parts ?? [])
    .flatMap((part) => (part.kind === 'text' ? [part.text] : []))
    .join(' ')
    .trim()
}

function toolNames(messages: Message[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const { parts } of messages) {
    for (const part of parts) if (part.kind === 'tool-call') names.set(part.id, part.name)
  }
  return names
}

function describe(part: InputPart | OutputPart, names: ReadonlyMap<string, string>): string {
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
      return `[audio ${part.format} ${base64Bytes(part.data)} bytes]`
    case 'opaque':
      return `[${typeof part.value.type === 'string' ? part.value.type : 'block'}]`
    case 'refusal':
      return part.text
    case 'reasoning':
    case 'tool-call':
      return ''
  }
}

function describeResult(part: ToolResultPart, names: ReadonlyMap<string, string>): string {
  const name = part.name ?? names.get(part.id) ?? 'the tool'
  const content = part.content
    .map((inner) => (inner.kind === 'text' ? inner.text : describe(inner, names)))
    .join(' ')
  return `${name} ${part.isError ? 'failed' : 'returned'}: ${content}`
}

function describeSource(source: Source): string {
  switch (source.kind) {
    case 'data':
      return `${source.mediaType} ${base64Bytes(source.data)} bytes`
    case 'text':
      return `text/plain ${Buffer.byteLength(source.text)} bytes`
    case 'url':
      return source.url
    case 'file':
      return source.id
  }
}

const signatureMark = 'sandbox.'

/** Signs made-up thinking, so that a client's way of giving it back can be tested. */
export function signatureOf(text: string): string {
  return signatureMark + sha256(text)
}

/** Thinking that the sandbox signed and that came back changed. */
export function isForged(part: ReasoningPart): boolean {
  return part.signature?.startsWith(signatureMark) === true && part.signature !== signatureOf(part.text)
}
