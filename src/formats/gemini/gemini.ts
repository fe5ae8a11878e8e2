import { createReplyLimits } from '../reply-losses.ts'
import type { WireFormat } from '../wire-format.ts'
import { decodeError, encodeError } from './error.ts'
import { GeminiRelay, passReply } from './relay.ts'
import { GeminiReader, replyLists } from './reply-reader.ts'
import { encodeReply, GeminiWriter } from './reply-writer.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest, passRequest } from './request-encode.ts'

/** Google's `generateContent` and `streamGenerateContent`. */
export const gemini: WireFormat = {
  name: 'gemini',
  client: {
    decodeRequest,
    createWriter: (context) => new GeminiWriter(context),
    encodeReply,
    replyLimits: createReplyLimits('gemini', 'stop_sequence'),
    heartbeat: ': HEADGATE PROCESSING\n\n',
    encodeError,
  },
  upstream: {
    defaults: { keyHeader: 'x-goog-api-key', headers: {}, signatureFormat: 'vendor_c-v1' },
    encodeRequest,
    createReader: () => new GeminiReader(),
    replyLists,
    decodeReply: (body) => new GeminiReader().readWhole(body),
    decodeError,
  },
  passthrough: {
    passRequest,
    createRelay: (context) => new GeminiRelay(context),
    passReply,
    headers: [],
  },
}
