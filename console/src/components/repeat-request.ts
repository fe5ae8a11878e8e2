import type { Schemas } from '../api/client.ts'

export interface Repeat {
  path: '/chat/completions' | '/messages' | '/responses' | '/completions'
  body: Record<string, unknown>
}

/** A limit is required in this format, and the one of the request is not stored. */
const messagesLimit = 1024

/** The stored prompt as a new request in the same format; null for formats that cannot be repeated. */
export function repeatOf(
  format: string | null,
  model: string | null,
  input: Schemas['GenerationContent']['input'],
): Repeat | null {
  if (model === null) return null
  if ('prompt' in input) {
    return format === 'completions' ? { path: '/completions', body: { model, prompt: input.prompt } } : null
  }
  const { messages } = input
  if (format === 'chat') return { path: '/chat/completions', body: { model, messages } }
  if (format === 'messages')
    return { path: '/messages', body: { model, max_tokens: messagesLimit, messages } }
  if (format === 'responses') return { path: '/responses', body: { model, input: messages } }
  return null
}
