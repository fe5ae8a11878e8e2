import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import { fitText, measureJson, truncationMarker } from './bounds.ts'
import type { EventInput, EventOutput, GenerationEvent } from './event.ts'

/** The messages of a span, bounded; undefined where they are not to be sent. */
export interface SpanContent {
  input: SpanMessage[] | undefined
  output: SpanMessage[] | undefined
  /** Whether anything was cut or left out. */
  isCut: boolean
}

/** A message in the form of the GenAI conventions. */
export interface SpanMessage {
  role: string
  parts: MessagePart[]
  finish_reason?: string
}

export type MessagePart =
  | { type: 'text' | 'reasoning'; content: string }
  | { type: 'tool_call'; id?: string; name: string; arguments?: unknown }
  | { type: 'tool_call_response'; id?: string; response: unknown }
  | { type: 'other'; value: unknown }

/** A message in the form of Chat Completions, which the products display best. */
export interface ChatMessage {
  role: string
  content: string | null
  reasoning?: string
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
  tool_call_id?: string
}

/** Maximum messages: more would make long lists out of messages without text. */
const maxMessages = 1000
const maxPartsPerMessage = 1000

/** The newest messages matter most, so they are read first. */
export function readContent(event: GenerationEvent, maxBytes: number): SpanContent {
  const inputBudget = new TextBudget(maxBytes)
  const outputBudget = new TextBudget(maxBytes)
  const input = event.input === null ? undefined : readInput(event.input, inputBudget)
  const output =
    event.output === null ? undefined : readOutput(event.output, event.finishReason, outputBudget)
  return { input, output, isCut: inputBudget.isExceeded || outputBudget.isExceeded }
}

/** Maximum bytes of a role, a name or an id. */
const maxLabelBytes = 256

function readLabel(value: unknown): string | undefined {
  return typeof value === 'string' ? fitText(value, maxLabelBytes) : undefined
}

/** Bytes that may still be sent, as JSON. */
class TextBudget {
  #left: number
  isExceeded = false

  constructor(maxBytes: number) {
    this.#left = maxBytes
  }

  takeText(text: string): string {
    const taken = this.isEmpty ? '' : fitText(text, this.#left)
    if (taken === '' ? text !== '' : taken.endsWith(truncationMarker)) this.isExceeded = true
    this.#left -= measureJson(taken)
    return taken
  }

  /** A value that is not text is sent as it is or not at all. */
  takeValue(value: unknown): unknown {
    if (typeof value === 'string') return this.takeText(value)
    const bytes = value === undefined ? 0 : measureJson(value)
    if (bytes > this.#left) {
      this.isExceeded = true
      return undefined
    }
    this.#left -= bytes
    return value
  }

  /** Whether less is left than a cut text takes. */
  get isEmpty(): boolean {
    return this.#left <= truncationMarker.length + 2
  }
}

function readInput(input: EventInput, budget: TextBudget): SpanMessage[] {
  const messages = 'prompt' in input ? [input.prompt] : input.messages
  const newestFirst: SpanMessage[] = []
  for (const message of messages.toReversed()) {
    if (budget.isEmpty || newestFirst.length === maxMessages) {
      budget.isExceeded = true
      break
    }
    newestFirst.push(readMessage(message, budget))
  }
  return newestFirst.reverse()
}

function readOutput(output: EventOutput, finishReason: string | null, budget: TextBudget): SpanMessage[] {
  const parts: MessagePart[] = []
  if (output.completion !== null) parts.push({ type: 'text', content: budget.takeText(output.completion) })
  for (const call of limitList(output.tool_calls, budget))
    parts.push(readCall('id', 'arguments')({ ...call }, budget))
  if (output.reasoning !== null)
    parts.unshift({ type: 'reasoning', content: budget.takeText(output.reasoning) })
  return [{ role: 'assistant', parts, ...(finishReason !== null && { finish_reason: finishReason }) }]
}

/** Reads a message in the format of Chat Completions, Messages, Responses or Gemini. */
function readMessage(message: unknown, budget: TextBudget): SpanMessage {
  if (typeof message === 'string') return { role: 'user', parts: readParts(message, budget) }
  const fields = asObject(message) ?? {}
  const toolCallId = readLabel(fields.tool_call_id)
  if (toolCallId !== undefined) {
    const response = budget.takeValue(fields.content)
    return { role: 'tool', parts: [{ type: 'tool_call_response', id: toolCallId, response }] }
  }
  const role = readLabel(fields.role)
  // An item of the Responses format that is not a message.
  if (role === undefined)
    return { role: roleOfItem(asString(fields.type)), parts: readParts([fields], budget) }
  const calls = asObjects(fields.tool_calls)
  const parts = [...readParts(fields.content ?? fields.parts, budget), ...readParts(calls, budget)]
  return { role: role === 'model' ? 'assistant' : role, parts }
}

function roleOfItem(type: string | undefined): string {
  if (type === undefined) return 'user'
  return type.endsWith('_output') ? 'tool' : 'assistant'
}

function readParts(content: unknown, budget: TextBudget): MessagePart[] {
  if (content === undefined || content === null) return []
  const parts = (Array.isArray(content) ? limitList(content, budget) : [content]).map((part) =>
    readPart(part, budget),
  )
  return parts.filter((part) => part.type !== 'other' || part.value !== undefined)
}

function limitList<T>(list: readonly T[], budget: TextBudget): readonly T[] {
  if (list.length > maxPartsPerMessage) budget.isExceeded = true
  return list.slice(0, maxPartsPerMessage)
}

type PartReader = (part: JsonObject, budget: TextBudget) => MessagePart

function readPart(part: unknown, budget: TextBudget): MessagePart {
  if (typeof part === 'string') return { type: 'text', content: budget.takeText(part) }
  const fields = asObject(part) ?? {}
  const reader = partReaders.get(asString(fields.type) ?? '') ?? readUntypedPart
  return reader(fields, budget)
}

const readText: PartReader = ({ text }, budget) => ({
  type: 'text',
  content: budget.takeText(asString(text) ?? ''),
})

const readThinking: PartReader = ({ thinking, summary }, budget) => {
  const texts = asObjects(summary).map(({ text }) => asString(text) ?? '')
  return { type: 'reasoning', content: budget.takeText(asString(thinking) ?? texts.join('\n')) }
}

const readCall =
  (idField: string, argumentsField: string): PartReader =>
  (part, budget) => {
    const call = asObject(part.function) ?? part
    return omitUndefined({
      type: 'tool_call' as const,
      id: readLabel(part[idField]),
      name: readLabel(call.name) ?? '',
      arguments: budget.takeValue(call[argumentsField]),
    }) as MessagePart
  }

const readResponse =
  (idField: string, responseField: string): PartReader =>
  (part, budget) =>
    omitUndefined({
      type: 'tool_call_response' as const,
      id: readLabel(part[idField]),
      response: budget.takeValue(part[responseField]) ?? null,
    }) as MessagePart

/** Readers by the `type` of a part or item. */
const partReaders = new Map<string, PartReader>([
  ['text', readText],
  ['input_text', readText],
  ['output_text', readText],
  ['thinking', readThinking],
  ['reasoning', readThinking],
  ['function', readCall('id', 'arguments')],
  ['tool_use', readCall('id', 'input')],
  ['function_call', readCall('call_id', 'arguments')],
  ['tool_result', readResponse('tool_use_id', 'content')],
  ['function_call_output', readResponse('call_id', 'output')],
])

/** Parts of the Gemini format have no type; parts of other types are sent as they are. */
const readUntypedPart: PartReader = (part, budget) => {
  if (part.type === undefined && typeof part.text === 'string') return readText(part, budget)
  const call = asObject(part.functionCall)
  if (call) return readCall('id', 'args')(call, budget)
  const response = asObject(part.functionResponse)
  if (response) return readResponse('name', 'response')(response, budget)
  return { type: 'other', value: budget.takeValue(part) }
}

/** Serializes messages in the form of the conventions. */
export function formatMessages(messages: readonly SpanMessage[] | undefined): string | undefined {
  if (messages === undefined) return undefined
  return JSON.stringify(
    messages.map((message) => ({
      ...message,
      parts: message.parts.map((part) => (part.type === 'other' ? part.value : part)),
    })),
  )
}

export function toChatMessages(messages: readonly SpanMessage[]): ChatMessage[] {
  return messages.flatMap((message) => {
    const responses = message.parts.filter((part) => part.type === 'tool_call_response')
    const others = message.parts.filter((part) => part.type !== 'tool_call_response')
    const answers = responses.map(
      ({ id, response }): ChatMessage => ({
        role: 'tool',
        content: formatValue(response),
        ...(id !== undefined && { tool_call_id: id }),
      }),
    )
    return others.length === 0 && answers.length > 0
      ? answers
      : [...answers, toChatMessage(message.role, others)]
  })
}

type SpokenPart = Exclude<MessagePart, { type: 'tool_call_response' }>

function toChatMessage(role: string, parts: readonly SpokenPart[]): ChatMessage {
  const texts = parts.flatMap((part) => {
    if (part.type === 'text') return [part.content]
    return part.type === 'other' ? [formatValue(part.value)] : []
  })
  const reasoning = parts.flatMap((part) => (part.type === 'reasoning' ? [part.content] : []))
  const calls = parts.flatMap((part) =>
    part.type === 'tool_call'
      ? [
          {
            id: part.id ?? '',
            type: 'function' as const,
            function: { name: part.name, arguments: formatValue(part.arguments ?? {}) },
          },
        ]
      : [],
  )
  return {
    role,
    content: texts.length === 0 && calls.length > 0 ? null : texts.join('\n'),
    ...(reasoning.length > 0 && { reasoning: reasoning.join('\n') }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

export function formatChat(messages: readonly SpanMessage[] | undefined): string | undefined {
  return messages && JSON.stringify(toChatMessages(messages))
}
