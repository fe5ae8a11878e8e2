import { chat } from './chat/chat.ts'
import { gemini } from './gemini/gemini.ts'
import { messages } from './messages/messages.ts'
import { responses } from './responses/responses.ts'
import type { GenerateWireFormat } from './vocabulary.ts'
import type { WireFormat } from './wire-format.ts'

/** Every wire format of text generation. */
export const wireFormats: Record<GenerateWireFormat, WireFormat> = { chat, messages, responses, gemini }
