import type { UpstreamFormat } from '../wire-format.ts'
import { decodeError } from './error.ts'
import { ConverseReader, decodeReply, replyLists } from './reply-reader.ts'
import { encodeRequest } from './request-encode.ts'

/** Amazon Bedrock's `Converse` and `ConverseStream`, for upstreams only. */
export const converse: UpstreamFormat = {
  name: 'converse',
  upstream: {
    defaults: { headers: {}, signatureFormat: 'vendor_a-v1' },
    encodeRequest,
    createReader: () => new ConverseReader(),
    replyLists,
    decodeReply,
    decodeError,
  },
}
