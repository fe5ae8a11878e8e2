import type { Dialect } from '../dialect.ts'
import { replyLimits } from '../reply-losses.ts'
import { decodeError, encodeError } from './error.ts'
import { passRequest } from './pass.ts'
import { passReply, relay } from './relay.ts'
import { decodeReply, reader } from './reply-read.ts'
import { encodeReply, heartbeat, writer } from './reply-write.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'

/** The Messages format. */
export const messages: Dialect = {
  name: 'messages',
  client: {
    decodeRequest,
    writer,
    encodeReply,
    replyLimits: replyLimits('messages', 'audio', 'logprobs', 'n'),
    heartbeat,
    encodeError,
  },
  upstream: {
    counting: { suffix: '/count_tokens', field: 'input_tokens' },
    customs: {
      keyHeader: 'x-api-key',
      headers: { 'anthropic-version': '2023-06-01' },
      signatures: 'vendor_a-v1',
    },
    encodeRequest,
    reader,
    decodeReply,
    decodeError,
  },
  same: { passRequest, relay, passReply, headers: ['anthropic-beta', 'anthropic-version'] },
}
