import { asObject } from '../../platform/json/json-values.ts'
import type { PlainPrompt } from '../call/plain-prompt.ts'

const roles: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant'])

/**
 * The prompt of a plain conversation, which is always valid: most requests are one, and they skip the schema. Null for
 * any other body, which the schema validates.
 */
export function readPlainRequest(value: unknown): PlainPrompt | null {
  const body = asObject(value)
  if (!body || !Array.isArray(body.messages) || body.messages.length === 0) return null
  for (const name in body) if (!isPlainField(name, body[name])) return null
  let characters = 0
  for (const item of body.messages) {
    const message = asObject(item)
    if (!message || !roles.has(message.role) || typeof message.content !== 'string') return null
    for (const name in message) if (name !== 'role' && name !== 'content') return null
    characters += message.content.length
  }
  return {
    messageCount: body.messages.length,
    characters,
    stream: body.stream === true,
    maxTokens: (body.max_completion_tokens ?? body.max_tokens) as number | undefined,
  }
}

function isPlainField(name: string, value: unknown): boolean {
  switch (name) {
    case 'messages':
      return true
    case 'model':
      return typeof value === 'string' && value !== ''
    case 'user':
      return typeof value === 'string'
    case 'stream':
      return typeof value === 'boolean'
    case 'temperature':
      return typeof value === 'number' && value >= 0 && value <= 2
    case 'top_p':
      return typeof value === 'number' && value >= 0 && value <= 1
    case 'max_tokens':
    case 'max_completion_tokens':
      return Number.isSafeInteger(value) && (value as number) >= 1
    default:
      return false
  }
}
