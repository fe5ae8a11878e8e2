import type { ChatBody } from '../../dialects/chat/schema.ts'
import type { MessagesBody } from '../../dialects/messages/schema.ts'
import type { ResponsesBody } from '../../dialects/responses/schema.ts'
import { badField } from '../../errors.ts'
import { maxPartBytes } from './config.ts'

type Content = string | { type: string; text?: string | undefined }[]

export function promptOfChat({ messages }: ChatBody): string | null {
  const spoken = messages.filter(({ role }) => role === 'system' || role === 'developer')
  return joined(
    'messages',
    spoken.flatMap(({ content }) => textsOf(content ?? '')),
  )
}

export function promptOfMessages({ system }: MessagesBody): string | null {
  return joined('system', textsOf(system ?? ''))
}

export function promptOfResponses({ instructions }: ResponsesBody): string | null {
  return joined('instructions', [instructions ?? ''])
}

function textsOf(content: Content): string[] {
  if (typeof content === 'string') return [content]
  return content.filter((part) => part.type === 'text').map((part) => part.text ?? '')
}

/** A blank line between texts, because that is how models read separate instructions. */
function joined(field: string, texts: string[]): string | null {
  const prompt = texts.filter((text) => text !== '').join('\n\n')
  if (Buffer.byteLength(prompt) > maxPartBytes) {
    throw badField(field, `the system prompt is larger than ${maxPartBytes} bytes`)
  }
  return prompt === '' ? null : prompt
}
