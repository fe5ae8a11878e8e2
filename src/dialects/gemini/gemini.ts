import type { Dialect } from '../dialect.ts'
import { replyLimits } from '../reply-losses.ts'
import { decodeError, encodeError } from './error.ts'
import { GeminiRelay, passReply } from './relay.ts'
import { GeminiReader } from './reply-read.ts'
import { encodeReply, GeminiWriter } from './reply-write.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest, passRequest } from './request-encode.ts'

/** generateContent and streamGenerateContent. */
export const gemini: Dialect = {
  name: 'gemini',
  client: {
    decodeRequest,
    writer: (about) => new GeminiWriter(about),
    encodeReply,
    replyLimits: replyLimits('gemini', 'stop_sequence'),
    heartbeat: ': HEADGATE PROCESSING\n\n',
    encodeError,
  },
  upstream: {
    customs: { keyHeader: 'x-goog-api-key', headers: {}, signatures: 'vendor_c-v1' },
    encodeRequest,
    reader: () => new GeminiReader(),
    decodeReply: (body) => new GeminiReader().whole(body),
    decodeError,
  },
  same: {
    passRequest,
    relay: (about) => new GeminiRelay(about),
    passReply,
    headers: [],
  },
}
