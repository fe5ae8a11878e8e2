import type { AppliedLimit } from '../../governance/limits/applied-limits.ts'
import type { Limit } from '../../ledger/ledger-state.ts'
import type { LimitReservation } from './limit-reservation.ts'

/** The meters that a request counts in, and the limits of its hold. */
export interface Spending {
  meterScopes: readonly string[]
  limits: readonly Limit[]
}

/** The declared limits that apply to a request, besides those of its key. */
export interface RequestLimits {
  applied: readonly AppliedLimit[]
  spending: Spending
  /** Whether a candidate may serve it whose spending some of the meters do not count. */
  isConditional: boolean
  /** Null until it is admitted. */
  reservation: LimitReservation | null
}

/** The spending of a request: that of its key, or with the limits that are declared for requests like it. */
export function spendingOf(request: {
  limits: { spending: Spending } | null
  keyContext: Spending
}): Spending {
  return request.limits?.spending ?? request.keyContext
}
