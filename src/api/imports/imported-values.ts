import { isOpeningOutdated, type OpeningSpend, updateOpening } from '../../ledger/opening-spend.ts'
import type { ImportTransaction } from './import-catalog.ts'
import type { ItemOutcome } from './import-plan.ts'
import { findImported, type ImportedFields, rememberImported } from './imported-values-store.ts'

interface ExistingRecord<Fields extends ImportedFields> {
  item: Pick<ItemOutcome, 'kind' | 'name'>
  /** Identifies the record, such as `key:7`. */
  subject: string
  current: Fields
  planned: Fields
  opening: OpeningSpend | null
  apply: (changes: Partial<Fields>) => Promise<void>
}

/**
 * Brings a record that was imported up to date. What was changed here since stays, and so does every record that no
 * import has created.
 */
export async function mergeExisting<Fields extends ImportedFields>(
  input: ImportTransaction,
  { item, subject, current, planned, opening, apply }: ExistingRecord<Fields>,
): Promise<ItemOutcome> {
  const before = await findImported(input, subject)
  if (!before) return { ...item, outcome: 'existing', message: null }
  const names = Object.keys(planned).filter((name) => planned[name] !== before[name])
  const local = names.filter((name) => current[name] !== before[name] && current[name] !== planned[name])
  const changed = names.filter((name) => current[name] === before[name])
  const spend = opening && (await describeSpend(input, opening))
  if (changed.length > 0)
    await apply(Object.fromEntries(changed.map((name) => [name, planned[name]])) as Partial<Fields>)
  if (names.length > 0) await rememberImported(input, subject, planned)
  const parts = [
    ...(changed.length > 0 ? [`${changed.join(', ')}: as there now`] : []),
    ...(local.length > 0 ? [`${local.join(', ')}: was changed here, which stays`] : []),
    ...(spend ? [spend.message] : []),
  ]
  return {
    ...item,
    outcome: changed.length > 0 || spend?.isUpdated ? 'updated' : 'existing',
    message: parts.length > 0 ? parts.join('; ') : null,
  }
}

async function describeSpend({ gateway, tx, openings }: ImportTransaction, opening: OpeningSpend) {
  if (!(await isOpeningOutdated(tx, gateway.clock, opening))) return null
  if (!openings)
    return {
      isUpdated: false,
      message: 'has spent more there: stop the server, because it has the spend in memory, and import again',
    }
  openings.push(opening)
  return { isUpdated: true, message: 'spend: as there now' }
}

/** The last changes of the transaction, in the order in which the ledger locks meters. */
export async function updateOpenings({ gateway, tx, openings }: ImportTransaction): Promise<void> {
  const sorted = (openings ?? []).toSorted((a, b) => (a.subject < b.subject ? -1 : 1))
  for (const opening of sorted) await updateOpening(tx, gateway.clock, opening)
}
