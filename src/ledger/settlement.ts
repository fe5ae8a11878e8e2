import type { Statement } from '../platform/db/batch.ts'
import type { BillLine } from './bill.ts'
import type { Charge } from './charge.ts'
import type { Settlement } from './engine.ts'
import { type DraftColumns, encodeOutcome, type GenerationEnd, type TargetColumns } from './generation.ts'

/** The parts of a generation's record. */
export interface SettledGeneration {
  draft: DraftColumns
  target: TargetColumns
  end: GenerationEnd
  charge: Charge
  /** The bill, where only the record of a lost request has it. */
  lines?: readonly BillLine[]
}

/** Settles the hold of a request: charges for it and records it. */
export function buildSettlement(
  { draft, target, end, charge }: SettledGeneration,
  meteredIn: Settlement['meteredIn'],
  extraStatements: readonly Statement[],
  uncharged: readonly string[] = [],
): Settlement {
  return {
    op: 'settle',
    id: draft.id,
    organizationId: draft.organization_id,
    isByok: target.is_byok === 1,
    spent: { amount: charge.cost, byok: charge.byok },
    generation: { draft, outcome: encodeOutcome(target, charge, end) },
    meteredIn: meteredIn && uncharged.length > 0 ? withoutSubjects(meteredIn, uncharged) : meteredIn,
    extraStatements,
    ...(uncharged.length > 0 && { uncharged }),
  }
}

function withoutSubjects(
  { subjects, day }: NonNullable<Settlement['meteredIn']>,
  uncharged: readonly string[],
): Settlement['meteredIn'] {
  return { subjects: subjects.filter((subject) => !uncharged.includes(subject)), day }
}

/** Releases a hold whose request reached no provider. */
export function createRelease(id: string, organizationId: string): Settlement {
  return {
    op: 'settle',
    id,
    organizationId,
    isByok: false,
    spent: { amount: 0n, byok: 0n },
    generation: null,
    meteredIn: null,
    extraStatements: [],
  }
}
