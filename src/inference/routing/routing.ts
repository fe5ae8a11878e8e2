import type { EndpointHealth } from '../../catalog/health/health.ts'
import { HealthRegistry } from '../../catalog/health/health-registry.ts'
import type { FailureKind } from '../../formats/call/failure.ts'
import { ModelSpending } from '../routers/spending.ts'
import { StickySessions } from './sticky.ts'

/** Sends outcomes of attempts to other nodes. */
export interface OutcomeReports {
  reportFailure(id: string, health: EndpointHealth, kind: FailureKind): void
  reportSuccess(id: string, hasRecovered: boolean): void
}

/** State that this process records about the requests it served, to route the next ones. */
export class Routing {
  readonly health = new HealthRegistry()
  readonly sticky = new StickySessions()
  /** The models that router models chose, by conversation. */
  readonly routedSessions = new StickySessions()
  readonly spending = new ModelSpending()
  /** Null without other nodes. */
  sharing: OutcomeReports | null = null
  /** Tests replace it to be deterministic. */
  random: () => number = Math.random
}
