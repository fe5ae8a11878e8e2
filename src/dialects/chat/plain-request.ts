import { asObject } from '../../lib/json-values.ts'

type FieldCheck = (value: unknown) => boolean

const isText: FieldCheck = (value) => typeof value === 'string'
const isBoolean: FieldCheck = (value) => typeof value === 'boolean'
const isCount: FieldCheck = (value) => Number.isSafeInteger(value) && (value as number) >= 1
const isBetween =
  (min: number, max: number): FieldCheck =>
  (value) =>
    typeof value === 'number' && value >= min && value <= max

const roles = new Set<unknown>(['system', 'developer', 'user', 'assistant'])

const fieldChecks: ReadonlyMap<string, FieldCheck> = new Map([
  ['model', (value) => isText(value) && value !== ''],
  ['messages', isPlainConversation],
  ['stream', isBoolean],
  ['temperature', isBetween(0, 2)],
  ['top_p', isBetween(0, 1)],
  ['max_tokens', isCount],
  ['max_completion_tokens', isCount],
  ['user', isText],
])

/**
 * Whether a body is a plain conversation, which is always valid: most requests are, and they skip the schema.
 * Any other body is validated by the schema.
 */
export function isPlainRequest(body: unknown): boolean {
  const fields = asObject(body)
  if (!fields || fields.messages === undefined) return false
  for (const name in fields) if (!fieldChecks.get(name)?.(fields[name])) return false
  return true
}

function isPlainConversation(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isPlainMessage)
}

function isPlainMessage(value: unknown): boolean {
  const message = asObject(value)
  if (!message || !roles.has(message.role) || !isText(message.content)) return false
  for (const name in message) if (name !== 'role' && name !== 'content') return false
  return true
}
