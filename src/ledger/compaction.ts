import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { LedgerEntryTable } from '../platform/db/schema.ts'

/**
 * Small enough that other users of the database do not notice, with the generations that name the postings.
 */
const defaultMaxEntries = 200

/** The rest waits for the next run: other tasks may be waiting on the same thread. */
const defaultMaxRunMs = 30_000

type Entry = Pick<
  LedgerEntryTable,
  'transaction_id' | 'organization_id' | 'account' | 'amount_nanos' | 'created_at'
>

/**
 * Replaces the charges posted before a time by one posting for each organization and UTC day, which has their
 * sums, their number, and the time of the first and last. Generations that still exist refer to it from then
 * on. Returns how many entries were replaced.
 */
export async function compactEntries(
  db: Db,
  until: string,
  { maxEntries = defaultMaxEntries, maxRunMs = defaultMaxRunMs } = {},
): Promise<number> {
  const deadline = performance.now() + maxRunMs
  let replaced = 0
  for (;;) {
    const step = await db.transaction().execute((tx) => compactNext(tx, until, maxEntries))
    replaced += step
    if (step === 0 || performance.now() >= deadline) return replaced
  }
}

async function compactNext(tx: Db, until: string, maxEntries: number): Promise<number> {
  await acquireCompactionLock(tx)
  const next = await tx
    .selectFrom('ledger_entries')
    .select('transaction_id')
    // Literals, because with parameters the partial index is not used.
    .where(sql<boolean>`kind = 'charge' and entry_count is null`)
    .where('created_at', '<=', until)
    .orderBy('created_at')
    .limit(maxEntries)
    .execute()
  const postings = [...new Set(next.map((entry) => entry.transaction_id))]
  return postings.length === 0 ? 0 : replacePostings(tx, postings)
}

/** Serializes nodes that share the database: others wait here until the transaction ends. */
async function acquireCompactionLock(tx: Db): Promise<void> {
  await tx
    .updateTable('instance')
    .set({ value: sql<string>`cast(cast(value as bigint) + 1 as text)` })
    .where('name', '=', 'compaction_steps')
    .execute()
}

async function replacePostings(tx: Db, postings: string[]): Promise<number> {
  const entries = await tx
    .selectFrom('ledger_entries')
    .select(['transaction_id', 'organization_id', 'account', 'amount_nanos', 'created_at'])
    .where('transaction_id', 'in', postings)
    .execute()
  await tx.deleteFrom('ledger_entries').where('transaction_id', 'in', postings).execute()
  for (const [id, replaced] of Map.groupBy(entries, summaryIdOf)) {
    for (const [account, ofAccount] of Map.groupBy(replaced, (entry) => entry.account)) {
      await addToSummary(tx, id, account, ofAccount)
    }
    await relinkGenerations(tx, id, replaced)
  }
  return entries.length
}

function summaryIdOf({ organization_id, created_at }: Entry): string {
  return `charges-${created_at.slice(0, 10)}-${organization_id}`
}

async function addToSummary(tx: Db, id: string, account: string, entries: readonly Entry[]): Promise<void> {
  const [first] = entries
  if (!first) return
  const { from, to } = spanOf(entries)
  await tx
    .insertInto('ledger_entries')
    .values({
      transaction_id: id,
      organization_id: first.organization_id,
      account,
      amount_nanos: entries.reduce((sum, { amount_nanos }) => sum + amount_nanos, 0n),
      kind: 'charge',
      note: null,
      created_at: from,
      entry_count: entries.length,
      last_entry_at: to,
    })
    .onConflict((conflict) =>
      conflict.columns(['transaction_id', 'account']).doUpdateSet({
        amount_nanos: sql<bigint>`ledger_entries.amount_nanos + excluded.amount_nanos`,
        entry_count: sql<number>`ledger_entries.entry_count + excluded.entry_count`,
        created_at: sql<string>`case when excluded.created_at < ledger_entries.created_at
          then excluded.created_at else ledger_entries.created_at end`,
        last_entry_at: sql<string>`case when excluded.last_entry_at > ledger_entries.last_entry_at
          then excluded.last_entry_at else ledger_entries.last_entry_at end`,
      }),
    )
    .execute()
}

/**
 * A posting and its generations have the same time, which is indexed; a corrected generation has a later one.
 */
async function relinkGenerations(tx: Db, id: string, entries: readonly Entry[]): Promise<void> {
  const { from, to } = spanOf(entries)
  const postings = [...new Set(entries.map((entry) => entry.transaction_id))]
  await tx
    .updateTable('generations')
    .set({ posting_id: id })
    .where('ended_at', '>=', from)
    .where('ended_at', '<=', to)
    .where('posting_id', 'in', postings)
    .execute()
  await tx
    .updateTable('generations')
    .set({ posting_id: id })
    .where('id', 'in', (from) =>
      from.selectFrom('corrections').select('generation_id').where('previous_posting_id', 'in', postings),
    )
    .where('posting_id', 'in', postings)
    .execute()
  for (const column of ['posting_id', 'previous_posting_id'] as const) {
    await tx
      .updateTable('corrections')
      .set({ [column]: id })
      .where(column, 'in', postings)
      .execute()
  }
}

function spanOf(entries: readonly Entry[]): { from: string; to: string } {
  const times = entries.map((entry) => entry.created_at).sort()
  return { from: times[0] ?? '', to: times.at(-1) ?? '' }
}
