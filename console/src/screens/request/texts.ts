import type { Schemas } from '../../api/client.ts'
import type { Media } from './media.ts'
import { messagesOf } from './repeat.ts'

/** A message, or another part of the reply. */
export interface ShownText {
  role: string
  text: string
  isCode?: boolean
  media?: Media[]
}

/** The prompt and the reply in the order in which they were said. */
export function textsOf({ input, output, error }: Schemas['GenerationContent']): ShownText[] {
  return [
    ...messagesOf(input),
    ...(output.reasoning ? [{ role: 'reasoning', text: output.reasoning }] : []),
    ...(output.completion !== null ? [{ role: 'reply', text: output.completion }] : []),
    ...output.tool_calls.map((call) => ({
      role: `tool call ${call.name}`,
      text: call.arguments,
      isCode: true,
    })),
    ...(error?.message ? [{ role: 'error', text: error.message }] : []),
  ]
}
