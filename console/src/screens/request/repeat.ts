import type { Schemas } from '../../api/client.ts'
import type { SharedPrompt } from '../../components/playground-link.ts'
import { findMedia, type Media } from './media.ts'

type Input = Schemas['GenerationContent']['input']

/** The text of a message in any format. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content ?? null, null, 2)
  return content
    .map((part) => (typeof part?.text === 'string' ? part.text : JSON.stringify(part, null, 2)))
    .join('\n')
}

export interface ShownMessage {
  role: string
  text: string
  media?: Media[]
}

export function messagesOf(input: Input): ShownMessage[] {
  if ('prompt' in input) return [{ role: 'user', text: input.prompt }]
  return input.messages.map((message) => {
    if (typeof message !== 'object' || message === null) return { role: 'user', text: textOf(message) }
    const { role, content, parts } = message as Record<string, unknown>
    const shown = content ?? parts ?? message
    const media = findMedia(shown)
    return {
      role: typeof role === 'string' ? role : 'item',
      text: textOf(shown),
      ...(media.length > 0 && { media }),
    }
  })
}

/** The prompt that the playground opens with: the last message is the draft. */
export function promptOf(model: string | null, input: Input): SharedPrompt {
  const messages = messagesOf(input).flatMap(({ role, text }) =>
    role === 'user' || role === 'assistant' ? [{ role, content: text } as const] : [],
  )
  const draft = messages.at(-1)?.role === 'user' ? (messages.pop()?.content ?? '') : ''
  return { models: model === null ? [] : [model], draft, settings: {}, messages }
}
