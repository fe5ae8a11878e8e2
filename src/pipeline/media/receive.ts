import type { JsonMediaDialect } from '../../dialects/media.ts'
import { readJsonBody } from '../upstream/decode-reply.ts'
import { unexpectedReplyError } from '../upstream/errors.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import type { UpstreamResponse } from '../upstream/send.ts'

/** Reads a reply that is one JSON object. `parse` is for formats that do not want all of it parsed. */
export async function receiveJson<Call, Reply>(
  exchange: UpstreamExchange,
  upstream: UpstreamResponse,
  { call, dialect }: { call: Call; dialect: JsonMediaDialect<Call, Reply> },
  parse?: Parameters<typeof readJsonBody>[2],
): Promise<Reply> {
  const reply = dialect.decodeReply(await readJsonBody(exchange, upstream, parse), call)
  if (reply === null) throw unexpectedReplyError('The provider sent a reply in another format.')
  exchange.release()
  return reply
}
