import type { Message, ModelCall } from '../../../src/formats/call/call.ts'
import type { InputPart, OutputPart } from '../../../src/formats/call/part.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'

/** One feature that a client may request, in the internal form. */
export interface RequestScenario {
  /** Shown in the documentation. */
  name: string
  call: ModelCall
}

type Part = InputPart | OutputPart

export function userMessage(...parts: (Part | string)[]): Message {
  return { role: 'user', parts: parts.map(toPart) }
}

export function assistantMessage(...parts: (Part | string)[]): Message {
  return { role: 'assistant', parts: parts.map(toPart) }
}

export function toPart(part: Part | string): Part {
  return typeof part === 'string' ? { kind: 'text', text: part } : part
}

export function scenario(name: string, fields: Partial<ModelCall>): RequestScenario {
  const messages = [userMessage('How cold is it in Oslo?')]
  return { name, call: { messages, stream: false, maxTokens: 4000, unknown: [], ...fields } }
}

export function conversation(name: string, ...messages: Message[]): RequestScenario {
  return scenario(name, { messages })
}

export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const pdf = 'JVBERi0xLjQKJeLjz9MKdHJhaWxlcgo8PC9Sb290IDEgMCBSPj4K'
export const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='

/** A schema with the keywords that translations tend to lose. */
export const richSchema: JsonObject = {
  type: 'object',
  properties: {
    city: { type: 'string', description: 'Where', minLength: 1, pattern: '^[A-ZÅØÆ]' },
    unit: { type: 'string', enum: ['celsius', 'fahrenheit'], default: 'celsius' },
    days: {
      type: 'array',
      items: { type: 'integer', minimum: 1, maximum: 7 },
      minItems: 1,
      uniqueItems: true,
    },
    place: { $ref: '#/$defs/place' },
    level: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    mode: { const: 'exact' },
  },
  required: ['city', 'unit', 'days', 'place', 'level', 'mode'],
  additionalProperties: false,
  $defs: {
    place: {
      type: 'object',
      properties: { lat: { type: 'number' }, lon: { type: 'number' }, label: { type: ['string', 'null'] } },
      required: ['lat', 'lon', 'label'],
      additionalProperties: false,
    },
  },
}

export const weatherTool = {
  kind: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: richSchema,
} as const
export const clockTool = {
  kind: 'function',
  name: 'get_time',
  schema: { type: 'object', properties: {} },
} as const

export function toolCall(id: string, argumentsText: string, name = 'get_weather'): Part {
  return { kind: 'tool-call', id, name, arguments: argumentsText }
}

export function toolResult(id: string, text: string): InputPart & { kind: 'tool-result' } {
  return { kind: 'tool-result', id, content: [{ kind: 'text', text }] }
}
