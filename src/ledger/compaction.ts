import { sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { LedgerEntryTable } from '../db/schema.ts'

/** Few enough that nobody who waits for the database notices, with the generations that name their postings. */
const entriesAtOnce = 200

/** The id of the last entry that was looked at. */
const compactedName = 'entries_compacted'

type Entry = Pick<
  LedgerEntryTable,
  'transaction_id' | 'organization_id' | 'account' | 'amount_nanos' | 'created_at'
>

/**
 * Replaces the charges posted until then by one posting for each organization and UTC day, which stands for their
 * sums and says how many there were and from when to when. Generations that still exist name it from then on.
 * Gives how many entries were replaced.
 */
export async function compactEntries(db: Db, until: string, most = entriesAtOnce): Promise<number> {
  for (let replaced = 0; ; ) {
    const step = await compactNext(db, until, most)
    if (step === null) return replaced
    replaced += step
  }
}

/** Null when there is nothing left to do. */
async function compactNext(db: Db, until: string, most: number): Promise<number | null> {
  const from = await compactedUntil(db)
  const next = await db
    .selectFrom('ledger_entries')
    .select(['id', 'transaction_id', 'kind', 'entry_count', 'created_at'])
    .where('id', '>', Number(from))
    .orderBy('id')
    .limit(most)
    .execute()
  // Funding stays as it is, and so does what is compacted already.
  const isCharge = (row: (typeof next)[number]) => row.kind === 'charge' && row.entry_count === null
  const end = next.findIndex((row) => isCharge(row) && row.created_at > until)
  const rows = end < 0 ? next : next.slice(0, end)
  const last = rows.at(-1)
  if (!last) return null
  const postings = [...new Set(rows.filter(isCharge).map((row) => row.transaction_id))]
  return db.transaction().execute(async (tx) => {
    if (!(await advance(tx, from, String(last.id)))) return 0
    return postings.length === 0 ? 0 : replacePostings(tx, postings)
  })
}

async function compactedUntil(db: Db): Promise<string> {
  const row = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', compactedName)
    .executeTakeFirstOrThrow()
  return row.value
}

/** Whoever moves the mark has the entries behind it: another node that read the same ones finds it moved. */
async function advance(tx: Db, from: string, to: string): Promise<boolean> {
  const result = await tx
    .updateTable('instance')
    .set({ value: to })
    .where('name', '=', compactedName)
    .where('value', '=', from)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

async function replacePostings(tx: Db, postings: string[]): Promise<number> {
  const entries = await tx
    .selectFrom('ledger_entries')
    .select(['transaction_id', 'organization_id', 'account', 'amount_nanos', 'created_at'])
    .where('transaction_id', 'in', postings)
    .execute()
  await tx.deleteFrom('ledger_entries').where('transaction_id', 'in', postings).execute()
  for (const [id, replaced] of Map.groupBy(entries, summaryId)) {
    for (const [account, own] of Map.groupBy(replaced, (entry) => entry.account)) {
      await addToSummary(tx, id, account, own)
    }
    await renamePostings(tx, id, replaced)
  }
  return entries.length
}

function summaryId({ organization_id, created_at }: Entry): string {
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

/** A posting and its generations have one time: there is an index by it. */
async function renamePostings(tx: Db, id: string, entries: readonly Entry[]): Promise<void> {
  const { from, to } = spanOf(entries)
  const postings = [...new Set(entries.map((entry) => entry.transaction_id))]
  await tx
    .updateTable('generations')
    .set({ posting_id: id })
    .where('ended_at', '>=', from)
    .where('ended_at', '<=', to)
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
