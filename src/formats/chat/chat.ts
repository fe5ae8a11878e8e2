import { toErrorEnvelope } from '../../platform/errors/gateway-error.ts'
import { createReplyLimits } from '../reply-losses.ts'
import type { WireFormat } from '../wire-format.ts'
import { heartbeat } from './chunk.ts'
import { decodeError } from './error.ts'
import { wrapFunctionRelays, wrapFunctionReplies } from './legacy-functions.ts'
import { passReply } from './passthrough-reply.ts'
import { passPlainRequest, passRequest } from './passthrough-request.ts'
import { readPlainRequest } from './plain-request.ts'
import { createRelay } from './relay.ts'
import { encodeReply } from './reply-encode.ts'
import { createReader, decodeReply, replyLists } from './reply-reader.ts'
import { summarizeReply } from './reply-summary.ts'
import { createWriter } from './reply-writer.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'

/** OpenAI's Chat Completions format, which most vendors support. */
export const chat: WireFormat = {
  name: 'chat',
  client: {
    decodeRequest,
    readPlain: readPlainRequest,
    ...wrapFunctionReplies({ createWriter, encodeReply }),
    rejectsMandatoryReasoning: true,
    canEncodeFailure: true,
    replyLimits: createReplyLimits('chat'),
    heartbeat,
    encodeError: (error, requestId) => ({ ...toErrorEnvelope(error, requestId) }),
  },
  upstream: {
    defaults: { headers: {}, signatureFormat: 'unknown' },
    encodeRequest,
    createReader,
    decodeReply,
    replyLists,
    decodeError,
  },
  passthrough: {
    passRequest,
    passPlain: passPlainRequest,
    ...wrapFunctionRelays({ createRelay, passReply }),
    summarizeReply,
    headers: [],
  },
}
