import { HealthRegistry } from './health.ts'
import { StickySessions } from './sticky.ts'

/** What this process records about the requests it served, to route the next ones. */
export class Routing {
  readonly health = new HealthRegistry()
  readonly sticky = new StickySessions()
  /** Tests replace it to be deterministic. */
  random: () => number = Math.random
}
