import { HealthRegistry } from '../../catalog/health/health-registry.ts'
import { ModelSpending } from '../routers/spending.ts'
import { StickySessions } from './sticky.ts'

/** State that this process records about the requests it served, to route the next ones. */
export class Routing {
  readonly health = new HealthRegistry()
  readonly sticky = new StickySessions()
  /** The models that router models chose, by conversation. */
  readonly routedSessions = new StickySessions()
  readonly spending = new ModelSpending()
  /** Tests replace it to be deterministic. */
  random: () => number = Math.random
}
