import type { Logger } from 'pino'
import { RequestFollowers } from '../analytics/request-log/followers.ts'
import { RoutingPlans } from '../analytics/request-log/plans.ts'
import { RejectedRequests } from '../analytics/request-log/rejected.ts'
import { WakeSignal } from '../platform/concurrency/wake-signal.ts'
import type { Db } from '../platform/db/db.ts'
import type { Clock } from '../platform/time/clock.ts'
import { CoarseTimer } from '../platform/time/coarse-timer.ts'
import type { Gateway } from './gateway.ts'

type RequestLog = Pick<
  Gateway,
  'timer' | 'rejectedRequests' | 'routingPlans' | 'requestFollowers' | 'requestLogSignal'
>

/** A refused request is in the list within about this time. */
const writeDelayMs = 500

/** Creates the recorders of requests besides their settlement, and the followers of the list. */
export function createRequestLog({ db, clock, log }: { db: Db; clock: Clock; log: Logger }): RequestLog {
  const timer = new CoarseTimer()
  const requestLogSignal = new WakeSignal(writeDelayMs)
  const onAdded = () => requestLogSignal.wake()
  return {
    timer,
    requestLogSignal,
    rejectedRequests: new RejectedRequests(db, clock, onAdded),
    routingPlans: new RoutingPlans(db, clock, onAdded),
    requestFollowers: new RequestFollowers({ db, clock, timer, log }),
  }
}

/** Plans first: a refused request refers to its plan. `isAll`: the process ends. */
export async function flushRequestLog(
  { routingPlans, rejectedRequests }: Pick<Gateway, 'routingPlans' | 'rejectedRequests'>,
  isAll = false,
): Promise<void> {
  await routingPlans.flush()
  await rejectedRequests.flush(isAll)
}
