import { Health } from './health.ts'
import { Sticky } from './sticky.ts'

/** What this process has learnt from the requests it served, for routing the next ones. */
export class Routing {
  readonly health = new Health()
  readonly sticky = new Sticky()
  /** Tests give one that can be repeated. */
  random: () => number = Math.random
}
