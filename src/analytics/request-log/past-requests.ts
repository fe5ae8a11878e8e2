import { findNestedIds } from '../../ledger/bill-lines.ts'
import type { AnalyticsStores } from '../stores.ts'
import { findLogPage } from './log.ts'
import type { LogSelection } from './selection.ts'
import type { GenerationRow, LogPosition } from './walk.ts'

const pageSize = 500
/** A dry run ends after this time, with what it has examined. */
const maxMs = 10_000

/**
 * Passes the requests with a record to `examine`, newest first and without nested ones, and returns whether these were
 * all.
 */
export async function examinePastRequests(
  stores: AnalyticsStores,
  selection: LogSelection,
  maxRequests: number,
  examine: (rows: readonly GenerationRow[]) => Promise<void>,
): Promise<boolean> {
  const endsAt = performance.now() + maxMs
  let examined = 0
  for (let start: LogPosition | null = null; ; ) {
    const limit = Math.min(pageSize, maxRequests - examined)
    const { entries, last } = await findLogPage(stores, selection, { limit, start })
    const rows = entries.flatMap(({ generation }) => generation ?? [])
    const nested = await findNestedIds(
      stores.db,
      rows.map(({ id }) => id),
    )
    const own = rows.filter(({ id }) => !nested.has(id))
    examined += own.length
    await examine(own)
    if (!last) return true
    start = last
    if (examined >= maxRequests || performance.now() > endsAt) return false
  }
}
