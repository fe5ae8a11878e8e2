import type { Message } from '../../formats/call/call.ts'
import type { InferenceRequest } from '../request/inference-request.ts'

/** The text that the user wrote last; empty if there is none. */
export function readLastUserText(messages: readonly Message[]): string {
  const message = messages.findLast(isWritten)
  const texts = message?.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])) ?? []
  return texts.join('\n').trim()
}

/** Adds a text to a request, after the last message of the user. */
export function addToPrompt(request: InferenceRequest, text: string): void {
  const { call } = request.content
  const at = call.messages.findLastIndex(isWritten)
  const messages = call.messages.map((message, index) =>
    index === at ? { ...message, parts: [...message.parts, { kind: 'text' as const, text }] } : message,
  )
  request.content = request.content.replaceCall({ ...call, messages })
}

/** Whether a message of the user is more than the results of tools. */
function isWritten({ role, parts }: Message): boolean {
  return role === 'user' && parts.some(({ kind }) => kind === 'text')
}
