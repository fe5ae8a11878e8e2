import { RequestSigner } from '../catalog/provider-auth/request-signer.ts'
import { ProviderRates } from '../inference/rates/provider-rates.ts'
import { HedgeBudget } from '../inference/upstream/hedge-budget.ts'
import { PromptHistory } from '../inference/upstream/prompt-history.ts'
import { ConcurrencyLimiter } from '../platform/concurrency/concurrency-limiter.ts'
import { OriginReachability } from '../platform/http/origin-reachability.ts'
import type { Clock } from '../platform/time/clock.ts'
import type { UpstreamServices } from './gateway.ts'
import type { Metrics } from './metrics.ts'

/** Replies that are drained at the same time after their client disconnected. */
const maxDrains = 100

export function createUpstreamServices(clock: Clock, metrics: Metrics): UpstreamServices {
  const rates = new ProviderRates()
  metrics.rates.register(rates)
  return {
    origins: new OriginReachability(),
    signer: new RequestSigner(clock),
    drainLimiter: new ConcurrencyLimiter(maxDrains),
    hedges: new HedgeBudget(),
    promptHistory: new PromptHistory(),
    rates,
    exchanges: new Set(),
  }
}
