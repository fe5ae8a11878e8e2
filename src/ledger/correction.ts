import type { Batch, Row, Statement } from '../db/batch.ts'
import { forEach } from '../db/statements.ts'
import type { Amounts } from './book.ts'
import type { Settle } from './engine.ts'
import { type Postings, post } from './posting.ts'
import { factColumns, writeFact } from './rollups/facts.ts'
import { generationColumns, insertCorrected, insertCorrections, replaceGeneration } from './tables.ts'

/** A request is not recorded anew when its record might have been deleted for its age: none goes within a day. */
const mostLateMs = 86_400_000

/** A settlement whose hold is gone, and what it finds in the place of it. */
export interface Late {
  op: Settle
  /** What another node settled in its place; null when that left no record. */
  recorded: Recorded | null
}

interface Recorded {
  cost: bigint
  byok: bigint
  isByok: boolean
  postingId: string | null
  /** What the roll-ups count; null when they have yet to take it up. */
  rolled: string | null
}

/**
 * Finds the settlements that come after another node settled in their place. Those that were carried out before,
 * by whom nobody was told, are not among them.
 */
export async function findLate(
  batch: Batch,
  ops: readonly Settle[],
  now: string,
): Promise<Map<string, Late>> {
  const found = new Map<string, Late>()
  if (ops.length === 0) return found
  const ids = ops.map(({ id }) => id).sort()
  const columns = [...factColumns, 'flag', 'posting_id'].join(', ')
  const select = `select ${columns} from generations where id in ($) order by id for update`
  const rows = new Map((await batch.rows(forEach(select, ids))).map((row) => [String(row.id), row]))
  const late = ops.filter((op) => {
    const row = rows.get(op.id)
    return row ? row.flag === 'interrupted' : isRecent(op, now)
  })
  if (late.length === 0) return found
  const unrolled = await lockUnrolled(batch, late)
  for (const op of late) {
    const row = rows.get(op.id)
    found.set(op.id, { op, recorded: row ? recordedOf(row, unrolled.has(op.id)) : null })
  }
  return found
}

function isRecent({ generation }: Settle, now: string): boolean {
  const createdAt = String(generation?.[generationColumns.indexOf('created_at')])
  return Date.parse(now) - Date.parse(createdAt) < mostLateMs
}

/** Which of them are not rolled up. Nobody rolls up what was read before until this transaction is over. */
async function lockUnrolled(batch: Batch, late: readonly Settle[]): Promise<Set<string>> {
  const sql = `update instance set value = cast(cast(value as bigint) + 1 as text) where name = 'roll_up_steps'`
  await batch.run([{ sql, values: [] }])
  const select = 'select generation_id from unrolled_generations where generation_id in ($)'
  const rows = await batch.rows(
    forEach(
      select,
      late.map(({ id }) => id),
    ),
  )
  return new Set(rows.map((row) => String(row.generation_id)))
}

function recordedOf(row: Row, isUnrolled: boolean): Recorded {
  const isByok = Number(row.is_byok) === 1
  return {
    cost: BigInt(row.cost_nanos as bigint),
    byok: isByok ? BigInt(row.upstream_cost_nanos as bigint) : 0n,
    isByok,
    postingId: row.posting_id === null ? null : String(row.posting_id),
    rolled: isUnrolled ? null : writeFact(row),
  }
}

/** What the meters are to be changed by. */
export function differenceOf({ op: { spent }, recorded }: Late): Amounts {
  return { amount: spent.amount - (recorded?.cost ?? 0n), byok: spent.byok - (recorded?.byok ?? 0n) }
}

/** Gives the record what is known of the reply now, and posts the difference. */
export function correctionStatements(
  { op, recorded }: Late & { recorded: Recorded },
  postings: Postings,
  now: string,
): Statement[] {
  const { id, organizationId, isByok, spent, generation } = op
  const { cost, byok, postingId, rolled } = recorded
  const difference = spent.amount - cost
  const isPosted = difference !== 0n || isByok !== recorded.isByok
  if (isPosted) post(postings, organizationId, recorded.isByok, -cost)
  if (isPosted) post(postings, organizationId, isByok, spent.amount)
  const posting = (isPosted && postings.get(organizationId)?.id) || null
  const own = spent.amount === 0n ? null : (posting ?? postingId)
  return [
    { sql: replaceGeneration, values: [...(generation ?? []), own, now] },
    ...insertCorrections.of([
      [id, organizationId, postingId, String(cost), String(byok), posting, String(difference), now],
    ]),
    ...insertCorrected.of(rolled === null ? [] : [[id, organizationId, rolled]]),
  ]
}
