import type { Gateway } from '../../gateway/gateway.ts'
import { type Amounts, positive } from '../../ledger/amounts.ts'
import { ClientDisconnectedError } from '../failures/errors.ts'
import type { ModelRequest } from '../request/inference-request.ts'
import { type Admission, estimateHold } from './admit.ts'
import type { Funds } from './funds.ts'

/** Holds what the next turn of a request may cost. */
export function holdTurn(gateway: Gateway, turn: ModelRequest, admission: Admission): Promise<void> {
  const { estimate } = estimateHold(gateway, turn, admission.plan)
  return extend(turn, admission, (funds) => funds.coverTurn(gateway, estimate))
}

/** Holds a fee before it is paid, besides what the next turn may cost. */
export function holdFee(
  gateway: Gateway,
  request: ModelRequest,
  admission: Admission,
  nanos: bigint,
): Promise<void> {
  return extend(request, admission, (funds) => funds.reserveFee(gateway, nanos))
}

/** What a turn may cost must stay available while tools run, unless the reply can end without one. */
export function protectTurn(gateway: Gateway, turn: ModelRequest | null, admission: Admission): void {
  const estimate = turn ? estimateHold(gateway, turn, admission.plan).estimate : { amount: 0n, byok: 0n }
  admission.funds?.protectTurn(estimate)
}

async function extend(
  { httpRequest }: ModelRequest,
  { funds }: Admission,
  change: (funds: Funds) => Promise<void>,
): Promise<void> {
  if (!funds) throw new Error('a request with one hold cannot extend it')
  try {
    await change(funds)
  } catch (error) {
    throw httpRequest.signal.aborted ? new ClientDisconnectedError() : error
  }
}

/** All that is held for a request. */
export function totalHold({ hold, funds }: Admission): Amounts {
  return funds?.held ?? hold
}

/** What is held and not charged yet. */
export function remainingHold({ work }: ModelRequest, admission: Admission): Amounts {
  const hold = totalHold(admission)
  if (!work) return hold
  const { cost, byok } = work.bill.charge
  const amount = positive(hold.amount - cost)
  return { amount, byok: positive(hold.amount + hold.byok - cost - byok - amount) }
}
