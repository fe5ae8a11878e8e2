import type { Call } from '../../call/call.ts'
import type { JsonObject } from '../../lib/loose.ts'
import type { ClientSide } from '../dialect.ts'
import { type ReplyFeature, replyLimits } from '../reply-losses.ts'
import {
  encodeError,
  encodeWhole,
  errorSchema,
  inMessage,
  inResponse,
  type Place,
  RecordWriter,
} from './reply-write.ts'
import { decodeChat, decodeGenerate } from './request-decode.ts'

const lacking: ReplyFeature[] = [
  'audio',
  'citations',
  'explanation',
  'image',
  'n',
  'reasoning_signature',
  'stop_sequence',
]

function clientSide(decodeRequest: (body: JsonObject) => Call, place: Place): ClientSide {
  return {
    decodeRequest,
    writer: (about) => new RecordWriter(about, place),
    encodeReply: (reply, about, bill) => encodeWhole(reply, about, bill, place),
    streamType: 'application/x-ndjson',
    // Space between records: clients take every line for a record.
    heartbeat: ' ',
    replyLimits: replyLimits(null, ...lacking),
    encodeError,
    errorSchema,
  }
}

/** The formats of `/api/chat` and `/api/generate` in Ollama's own API. Only clients speak them here. */
export const ollamaChat = clientSide(decodeChat, inMessage)
export const ollamaGenerate = clientSide(decodeGenerate, inResponse)
