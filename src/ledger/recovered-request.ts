import { emptyGeneration } from '../platform/db/generation-table.ts'
import type { HoldTable } from '../platform/db/schema.ts'
import { Bill, type BillLine } from './bill.ts'
import { addCharges, type Charge, type ChargeTerms, priceReply, zeroCharge } from './charge.ts'
import {
  type Checkpoint,
  type Draft,
  decodeCheckpoint,
  decodeDraft,
  emptyTarget,
  NewerFormatError,
  type UpstreamTarget,
} from './draft.ts'
import type { SettledGeneration } from './settlement.ts'

/**
 * The reason why a request cannot be charged from its hold: its draft or its checkpoint cannot be decoded, its reply
 * cannot be priced, or the database rejects its record. It is the `error_code` of the record.
 */
export type RecoveryFailure =
  | 'unrecovered_draft'
  | 'unrecovered_checkpoint'
  | 'unrecovered_price'
  | 'unrecovered_record'

/** A request that is recorded, but not charged: the operator decides about its charge. */
export interface UnrecoveredRequest {
  id: string
  failure: RecoveryFailure
  /** The worst case of the request. */
  held: bigint
  cause: unknown
}

export interface RecoveredRequest {
  /** Null if not even its owner is known: then its hold is only released. */
  settled: SettledGeneration | null
  /** Null if it is charged for what its checkpoint shows. */
  unrecovered: UnrecoveredRequest | null
  /** The request on whose behalf it was made, and what for. */
  outer?: Checkpoint['outer']
}

/** Recovers a request from its hold, with the amounts of its extensions. Null: only a newer version can decode it. */
export function recoverRequest(hold: HoldTable): RecoveredRequest | null {
  let failure: RecoveryFailure = 'unrecovered_draft'
  let draft: Draft | null = null
  try {
    draft = decodeDraft(hold.draft)
    if (draft.generation.id !== hold.id) throw new Error(`the draft is that of ${draft.generation.id}`)
    failure = 'unrecovered_checkpoint'
    const checkpoint = hold.checkpoint === null ? null : decodeCheckpoint(hold.checkpoint)
    failure = 'unrecovered_price'
    const settled = recoverGeneration(hold, draft, checkpoint)
    return { settled, unrecovered: null, outer: checkpoint?.outer }
  } catch (cause) {
    if (cause instanceof NewerFormatError) return null
    return buildUnrecovered(hold, failure === 'unrecovered_draft' ? null : draft, failure, cause)
  }
}

/** `draft` is null if it cannot be decoded or stored. */
export function buildUnrecovered(
  hold: HoldTable,
  draft: Draft | null,
  failure: RecoveryFailure,
  cause: unknown,
): RecoveredRequest {
  const { id, amount_nanos: held } = hold
  const generation = draft?.generation ?? readSubjects(hold)
  const settled = generation && {
    draft: generation,
    target: draft?.initialTarget ?? emptyTarget,
    charge: { ...zeroCharge, flag: 'unrecovered' as const },
    end: { status: 'failed' as const, error_code: failure, hold_nanos: held },
  }
  return { settled, unrecovered: { id, failure, held, cause } }
}

/** The owner of a request, from the meters that its hold counts in. */
function readSubjects({ id, subjects, day }: HoldTable): Draft['generation'] | null {
  const owner = { ...emptyGeneration, id, created_at: `${day}T00:00:00.000Z` }
  for (const subject of subjects.split(' ')) {
    const [kind, first = '', second = ''] = subject.split(':')
    if (kind === 'organization') owner.organization_id = first
    if (kind === 'workspace') owner.workspace_id = first
    if (kind === 'key') owner.key_id = Number(first)
    if (kind === 'member') owner.user_id = second
  }
  return owner.organization_id && owner.workspace_id && owner.key_id ? owner : null
}

/** The terms of a charge, as far as a stored hold and its draft have them. */
export function buildTermsOfHold(hold: HoldTable, draft: Draft, target: UpstreamTarget): ChargeTerms {
  return {
    pricing: target.pricing,
    at: Date.parse(draft.generation.created_at),
    isByok: target.is_byok === 1,
    byokFee: draft.byokFee,
    hold: { amount: hold.amount_nanos, byok: hold.byok_nanos },
    promptEstimate: () => draft.promptTokens,
    inputImages: draft.generation.input_images,
  }
}

function recoverGeneration(hold: HoldTable, draft: Draft, checkpoint: Checkpoint | null): SettledGeneration {
  const target = checkpoint?.place ?? draft.initialTarget
  const { charge, lines } = recoverCharge(checkpoint, buildTermsOfHold(hold, draft, target))
  const source = charge.source === 'none' ? 'none' : 'estimated'
  return {
    draft: draft.generation,
    target,
    charge: { ...charge, source, flag: 'interrupted' },
    lines,
    end: {
      status: 'failed',
      error_code: 'interrupted',
      hold_nanos: hold.amount_nanos,
      first_token_ms: checkpoint?.firstTokenMs ?? null,
      attempts: checkpoint?.attempts ?? '[]',
      service_tier: checkpoint?.tier ?? null,
    },
  }
}

/** A request without a checkpoint is free: nothing shows that it produced output. */
function recoverCharge(
  checkpoint: Checkpoint | null,
  terms: ChargeTerms,
): { charge: Charge; lines: readonly BillLine[] } {
  if (!checkpoint) return { charge: zeroCharge, lines: [] }
  const { reply, bill: encoded } = checkpoint
  if (!encoded) return { charge: priceReply(reply, terms), lines: [] }
  const { amount, byok } = encoded.remaining
  const charge = priceReply(reply, { ...terms, hold: { amount: BigInt(amount), byok: BigInt(byok) } })
  const bill = Bill.decode(encoded)
  // The turn that was interrupted, so that the lines add up to the charge.
  if (bill.lines.length > 0 && charge.source !== 'none') {
    const { model, provider } = checkpoint.place
    bill.addTurn({ name: model, provider, quantity: 1, durationMs: 0 }, charge)
    return { charge: bill.charge, lines: bill.lines }
  }
  return { charge: addCharges(bill.charge, charge), lines: bill.lines }
}
