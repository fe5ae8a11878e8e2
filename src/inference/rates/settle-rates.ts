import type { Charge } from '../../ledger/charge.ts'
import type { RequestState } from '../request/inference-request.ts'
import { measureRateUse } from './estimate.ts'
import type { Room } from './room.ts'

/** Counts what a request has used of its provider's rates. The usage of several turns is not that of its last attempt. */
export async function settleRates(room: Room, { work }: RequestState, { usage }: Charge): Promise<void> {
  const hasTurns = work?.bill.lines.some(({ kind }) => kind === 'turn')
  if (!hasTurns) await room.settle(measureRateUse(usage))
}
