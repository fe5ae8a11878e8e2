import { HealthRegistry } from './health.ts'
import { StickySessions } from './sticky.ts'

/** What this process has learnt from the requests it served, for routing the next ones. */
export class Routing {
  readonly health = new HealthRegistry()
  readonly sticky = new StickySessions()
  /** Tests give one that can be repeated. */
  random: () => number = Math.random
}
