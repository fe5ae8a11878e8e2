import type { Gateway } from '../../gateway/gateway.ts'
import { type Amounts, positive } from '../../ledger/amounts.ts'
import { ClientDisconnectedError } from '../failures/errors.ts'
import type { Admitted } from '../request/inference-request.ts'
import { estimateHold } from './admit.ts'
import type { Funds } from './funds.ts'

/** Holds what the next turn of a request may cost. */
export function holdTurn(gateway: Gateway, turn: Admitted): Promise<void> {
  const { estimate } = estimateHold(gateway, turn, turn.plan)
  return extend(turn, (funds) => funds.coverTurn(gateway, estimate))
}

/** Holds a fee before it is paid, besides what the next turn may cost. */
export function holdFee(gateway: Gateway, request: Admitted, nanos: bigint): Promise<void> {
  return extend(request, (funds) => funds.reserveFee(gateway, nanos))
}

/** Keeps the cost of the next turn available while tools run. */
export function protectTurn(gateway: Gateway, turn: Admitted): void {
  turn.hold.funds?.protectTurn(estimateHold(gateway, turn, turn.plan).estimate)
}

async function extend(
  { httpRequest, hold }: Admitted,
  change: (funds: Funds) => Promise<void>,
): Promise<void> {
  if (!hold.funds) throw new Error('a request with one hold cannot extend it')
  try {
    await change(hold.funds)
  } catch (error) {
    throw httpRequest.signal.aborted ? new ClientDisconnectedError() : error
  }
}

/** Computes the part of the hold that is not charged yet. */
export function remainingHold({ work, hold }: Admitted): Amounts {
  const held = hold.funds?.held ?? hold.amounts
  if (!work) return held
  const { cost, byok } = work.bill.charge
  const amount = positive(held.amount - cost)
  return { amount, byok: positive(held.amount + held.byok - cost - byok - amount) }
}
