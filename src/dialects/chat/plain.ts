import { objectOf } from '../../lib/loose.ts'

type Test = (value: unknown) => boolean

const isText: Test = (value) => typeof value === 'string'
const isFlag: Test = (value) => typeof value === 'boolean'
const isCount: Test = (value) => Number.isSafeInteger(value) && (value as number) >= 1
const between =
  (min: number, max: number): Test =>
  (value) =>
    typeof value === 'number' && value >= min && value <= max

const roles = new Set<unknown>(['system', 'developer', 'user', 'assistant'])

const fields: ReadonlyMap<string, Test> = new Map([
  ['model', (value) => isText(value) && value !== ''],
  ['messages', isPlainTalk],
  ['stream', isFlag],
  ['temperature', between(0, 2)],
  ['top_p', between(0, 1)],
  ['max_tokens', isCount],
  ['max_completion_tokens', isCount],
  ['user', isText],
])

/**
 * Whether a body is a plain conversation: most are, and for these the whole schema has nothing to say.
 * Anything else is for the schema to judge.
 */
export function isPlain(body: unknown): boolean {
  const given = objectOf(body)
  if (!given || given.messages === undefined) return false
  for (const name in given) if (!fields.get(name)?.(given[name])) return false
  return true
}

function isPlainTalk(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isPlainMessage)
}

function isPlainMessage(value: unknown): boolean {
  const message = objectOf(value)
  if (!message || !roles.has(message.role) || !isText(message.content)) return false
  for (const name in message) if (name !== 'role' && name !== 'content') return false
  return true
}
