import type { GenerateDialect } from '../catalogue/vocabulary.ts'
import { chat } from './chat/chat.ts'
import type { Dialect } from './dialect.ts'
import { gemini } from './gemini/gemini.ts'
import { messages } from './messages/messages.ts'
import { responses } from './responses/responses.ts'

/** Every wire format of text generation. */
export const dialects: Record<GenerateDialect, Dialect> = { chat, messages, responses, gemini }
