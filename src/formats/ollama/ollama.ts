import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import { createReplyLimits, type ReplyFeature } from '../reply-losses.ts'
import type { ClientCodec } from '../wire-format.ts'
import {
  type ContentEncoder,
  encodeChatContent,
  encodeError,
  encodeGenerateContent,
  encodeReply,
  errorSchema,
  OllamaWriter,
} from './reply-writer.ts'
import { decodeChat, decodeGenerate } from './request-decode.ts'

const unsupportedFeatures: ReplyFeature[] = [
  'audio',
  'citations',
  'explanation',
  'image',
  'n',
  'reasoning_signature',
  'stop_sequence',
]

function createClientCodec(
  decodeRequest: (body: JsonObject) => ModelCall,
  encodeContent: ContentEncoder,
): ClientCodec {
  return {
    decodeRequest,
    createWriter: (context) => new OllamaWriter(context, encodeContent),
    encodeReply: (reply, context, cost) => encodeReply(reply, context, cost, encodeContent),
    streamContentType: 'application/x-ndjson',
    // A space, because clients parse every line as a record.
    heartbeat: ' ',
    replyLimits: createReplyLimits(null, ...unsupportedFeatures),
    encodeError,
    errorSchema,
  }
}

/** Ollama's `/api/chat` and `/api/generate`, for clients only. */
export const ollamaChat = createClientCodec(decodeChat, encodeChatContent)
export const ollamaGenerate = createClientCodec(decodeGenerate, encodeGenerateContent)
