import { subtractUsage } from '../../formats/call/usage.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { BillLine } from '../../ledger/bill.ts'
import { insertLine } from '../../ledger/bill-lines.ts'
import type { Charge } from '../../ledger/charge.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import type { RequestState } from '../request/inference-request.ts'
import type { RequestWork } from '../request/work.ts'
import type { Candidate } from '../routing/candidate.ts'

/** Requests on behalf of this one may end after it, if its client has disconnected. */
export function recordLateLines(
  gateway: Gateway,
  request: RequestState,
  work: RequestWork,
  count: number,
): void {
  let position = count
  work.bill.takeLate((line) => {
    const writing = insertLine(gateway.db, request.id, position++, line)
    writing.catch((err: unknown) =>
      logOf(gateway, request).warn({ err }, 'failed to record a line of a bill'),
    )
  })
}

/** The reply that ended with the request is its last turn. */
export function buildLines(
  { attempts, startedAt }: RequestState,
  work: RequestWork,
  { model, endpoint }: Candidate,
  charge: Charge,
): readonly BillLine[] {
  if (work.bill.lines.length === 0) return work.bill.lines
  const { lines, charge: earlier } = work.bill
  if (charge === earlier) return lines
  const last: BillLine = {
    kind: 'turn',
    name: model.id,
    provider: endpoint.provider.slug,
    quantity: 1,
    usage: subtractUsage(charge.usage, earlier.usage),
    cost: charge.cost - earlier.cost,
    durationMs: performance.now() - attempts.lastStartedAt,
    startedMs: attempts.lastStartedAt - startedAt,
    nestedId: null,
  }
  return [...lines, last]
}
