import type { JsonMediaWireFormat } from '../../formats/media.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { unexpectedReplyError } from '../failures/errors.ts'
import { readJsonBody } from '../upstream/decode-reply.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import type { UpstreamResponse } from '../upstream/send.ts'

interface SentCall<Call, Reply> {
  call: Call
  wireFormat: JsonMediaWireFormat<Call, Reply>
}

/** Reads a reply that is one JSON object. */
export async function receiveJson<Call, Reply>(
  exchange: UpstreamExchange,
  upstream: UpstreamResponse,
  sent: SentCall<Call, Reply>,
): Promise<Reply> {
  return decodeBody(exchange, await readJsonBody(exchange, upstream), sent)
}

/** Decodes the body of a reply that has been read. */
export function decodeBody<Call, Reply>(
  exchange: UpstreamExchange,
  body: JsonObject,
  { call, wireFormat }: SentCall<Call, Reply>,
): Reply {
  const reply = wireFormat.decodeReply(body, call)
  if (reply === null) throw unexpectedReplyError('The provider sent a reply in another format.')
  exchange.release()
  return reply
}
