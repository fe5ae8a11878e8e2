import { envelope } from '../../errors.ts'
import type { Dialect } from '../dialect.ts'
import { replyLimits } from '../reply-losses.ts'
import { heartbeat } from './chunk.ts'
import { decodeError } from './error.ts'
import { functionRelays, functionReplies } from './functions.ts'
import { passReply } from './pass-reply.ts'
import { passRequest } from './pass-request.ts'
import { relay } from './relay.ts'
import { decodeReply, reader } from './reply-read.ts'
import { encodeReply } from './reply-whole.ts'
import { writer } from './reply-write.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { seeReply } from './see-reply.ts'

/** Chat Completions, as OpenAI made it and most vendors speak it. */
export const chat: Dialect = {
  name: 'chat',
  client: {
    decodeRequest,
    ...functionReplies({ writer, encodeReply }),
    insistsOnEffort: true,
    carriesFailure: true,
    replyLimits: replyLimits('chat', 'file_citations'),
    heartbeat,
    encodeError: (error, requestId) => ({ ...envelope(error, requestId) }),
  },
  upstream: {
    customs: { headers: {}, signatures: 'unknown' },
    encodeRequest,
    reader,
    decodeReply,
    decodeError,
  },
  same: { passRequest, ...functionRelays({ relay, passReply }), seeReply, headers: [] },
}
