import type { Endpoint } from '../../catalog/model.ts'
import type { MediaSimulator } from '../../catalog/providers/simulation.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { UpstreamError } from '../failures/errors.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { buildSimulateOptions } from '../upstream/simulation.ts'

/** The reply of a provider that runs in this process; undefined for a provider on the network. */
export function simulateMedia<Call, Reply>(
  simulate: MediaSimulator<Call, Reply> | undefined,
  gateway: Gateway,
  exchange: UpstreamExchange,
  call: Call,
  { upstream_model }: Endpoint,
): Promise<Reply> | undefined {
  return simulate && run(exchange, simulate(call, upstream_model, buildSimulateOptions(gateway, exchange)))
}

async function run<Reply>(
  exchange: UpstreamExchange,
  simulating: ReturnType<MediaSimulator<unknown, Reply>>,
): Promise<Reply> {
  try {
    const result = await simulating
    if ('failure' in result) throw new UpstreamError(result.failure)
    exchange.release()
    return result.reply
  } catch (error) {
    throw exchange.toError(error)
  }
}
