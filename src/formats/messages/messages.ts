import { createReplyLimits } from '../reply-losses.ts'
import type { WireFormat } from '../wire-format.ts'
import { decodeError, encodeError } from './error.ts'
import { passRequest } from './passthrough.ts'
import { promptCache } from './prompt-cache.ts'
import { createRelay, passReply } from './relay.ts'
import { createReader, decodeReply, replyLists } from './reply-reader.ts'
import { createWriter, encodeReply, heartbeat } from './reply-writer.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'

/** Anthropic's Messages format. */
export const messages: WireFormat = {
  name: 'messages',
  client: {
    decodeRequest,
    createWriter,
    encodeReply,
    replyLimits: createReplyLimits('messages', 'audio', 'logprobs', 'n'),
    heartbeat,
    encodeError,
  },
  upstream: {
    tokenCounting: { suffix: '/count_tokens', field: 'input_tokens' },
    defaults: {
      keyHeader: 'x-api-key',
      headers: { 'anthropic-version': '2023-06-01' },
      signatureFormat: 'vendor_a-v1',
      maxMessages: 1000,
    },
    encodeRequest,
    promptCache,
    createReader,
    decodeReply,
    replyLists,
    decodeError,
  },
  passthrough: { passRequest, createRelay, passReply, headers: ['anthropic-beta', 'anthropic-version'] },
}
