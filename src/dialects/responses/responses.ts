import { envelope } from '../../errors.ts'
import type { Dialect } from '../dialect.ts'
import { replyLimits } from '../reply-losses.ts'
import { decodeError } from './error.ts'
import { passReply, passRequest } from './pass.ts'
import { relay } from './relay.ts'
import { decodeReply, reader } from './reply-read.ts'
import { encodeReply, writer } from './reply-write.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'

/** The format of the OpenAI Responses API. */
export const responses: Dialect = {
  name: 'responses',
  client: {
    decodeRequest,
    writer,
    encodeReply,
    insistsOnEffort: true,
    replyLimits: replyLimits('responses', 'explanation', 'n', 'stop_sequence'),
    heartbeat: ': HEADGATE PROCESSING\n\n',
    encodeError: (error, requestId) => ({ ...envelope(error, requestId) }),
  },
  upstream: {
    counting: {
      suffix: '/input_tokens',
      field: 'input_tokens',
      takes: [
        'model',
        'input',
        'instructions',
        'tools',
        'tool_choice',
        'parallel_tool_calls',
        'reasoning',
        'text',
      ],
    },
    customs: { headers: {}, signatures: 'vendor_b-responses-v1' },
    encodeRequest,
    reader,
    decodeReply,
    decodeError,
  },
  same: { passRequest, relay, passReply, headers: ['openai-beta'] },
}
