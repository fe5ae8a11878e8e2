import type { Logger } from 'pino'
import { RequestFollowers } from '../account/request-log/followers.ts'
import { RoutingPlans } from '../account/request-log/plans.ts'
import { RefusedRequests } from '../account/request-log/refused.ts'
import type { Db } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import { CoarseTimer } from '../lib/coarse-timer.ts'
import { WakeSignal } from '../lib/wake-signal.ts'
import type { Gateway } from './gateway.ts'

type RequestLog = Pick<
  Gateway,
  'timer' | 'refusedRequests' | 'routingPlans' | 'requestFollowers' | 'requestLogSignal'
>

/** A refused request is in the list within about this time. */
const writeDelayMs = 500

/** What is recorded of requests besides their settlement, and who reads it. */
export function createRequestLog({ db, clock, log }: { db: Db; clock: Clock; log: Logger }): RequestLog {
  const timer = new CoarseTimer()
  const requestLogSignal = new WakeSignal(writeDelayMs)
  const onAdded = () => requestLogSignal.wake()
  return {
    timer,
    requestLogSignal,
    refusedRequests: new RefusedRequests(db, clock, onAdded),
    routingPlans: new RoutingPlans(db, clock, onAdded),
    requestFollowers: new RequestFollowers({ db, clock, timer, log }),
  }
}

/** Plans first: a refused request refers to its plan. `isAll`: the process ends. */
export async function flushRequestLog(
  { routingPlans, refusedRequests }: Pick<Gateway, 'routingPlans' | 'refusedRequests'>,
  isAll = false,
): Promise<void> {
  await routingPlans.flush()
  await refusedRequests.flush(isAll)
}
