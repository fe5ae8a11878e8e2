import type { Gateway } from '../../gateway/gateway.ts'
import type { RequestState } from '../request/inference-request.ts'
import type { UpstreamExchange } from './exchange.ts'

/** Some providers bill a reply whose client disconnected: it is read to the end, within the drain limit. */
export function drainAbandoned(
  gateway: Gateway,
  request: RequestState,
  exchange: UpstreamExchange,
  replying: Promise<unknown>,
): void {
  exchange.outliveClient()
  const ignore = () => undefined
  const drain = () =>
    gateway.upstreams.drainLimiter.tryRun(() => replying.then(ignore, ignore)).then(() => exchange.abort())
  request.httpRequest.signal.addEventListener('abort', () => void drain(), { once: true })
}
