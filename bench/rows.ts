import type { CandidateName } from './candidates.ts'

export interface RowName {
  id: string
  title: string
}

/** Rows that are not a load on a running gateway; each is measured in processes of its own. */
export const separateRows = [
  { id: 'open-streams', title: 'idle memory, and memory of open streams' },
  { id: 'allocations', title: 'memory that a small request allocates' },
] as const satisfies RowName[]

/** The rows with one of these ids; for a name that is no id, those with the text in their id or title. */
export function selectRows<T extends RowName>(rows: readonly T[], names: string[]): T[] {
  if (names.length === 0) return [...rows]
  const selected = names.flatMap((name) => {
    const exact = rows.filter(({ id }) => id === name)
    const found = exact.length > 0 ? exact : rows.filter((row) => hasText(row, name))
    if (found.length === 0) throw new Error(`No row is named "${name}". --list shows all rows.`)
    return found
  })
  return rows.filter((row) => selected.includes(row))
}

function hasText({ id, title }: RowName, text: string): boolean {
  return `${id}\n${title}`.toLowerCase().includes(text.toLowerCase())
}

/** Selects the candidates to measure unless the caller names some. */
export function defaultCandidates(
  all: readonly CandidateName[],
  { isComparison, hasSelection }: { isComparison: boolean; hasSelection: boolean },
): CandidateName[] {
  if (isComparison) return ['headgate', 'against']
  if (hasSelection) return ['direct', 'relay', 'headgate']
  return all.filter((name) => name !== 'against')
}
