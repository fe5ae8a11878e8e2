import { createReplyLimits } from '../reply-losses.ts'
import type { ClientCodec } from '../wire-format.ts'
import { encodeError, errorSchema } from './reply-fields.ts'
import { CohereWriter, encodeReply } from './reply-writer.ts'
import { decodeRequest } from './request-decode.ts'

/** Cohere's `/v2/chat`, for clients only. */
export const cohereChat: ClientCodec & { errorSchema: typeof errorSchema } = {
  decodeRequest,
  createWriter: (context) => new CohereWriter(context),
  encodeReply,
  heartbeat: ': HEADGATE PROCESSING\n\n',
  replyLimits: createReplyLimits(null, 'audio', 'explanation', 'image', 'n', 'reasoning_signature'),
  encodeError,
  errorSchema,
}
