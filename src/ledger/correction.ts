import type { Batch, Row, Statement } from '../platform/db/batch.ts'
import { buildListQuery } from '../platform/db/statements.ts'
import type { Amounts } from './amounts.ts'
import type { Settlement } from './engine.ts'
import { listRecordValues } from './generation.ts'
import { type Postings, postCharge } from './posting.ts'
import { insertCorrected, insertCorrections, replaceGeneration } from './tables.ts'
import { encodeUsageRecord, recordColumns } from './usage-record.ts'

/**
 * An older request is not recorded again, because its record may have been deleted for its age; none is
 * deleted within a day.
 */
const maxCorrectionAgeMs = 86_400_000

/** A settlement whose hold is gone, and what was settled instead. */
export interface LateSettlement {
  settlement: Settlement
  /** Charge that another node settled instead; null when that left no record. */
  recorded: RecordedCharge | null
}

interface RecordedCharge {
  cost: bigint
  byok: bigint
  isByok: boolean
  postingId: string | null
  /** Usage record that the roll-ups have counted; null when they have not counted it yet. */
  rolledUp: string | null
}

/**
 * Finds the settlements that arrive after another node settled the same request. Settlements that were
 * committed before without their process learning of it are not among them.
 */
export async function findLateSettlements(
  batch: Batch,
  ops: readonly Settlement[],
  now: string,
): Promise<Map<string, LateSettlement>> {
  const lateSettlements = new Map<string, LateSettlement>()
  if (ops.length === 0) return lateSettlements
  const ids = ops.map(({ id }) => id).sort()
  const columns = [...recordColumns, 'flag', 'posting_id'].join(', ')
  const select = `select ${columns} from generations where id in ($) order by id for update`
  const rows = new Map((await batch.rows(buildListQuery(select, ids))).map((row) => [String(row.id), row]))
  const late = ops.filter((op) => {
    const row = rows.get(op.id)
    return row ? isSettledForAnother(row) : op.isLeftover || isRecent(op, now)
  })
  if (late.length === 0) return lateSettlements
  const unrolled = await lockUnrolled(batch, late)
  for (const settlement of late) {
    const row = rows.get(settlement.id)
    lateSettlements.set(settlement.id, {
      settlement,
      recorded: row ? decodeRecordedCharge(row, unrolled.has(settlement.id)) : null,
    })
  }
  return lateSettlements
}

/** Recognizes a record that another node settled: a node never sets these flags on its own requests. */
function isSettledForAnother({ flag }: Row): boolean {
  return flag === 'interrupted' || flag === 'unrecovered'
}

function isRecent({ generation }: Settlement, now: string): boolean {
  return generation !== null && Date.parse(now) - Date.parse(generation.draft.created_at) < maxCorrectionAgeMs
}

/**
 * Finds the settlements that are not rolled up yet. No node can roll up rows it read earlier until this transaction
 * ends.
 */
async function lockUnrolled(batch: Batch, late: readonly Settlement[]): Promise<Set<string>> {
  const sql = `update instance set value = cast(cast(value as bigint) + 1 as text) where name = 'roll_up_steps'`
  await batch.run([{ sql, values: [] }])
  const select = 'select generation_id from unrolled_generations where generation_id in ($)'
  const rows = await batch.rows(
    buildListQuery(
      select,
      late.map(({ id }) => id),
    ),
  )
  return new Set(rows.map((row) => String(row.generation_id)))
}

function decodeRecordedCharge(row: Row, isUnrolled: boolean): RecordedCharge {
  const isByok = Number(row.is_byok) === 1
  return {
    cost: BigInt(row.cost_nanos as bigint),
    byok: isByok ? BigInt(row.upstream_cost_nanos as bigint) : 0n,
    isByok,
    postingId: row.posting_id === null ? null : String(row.posting_id),
    rolledUp: isUnrolled ? null : encodeUsageRecord(row),
  }
}

/** The change of the meters: the late settlement minus the charge that is recorded. */
export function differenceOf({ settlement: { spent }, recorded }: LateSettlement): Amounts {
  return { amount: spent.amount - (recorded?.cost ?? 0n), byok: spent.byok - (recorded?.byok ?? 0n) }
}

/** Replaces the record with what is known of the reply now, and posts the difference. */
export function buildCorrectionStatements(
  { settlement, recorded }: LateSettlement & { recorded: RecordedCharge },
  postings: Postings,
  now: string,
): Statement[] {
  const { id, organizationId, isByok, spent, generation } = settlement
  const { cost, byok, postingId, rolledUp } = recorded
  const difference = spent.amount - cost
  const isPosted = difference !== 0n || isByok !== recorded.isByok
  if (isPosted) postCharge(postings, organizationId, recorded.isByok, -cost)
  if (isPosted) postCharge(postings, organizationId, isByok, spent.amount)
  const posting = (isPosted && postings.get(organizationId)?.id) || null
  const ownPosting = spent.amount === 0n ? null : (posting ?? postingId)
  return [
    // Those of the interrupted request; the bill of the whole one follows with its other statements.
    { sql: 'delete from generation_lines where generation_id = $1', values: [id] },
    {
      sql: replaceGeneration,
      values: [...(generation ? listRecordValues(generation) : []), ownPosting, now],
    },
    ...insertCorrections.forRows([
      [id, organizationId, postingId, String(cost), String(byok), posting, String(difference), now],
    ]),
    ...insertCorrected.forRows(rolledUp === null ? [] : [[id, organizationId, rolledUp]]),
  ]
}
