import { setTimeout as wait } from 'node:timers/promises'
import type { Gateway } from '../../gateway/gateway.ts'
import { type ReceivedBody, receiveBody } from './decode-reply.ts'
import type { UpstreamExchange } from './exchange.ts'
import { send, type UpstreamResponse } from './send.ts'
import type { Translation } from './translate.ts'

const firstDelayMs = 200
const maxDelayMs = 5000

/** The body of a whole reply. One that the vendor has only queued is polled until it has ended. */
export async function receiveReply(
  gateway: Gateway,
  exchange: UpstreamExchange,
  translation: Pick<Translation, 'wireFormat'>,
  upstream: UpstreamResponse,
): Promise<ReceivedBody> {
  let received = await receiveBody(exchange, upstream, translation)
  const { findPendingId } = translation.wireFormat.upstream
  if (!findPendingId) return received
  let id = findPendingId(received.body)
  if (id !== null) exchange.setTimeout(gateway.settings.limits.whole_reply)
  for (let delay = firstDelayMs; id !== null; delay = Math.min(2 * delay, maxDelayMs)) {
    await wait(delay, undefined, { signal: exchange.signal }).catch((error: unknown) => {
      throw exchange.toError(error)
    })
    const { call } = upstream
    const poll = { ...call, method: 'GET' as const, path: `${call.path}/${id}`, body: null }
    received = await receiveBody(exchange, await send(gateway, exchange, poll), translation)
    id = findPendingId(received.body)
  }
  return received
}
