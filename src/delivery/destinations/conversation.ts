import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { EventInput, EventOutput } from './event.ts'

/** A message of any format, as text. */
export interface TextMessage {
  role: string
  content: string
}

export function readInputMessages(input: EventInput): TextMessage[] {
  if ('prompt' in input) return [{ role: 'user', content: input.prompt }]
  return input.messages.map((message) => {
    const fields = asObject(message)
    return { role: asString(fields?.role) ?? 'user', content: fields ? readText(fields) : toText(message) }
  })
}

export function readOutputMessages(output: EventOutput): (TextMessage | JsonObject)[] {
  const { completion, reasoning, tool_calls } = output
  const calls = tool_calls.map(({ id, name, arguments: text }) => ({
    name,
    arguments: parseArguments(text),
    tool_id: id,
    type: 'function',
  }))
  return [
    ...(reasoning === null ? [] : [{ role: 'reasoning', content: reasoning }]),
    { role: 'assistant', content: completion ?? '', ...(calls.length > 0 && { tool_calls: calls }) },
  ]
}

/** The last message. */
export function readInputText(input: EventInput): string {
  return readInputMessages(input).at(-1)?.content ?? ''
}

export function readOutputText({ completion, tool_calls }: EventOutput): string {
  return completion ?? tool_calls.map(({ name, arguments: text }) => `${name}(${text})`).join('\n')
}

/** The text of a message, if it has nothing else; otherwise all of it as JSON. */
function readText({ role: _, ...rest }: JsonObject): string {
  const [content, ...others] = Object.values(rest)
  if (others.length > 0) return toText(rest)
  const parts = Array.isArray(content) ? content.map(readPartText) : [asString(content)]
  return parts.every((part) => part !== undefined) ? parts.join('\n') : toText(rest)
}

function readPartText(part: unknown): string | undefined {
  const { type, text, ...others } = asObject(part) ?? {}
  const isText = type === undefined || (typeof type === 'string' && type.endsWith('text'))
  return isText && Object.keys(others).length === 0 ? asString(text) : undefined
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function parseArguments(text: string): JsonObject {
  return asObject(tryParseJson(text)) ?? { value: text }
}
