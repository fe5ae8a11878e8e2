import type { Logger } from 'pino'
import { RequestFollowers } from '../analytics/request-log/followers.ts'
import { RoutingPlans } from '../analytics/request-log/plans.ts'
import { RejectedRequests } from '../analytics/request-log/rejected.ts'
import { WakeSignal } from '../platform/concurrency/wake-signal.ts'
import type { Db } from '../platform/db/db.ts'
import type { Clock } from '../platform/time/clock.ts'
import type { CoarseTimer } from '../platform/time/coarse-timer.ts'
import type { Gateway, RequestLog } from './gateway.ts'

interface RequestLogDeps {
  db: Db
  clock: Clock
  timer: CoarseTimer
  log: Logger
}

/** A rejected request is in the list within about this time. */
const writeDelayMs = 500

/** Creates the recorders of requests besides their settlement, and the followers of the list. */
export function createRequestLog(deps: RequestLogDeps): RequestLog {
  const { db, clock } = deps
  const signal = new WakeSignal(writeDelayMs)
  const onAdded = () => signal.wake()
  return {
    signal,
    rejected: new RejectedRequests(db, clock, onAdded),
    plans: new RoutingPlans(db, clock, onAdded),
    followers: new RequestFollowers(deps),
  }
}

/** Plans first: a rejected request refers to its plan. `isAll`: the process ends. */
export async function flushRequestLog(
  { requestLog }: Pick<Gateway, 'requestLog'>,
  isAll = false,
): Promise<void> {
  await requestLog.plans.flush()
  await requestLog.rejected.flush(isAll)
}
