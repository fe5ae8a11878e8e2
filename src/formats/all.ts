import { chat } from './chat/chat.ts'
import { gemini } from './gemini/gemini.ts'
import { messages } from './messages/messages.ts'
import { responses } from './responses/responses.ts'
import type { GenerateDialect } from './vocabulary.ts'
import type { Dialect } from './wire-format.ts'

/** Every wire format of text generation. */
export const dialects: Record<GenerateDialect, Dialect> = { chat, messages, responses, gemini }
