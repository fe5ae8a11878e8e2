import type { Row } from '../platform/db/batch.ts'
import { generationColumns, generationTable } from '../platform/db/generation-table.ts'
import type { CorrectionTable, HoldTable, MeterDayTable, MeterTable } from '../platform/db/schema.ts'
import { buildAddClause, buildReplaceClause, InsertStatement } from '../platform/db/statements.ts'
import { encodeEmpty } from './generation.ts'
import type { Hold } from './ledger-state.ts'
import { type DayTotals, type Meter, newMeter, type WindowTotals } from './meter.ts'

/** Repeating a settlement changes nothing. */
export const insertGenerations = createGenerationInsert(generationColumns)

export function createGenerationInsert(columns: readonly string[]): InsertStatement {
  return new InsertStatement('generations', columns, 'on conflict (id) do nothing')
}

/** Written with each generation: the roll-ups have yet to count it. */
export const insertUnrolled = new InsertStatement('unrolled_generations', [
  'generation_id',
  'organization_id',
])

/** The same for every generation after a row of SQLite. */
export const insertUnrolledAfter =
  'insert into unrolled_generations (generation_id, organization_id) select id, organization_id from generations where rowid > ?'

/** Marks a generation that the roll-ups have counted with its previous values. */
export const insertCorrected = new InsertStatement('unrolled_generations', [
  'generation_id',
  'organization_id',
  'previous',
])

export const insertCorrections = new InsertStatement('corrections', [
  'generation_id',
  'organization_id',
  'previous_posting_id',
  'previous_cost_nanos',
  'previous_byok_nanos',
  'posting_id',
  'difference_nanos',
  'created_at',
] satisfies (keyof CorrectionTable)[])

/** Sets every column but the id. */
export const replaceGeneration = `update generations set ${generationColumns
  .slice(1)
  .map((column, index) => `${column} = $${index + 2}`)
  .join(', ')} where id = $1`

/** The columns that balances depend on; the others are empty, so that no value of theirs can be rejected. */
export function stripGeneration(columns: readonly string[], values: readonly unknown[]): unknown[] {
  return generationColumns.map((column) =>
    generationTable[column].isEssential ? values[columns.indexOf(column)] : encodeEmpty(column),
  )
}

const holdColumns = [
  'id',
  'owner',
  'subjects',
  'amount_nanos',
  'byok_nanos',
  'day',
  'expires_at',
  'draft',
] as const satisfies readonly (keyof HoldTable)[]

export const insertHolds = new InsertStatement('holds', holdColumns)

/** A lease keeps its row while its amounts change. */
export const writeLeases = new InsertStatement(
  'holds',
  holdColumns,
  'on conflict (id) do update set amount_nanos = excluded.amount_nanos, byok_nanos = excluded.byok_nanos',
)

export const insertEntries = new InsertStatement('ledger_entries', [
  'transaction_id',
  'organization_id',
  'account',
  'amount_nanos',
  'kind',
  'created_at',
])

const meterColumns = [
  'subject',
  'total_nanos',
  'day_nanos',
  'week_nanos',
  'month_nanos',
  'byok_total_nanos',
  'byok_day_nanos',
  'byok_week_nanos',
  'byok_month_nanos',
  'held_total_nanos',
  'held_day_nanos',
  'held_week_nanos',
  'held_month_nanos',
  'held_byok_total_nanos',
  'held_byok_day_nanos',
  'held_byok_week_nanos',
  'held_byok_month_nanos',
  'day',
  'week',
  'month',
  'minute',
  'free_day',
  'free_minute',
  'used_at',
] as const satisfies readonly (keyof MeterTable)[]

export const replaceMeters = new InsertStatement(
  'meters',
  meterColumns,
  buildReplaceClause('subject', meterColumns),
)

const meterDayColumns = [
  'subject',
  'day',
  'spent_nanos',
  'byok_nanos',
  'held_nanos',
  'held_byok_nanos',
  'free',
] as const satisfies readonly (keyof MeterDayTable)[]

/** Adds to existing rows. */
export const addMeterDays = new InsertStatement(
  'meter_days',
  meterDayColumns,
  buildAddClause('meter_days', ['subject', 'day'], meterDayColumns),
)

/** The changes of the other days of a meter. */
export function encodeChangedDays({ subject, changedDays }: Meter): unknown[][] {
  return [...changedDays].map(([day, { spent, byok, held, heldByok, free }]) => [
    subject,
    day,
    ...[spent, byok, held, heldByok].map(String),
    free,
  ])
}

/** The values of `encodeChangedDays` as a row, which is added to the one in the table. */
export function toMeterDayRow(values: readonly unknown[]): Row {
  return Object.fromEntries(meterDayColumns.map((column, index) => [column, values[index]]))
}

export function decodeMeterDay(row: Row): [string, DayTotals] {
  const decodeAmount = (name: string) => BigInt(row[`${name}_nanos`] as bigint)
  const totals = {
    spent: decodeAmount('spent'),
    byok: decodeAmount('byok'),
    held: decodeAmount('held'),
    heldByok: decodeAmount('held_byok'),
  }
  return [String(row.day), { ...totals, free: Number(row.free) }]
}

/** Amounts are digits: both databases convert them, and text can be passed to another thread. */
export function encodeMeter(meter: Meter, usedAt: string): unknown[] {
  return [
    meter.subject,
    ...encodeTotals(meter.spent),
    ...encodeTotals(meter.byok),
    ...encodeTotals(meter.held),
    ...encodeTotals(meter.heldByok),
    meter.day,
    meter.week,
    meter.month,
    meter.minute,
    meter.freeDay,
    meter.freeMinute,
    usedAt,
  ]
}

/** A new row of a meter that no engine has in memory. */
export function toMeterRow(meter: Meter, usedAt: string | null): MeterTable {
  const { subject, day, week, month, minute, spent, byok, held, heldByok } = meter
  return {
    ...{ subject, day, week, month, minute, used_at: usedAt },
    ...{ free_day: meter.freeDay, free_minute: meter.freeMinute },
    ...{ total_nanos: spent.total, day_nanos: spent.day, week_nanos: spent.week, month_nanos: spent.month },
    ...{ byok_total_nanos: byok.total, byok_day_nanos: byok.day },
    ...{ byok_week_nanos: byok.week, byok_month_nanos: byok.month },
    ...{ held_total_nanos: held.total, held_day_nanos: held.day },
    ...{ held_week_nanos: held.week, held_month_nanos: held.month },
    ...{ held_byok_total_nanos: heldByok.total, held_byok_day_nanos: heldByok.day },
    ...{ held_byok_week_nanos: heldByok.week, held_byok_month_nanos: heldByok.month },
  }
}

function encodeTotals({ total, day, week, month }: WindowTotals): string[] {
  return [String(total), String(day), String(week), String(month)]
}

/** Decodes a meter. Integers are bigint from both databases here. */
export function decodeMeter(row: Row): Meter {
  return {
    ...newMeter(String(row.subject)),
    day: String(row.day),
    week: String(row.week),
    month: String(row.month),
    spent: decodeTotals(row, ''),
    byok: decodeTotals(row, 'byok_'),
    held: decodeTotals(row, 'held_'),
    heldByok: decodeTotals(row, 'held_byok_'),
    minute: String(row.minute),
    freeDay: Number(row.free_day),
    freeMinute: Number(row.free_minute),
  }
}

function decodeTotals(row: Row, prefix: string): WindowTotals {
  const sum = (window: string) => BigInt(row[`${prefix}${window}_nanos`] as bigint)
  return { total: sum('total'), day: sum('day'), week: sum('week'), month: sum('month') }
}

export function decodeHold(row: Row): Hold {
  return {
    id: String(row.id),
    subjects: String(row.subjects).split(' '),
    day: String(row.day),
    amount: BigInt(row.amount_nanos as bigint),
    byok: BigInt(row.byok_nanos as bigint),
  }
}
