import type { Db } from '../db/db.ts'

/**
 * Double entry. An organization's `credits` grow when `funding` gives them; charges will move them to
 * `revenue`. Every transaction sums to zero, and entries are only ever added.
 */
export type Account = 'credits' | 'funding'

/** A purchase counts towards the limits of free models; a grant does not; an adjustment corrects either. */
export type FundingKind = 'purchase' | 'grant' | 'adjustment'

export interface Funding {
  organizationId: string
  kind: FundingKind
  amount: bigint
  note: string | null
  /** Posting the same transaction again changes nothing. */
  transactionId: string
  at: string
}

/** Adds credits once; false when this transaction was posted before. */
export async function postFunding(db: Db, funding: Funding): Promise<boolean> {
  const lines: [Account, bigint][] = [
    ['credits', funding.amount],
    ['funding', -funding.amount],
  ]
  const inserted = await db
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
    .executeTakeFirst()
  return (inserted.numInsertedOrUpdatedRows ?? 0n) > 0n
}

export interface CreditTotals {
  total: bigint
  purchased: bigint
}

export async function creditTotals(db: Db, organizationId: string): Promise<CreditTotals> {
  const rows = await db
    .selectFrom('ledger_entries')
    .select(['kind', (eb) => eb.fn.sum<bigint>('amount_nanos').as('sum_nanos')])
    .where('organization_id', '=', organizationId)
    .where('account', '=', 'credits')
    .groupBy('kind')
    .execute()
  const sum = (kinds: string[]) =>
    rows.reduce((total, row) => (kinds.includes(row.kind) ? total + row.sum_nanos : total), 0n)
  return { total: sum(['purchase', 'grant', 'adjustment']), purchased: sum(['purchase']) }
}
