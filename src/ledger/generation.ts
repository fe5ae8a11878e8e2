import { type Usage, zeroUsage } from '../call/usage.ts'
import {
  type BucketOf,
  type ColumnOf,
  type GenerationColumn,
  type GenerationTable,
  generationColumns,
  generationTable,
} from '../db/generation-table.ts'
import { type Charge, reportedCostToNanos } from './charge.ts'

type PartName = keyof GenerationParts
type ProvidedColumn = ColumnOf<PartName>

/** The parts that a generation is built from, without copying them into one object for every request. */
export interface GenerationParts {
  draft: Pick<GenerationTable, ColumnOf<'draft'>>
  target: Pick<GenerationTable, ColumnOf<'target'>>
  usage: Pick<GenerationTable, ColumnOf<'usage'>>
  end: GenerationEnd
}

/** How a reply ended; omitted columns are empty. */
export type GenerationEnd = Pick<GenerationTable, 'status'> & Partial<Pick<GenerationTable, ColumnOf<'end'>>>

/** The ledger fills the rest as it writes a generation. */
export const providedColumns = generationColumns.filter(
  (column): column is ProvidedColumn => generationTable[column].part !== 'ledger',
)

const layout = providedColumns.map((column) => ({
  column,
  part: generationTable[column].part as PartName,
  empty: encodeEmpty(column),
}))

/** The values of `providedColumns`. A plain loop: this runs for every column of every reply. */
export function encodeGeneration(parts: GenerationParts): unknown[] {
  const values: unknown[] = []
  for (const { column, part, empty } of layout) {
    const columns: Partial<GenerationTable> = parts[part]
    const value = columns[column]
    values.push(value === undefined ? empty : encodeValue(value))
  }
  return values
}

/** Amounts are digits: both databases convert them, and text can be passed to another thread. */
function encodeValue(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

export function encodeEmpty(column: GenerationColumn): unknown {
  return encodeValue(generationTable[column].empty)
}

export type BucketColumn = {
  [Column in GenerationColumn]: [BucketOf<Column>] extends [never] ? never : Column
}[GenerationColumn]
type Bucket = BucketOf<BucketColumn>

/** The columns that count what was used, and the counter of `Usage` that each of them stores. */
const buckets = generationColumns.flatMap((column): [BucketColumn, Bucket & keyof Usage][] => {
  const { bucket } = generationTable[column]
  return bucket === undefined ? [] : [[column as BucketColumn, bucket]]
})

export const bucketColumns = buckets.map(([column]) => column)

export function toUsageColumns({
  usage,
  units,
  source,
  cost,
  upstream,
  flag,
}: Charge): GenerationParts['usage'] {
  const columns = {
    usage_source: source,
    cost_nanos: cost,
    upstream_cost_nanos: upstream,
    reported_cost_nanos: reportedCostToNanos(usage.reportedCost),
    flag,
    billed_units: units.length > 0 ? JSON.stringify(units) : null,
  } as GenerationParts['usage']
  for (const [column, bucket] of buckets) columns[column] = usage[bucket]
  return columns
}

/** What a generation counted; the rest of `Usage` is not stored. */
export function readUsage(row: Pick<GenerationTable, BucketColumn>): Usage {
  const usage = { ...zeroUsage }
  for (const [column, bucket] of buckets) usage[bucket] = row[column]
  return usage
}
