import { toErrorEnvelope } from '../../platform/errors/gateway-error.ts'
import { createReplyLimits } from '../reply-losses.ts'
import type { WireFormat } from '../wire-format.ts'
import { decodeError } from './error.ts'
import { replyLists } from './frame.ts'
import { passReply, passRequest } from './passthrough.ts'
import { createRelay } from './relay.ts'
import { createReader, decodeReply, findPendingId } from './reply-reader.ts'
import { createWriter, encodeReply } from './reply-writer.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'

/** OpenAI's Responses format. */
export const responses: WireFormat = {
  name: 'responses',
  client: {
    decodeRequest,
    createWriter,
    encodeReply,
    rejectsMandatoryReasoning: true,
    replyLimits: createReplyLimits('responses', 'explanation', 'n', 'stop_sequence'),
    heartbeat: ': HEADGATE PROCESSING\n\n',
    encodeError: (error, requestId) => ({ ...toErrorEnvelope(error, requestId) }),
  },
  upstream: {
    tokenCounting: {
      suffix: '/input_tokens',
      field: 'input_tokens',
      acceptedFields: [
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
    defaults: { headers: {}, signatureFormat: 'vendor_b-responses-v1' },
    encodeRequest,
    createReader,
    decodeReply,
    findPendingId,
    replyLists,
    decodeError,
  },
  passthrough: { passRequest, createRelay, passReply, headers: ['openai-beta'] },
}
