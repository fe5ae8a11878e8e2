import type { Gateway } from '../../app/gateway.ts'
import { encodeDraft } from '../../ledger/draft.ts'
import { newExtensionId } from '../../ledger/hold-extension.ts'
import type { Amounts } from '../../ledger/ledger-state.ts'
import { createRelease } from '../../ledger/settlement.ts'
import type { ModelRequest } from '../request/inference-request.ts'
import { ClientDisconnectedError } from '../upstream/errors.ts'
import { type Admission, estimateHold, holdGraceMs } from './admit.ts'
import { limitError } from './limit-error.ts'

/** Holds what another turn of a request may cost: the part that is not covered by what is still held. */
export async function holdTurn(gateway: Gateway, turn: ModelRequest, admission: Admission): Promise<void> {
  const { estimate } = estimateHold(gateway, turn, admission.plan)
  const held = remainingHold(turn, admission)
  const amount = positive(estimate.amount - held.amount)
  const byok = positive(estimate.amount + estimate.byok - held.amount - held.byok - amount)
  if (amount > 0n || byok > 0n) await extendHold(gateway, turn, admission, { amount, byok })
}

/** What is held and not charged yet. */
export function remainingHold({ work }: ModelRequest, { hold }: Admission): Amounts {
  if (!work) return hold
  const { cost, byok } = work.bill.charge
  const amount = positive(hold.amount - cost)
  return { amount, byok: positive(hold.amount + hold.byok - cost - byok - amount) }
}

/** Adds to the hold of a request, within its limits: a hold of its own, which ends with that of the request. */
export async function extendHold(
  gateway: Gateway,
  request: ModelRequest,
  admission: Admission,
  { amount, byok }: Amounts,
): Promise<void> {
  const { draft, meteredIn } = admission
  const id = newExtensionId(draft.generation.id)
  const rejection = await gateway.ledger.admit({
    op: 'admit',
    request: { id, ...meteredIn, limits: request.keyContext.limits, amount, byok, free: null },
    organizationId: request.caller.organizationId,
    owner: gateway.node.id,
    expiresAt: new Date(gateway.clock.now() + gateway.settings.limits.total + holdGraceMs).toISOString(),
    draft: encodeDraft(draft),
  })
  if (rejection) throw limitError(request, rejection)
  admission.extensions.push(id)
  admission.hold = { amount: admission.hold.amount + amount, byok: admission.hold.byok + byok }
  if (!admission.isSettled) return
  // The client disconnected meanwhile.
  await releaseExtensions(gateway, admission)
  throw new ClientDisconnectedError()
}

/** After the settlement of the request. An extension that stays is released once it has expired. */
export async function releaseExtensions(gateway: Gateway, admission: Admission): Promise<void> {
  const { id: requestId, organization_id } = admission.draft.generation
  const ids = admission.extensions.splice(0)
  try {
    await Promise.all(ids.map((id) => gateway.ledger.settle(createRelease(id, organization_id))))
  } catch (err) {
    gateway.log.warn({ err, id: requestId }, 'failed to release a hold')
  }
}

function positive(amount: bigint): bigint {
  return amount > 0n ? amount : 0n
}
