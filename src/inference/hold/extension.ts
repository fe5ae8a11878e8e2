import type { Gateway } from '../../gateway/gateway.ts'
import type { Amounts } from '../../ledger/amounts.ts'
import { emptyDraft } from '../../ledger/draft.ts'
import type { AdmitOperation } from '../../ledger/engine.ts'
import { newExtensionId } from '../../ledger/hold-extension.ts'
import { utcDay } from '../../platform/time/time.ts'
import type { LimitedRequest } from './limit-error.ts'
import { type Spending, spendingOf } from './spending.ts'

/** The facts of a request that its holds depend on. */
export interface FundedRequest extends LimitedRequest {
  id: string
  startedAt: number
  caller: { organizationId: string }
  keyContext: Spending
  limits: { spending: Spending } | null
  httpRequest: Request
}

/** Milliseconds that a hold outlasts the longest reply: time to drain it and to wait for an unavailable database. */
export const holdGraceMs = 600_000

/** A hold besides that of the request itself. */
export function buildExtension(
  { node, clock, settings }: Gateway,
  request: FundedRequest,
  { amount, byok }: Amounts,
): AdmitOperation {
  const { id, at, caller } = request
  const { meterScopes: subjects, limits } = spendingOf(request)
  return {
    op: 'admit',
    request: { id: newExtensionId(id), subjects, day: utcDay(at), limits, amount, byok, free: null },
    organizationId: caller.organizationId,
    owner: node.id,
    expiresAt: new Date(clock.now() + settings.limits.total + holdGraceMs).toISOString(),
    draft: emptyDraft,
  }
}
