import { type Selectable, sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { LedgerEntryTable } from '../platform/db/schema.ts'
import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import { maxUsd } from '../platform/money/money.ts'

/**
 * Double entry. `funding` adds to an organization's `credits`; charges move them to `revenue`, or to
 * `byok_fees` where a BYOK key pays the provider. Every transaction sums to zero, and entries are only ever
 * added; old charges are replaced by their sums (`compaction.ts`).
 */
export type Account = 'credits' | 'funding' | 'revenue' | 'byok_fees'

export const fundingKinds = ['grant', 'purchase', 'adjustment'] as const

/** A purchase counts toward the limits of free models; a grant does not; an adjustment corrects either. */
export type FundingKind = (typeof fundingKinds)[number]

export interface Funding {
  organizationId: string
  kind: FundingKind
  amount: bigint
  note: string | null
  /** Posting the same transaction again changes nothing. */
  transactionId: string
  at: string
}

const maxNanos = BigInt(maxUsd) * 1_000_000_000n

/** Adds credits, once for each transaction id. */
export async function postFunding(db: Db, funding: Funding): Promise<void> {
  await assertInRange(db, funding)
  const lines: [Account, bigint][] = [
    ['credits', funding.amount],
    ['funding', -funding.amount],
  ]
  await db
    .insertInto('ledger_entries')
    .values(
      lines.map(([account, amount]) => ({
        transaction_id: funding.transactionId,
        organization_id: funding.organizationId,
        account,
        amount_nanos: amount,
        kind: funding.kind,
        note: funding.note,
        created_at: funding.at,
      })),
    )
    .onConflict((conflict) => conflict.columns(['transaction_id', 'account']).doNothing())
    .execute()
}

/** Funding is never removed, and a sum beyond 64 bits could not be read. */
async function assertInRange(db: Db, { organizationId, kind, amount }: Funding): Promise<void> {
  const sum = (await loadFundingTotals(db, organizationId)).get(kind) ?? 0n
  if (sum + amount > maxNanos || sum + amount < -maxNanos) {
    throw invalidFieldError('amount', `would take the sum of every ${kind} beyond ${maxUsd} USD`)
  }
}

export interface PostedFunding extends Funding {
  /** The organization's credits right after this was posted. */
  totalCredits: bigint
}

export async function findFunding(db: Db, transactionId: string): Promise<PostedFunding | undefined> {
  const entry = await db
    .selectFrom('ledger_entries')
    .selectAll()
    .where('transaction_id', '=', transactionId)
    .where('account', '=', 'credits')
    .where('kind', 'in', fundingKinds)
    .executeTakeFirst()
  if (!entry) return undefined
  return {
    organizationId: entry.organization_id,
    kind: entry.kind as FundingKind,
    amount: entry.amount_nanos,
    note: entry.note,
    transactionId: entry.transaction_id,
    at: entry.created_at,
    totalCredits: sumAmounts(await loadFundingTotals(db, entry.organization_id, entry.id)),
  }
}

export interface CreditTotals {
  total: bigint
  purchased: bigint
}

export async function loadCreditTotals(db: Db, organizationId: string): Promise<CreditTotals> {
  const totals = await loadFundingTotals(db, organizationId)
  return { total: sumAmounts(totals), purchased: totals.get('purchase') ?? 0n }
}

function sumAmounts(totals: Map<string, bigint>): bigint {
  return totals.values().reduce((sum, amount) => sum + amount, 0n)
}

/** Credits an organization received, by kind; with `lastEntry`, up to and including that entry. */
async function loadFundingTotals(
  db: Db,
  organizationId: string,
  lastEntry?: number,
): Promise<Map<string, bigint>> {
  let query = db
    .selectFrom('ledger_entries')
    .select(['kind', (eb) => eb.fn.sum<bigint>('amount_nanos').as('sum_nanos')])
    .where('organization_id', '=', organizationId)
    .where('account', '=', 'credits')
    .where('kind', 'in', fundingKinds)
    .groupBy('kind')
  if (lastEntry !== undefined) query = query.where('id', '<=', lastEntry)
  return new Map((await query.execute()).map((row) => [row.kind, row.sum_nanos]))
}

export type CreditEntry = Selectable<LedgerEntryTable>

export const creditEntryKinds = [...fundingKinds, 'charge'] as const

interface EntrySelection {
  kind: (typeof creditEntryKinds)[number] | null
  from: string | null
  /** Exclusive. */
  to: string | null
  /** The last entry of the page before. */
  before: Pick<CreditEntry, 'created_at' | 'id'> | null
  limit: number
}

/** Lists additions to the credits of an organization and charges to them, newest first. */
export function listCreditEntries(
  db: Db,
  organizationId: string,
  { kind, from, to, before, limit }: EntrySelection,
): Promise<CreditEntry[]> {
  let query = db
    .selectFrom('ledger_entries')
    .selectAll()
    .where('organization_id', '=', organizationId)
    // A literal, because with a parameter the partial index is not used.
    .where(sql<boolean>`account = 'credits'`)
  // Charges are many: the expression keeps planners from sorting all of them. The others are few.
  if (kind === 'charge') query = query.where(sql<boolean>`kind || '' = 'charge'`)
  else if (kind) query = query.where('kind', '=', kind)
  if (from !== null) query = query.where('created_at', '>=', from)
  if (to !== null) query = query.where('created_at', '<', to)
  if (before) query = query.where(sql<boolean>`(created_at, id) < (${before.created_at}, ${before.id})`)
  return query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
}
