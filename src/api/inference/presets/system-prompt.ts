import type { ChatBody } from '../../../formats/chat/schema.ts'
import type { MessagesBody } from '../../../formats/messages/schema.ts'
import type { ResponsesBody } from '../../../formats/responses/schema.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { maxPartBytes } from './config.ts'

type PromptContent = string | { type: string; text?: string | undefined }[]

export function extractChatPrompt({ messages }: ChatBody): string | null {
  const systemMessages = messages.filter(({ role }) => role === 'system' || role === 'developer')
  return joinPrompt(
    'messages',
    systemMessages.flatMap(({ content }) => extractTexts(content ?? '')),
  )
}

export function extractMessagesPrompt({ system }: MessagesBody): string | null {
  return joinPrompt('system', extractTexts(system ?? ''))
}

export function extractResponsesPrompt({ instructions }: ResponsesBody): string | null {
  return joinPrompt('instructions', [instructions ?? ''])
}

function extractTexts(content: PromptContent): string[] {
  if (typeof content === 'string') return [content]
  return content.filter((part) => part.type === 'text').map((part) => part.text ?? '')
}

/** Separates texts by a blank line, as models expect of separate instructions. */
function joinPrompt(field: string, texts: string[]): string | null {
  const prompt = texts.filter((text) => text !== '').join('\n\n')
  if (Buffer.byteLength(prompt) > maxPartBytes) {
    throw invalidFieldError(field, `the system prompt is larger than ${maxPartBytes} bytes`)
  }
  return prompt === '' ? null : prompt
}
