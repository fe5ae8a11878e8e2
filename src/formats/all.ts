import { chat } from './chat/chat.ts'
import { cohereUpstream } from './cohere/upstream.ts'
import { converse } from './converse/converse.ts'
import { gemini } from './gemini/gemini.ts'
import { messages } from './messages/messages.ts'
import { responses } from './responses/responses.ts'
import type { GenerateWireFormat, TextWireFormat } from './vocabulary.ts'
import type { UpstreamFormat, WireFormat } from './wire-format.ts'

/** The wire formats of text generation that clients have. */
export const wireFormats: Record<GenerateWireFormat, WireFormat> = { chat, messages, responses, gemini }

/** The wire formats of text generation that upstreams have. */
export const upstreamFormats: Record<TextWireFormat, UpstreamFormat> = {
  ...wireFormats,
  converse,
  'cohere-chat': cohereUpstream,
}
