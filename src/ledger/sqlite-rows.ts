import type { FlushThread } from './flush-thread.ts'
import type { LedgerState } from './ledger-state.ts'
import { newMeter } from './meter.ts'
import { decodeHold, decodeMeter } from './tables.ts'

export async function loadHolds(
  thread: FlushThread,
  state: LedgerState,
  ids: readonly string[],
): Promise<void> {
  const select = 'select id, subjects, day, amount_nanos, byok_nanos from holds where id = ?'
  for (const row of await thread.rows(select, [...ids])) state.holds.set(String(row.id), decodeHold(row))
}

/** Loads meters that are not in memory yet. */
export async function loadMeters(
  thread: FlushThread,
  { meters }: LedgerState,
  subjects: readonly string[],
): Promise<void> {
  const missing = subjects.filter((subject) => !meters.has(subject))
  if (missing.length === 0) return
  const unique = [...new Set(missing)]
  for (const row of await thread.rows('select * from meters where subject = ?', unique)) {
    meters.set(String(row.subject), decodeMeter(row))
  }
  for (const subject of unique) if (!meters.has(subject)) meters.set(subject, newMeter(subject))
}
