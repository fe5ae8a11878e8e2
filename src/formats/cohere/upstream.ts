import { decodeError } from '../chat/error.ts'
import type { UpstreamFormat } from '../wire-format.ts'
import { CohereReader, decodeReply, replyLists } from './reply-reader.ts'
import { encodeRequest } from './request-encode.ts'

/** Cohere's `/v2/chat`, for upstreams. */
export const cohereUpstream: UpstreamFormat = {
  name: 'cohere-chat',
  upstream: {
    defaults: { headers: {}, signatureFormat: 'unknown' },
    encodeRequest,
    createReader: () => new CohereReader(),
    replyLists,
    decodeReply,
    decodeError,
  },
}
