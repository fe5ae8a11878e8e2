import type { HistogramName, LabelName, MeasureName } from '../../ledger/usage-record.ts'
import { numberLabels } from '../../ledger/usage-record.ts'
import type { Filter, RollupQuery } from '../rollups/aggregator.ts'
import { type Column, createNumberColumn, createTextColumn } from '../rollups/column.ts'
import type { Distribution } from '../rollups/histogram.ts'
import type { RollupSegment } from '../rollups/segment.ts'
import { millisecondsOf, quoteList, quoteText, quoteTime } from './sql.ts'
import { histogramColumn, labelColumn, measureColumn, stepColumn, usageTable } from './usage-table.ts'

export interface UsageSelection {
  organizationId: string
  query: RollupQuery
  /** Generations that are read from the database. */
  excluded: readonly string[]
}

const dayMs = 86_400_000
const countMeasure: MeasureName = 'requests'

/** A query, and how its rows are read. */
export interface UsageStatement {
  sql: string
  labels: readonly LabelName[]
  measures: readonly MeasureName[]
  histograms: readonly HistogramName[]
}

/**
 * Sums by everything that the dimensions and filters read. The filters themselves are applied to the groups, by the same
 * code as to the roll-ups; those that name values reduce what ClickHouse reads as well.
 */
export function buildUsageStatement({ organizationId, query, excluded }: UsageSelection): UsageStatement {
  const labels = listLabels(query)
  const measures = query.measures.filter((name) => name !== countMeasure)
  const { histograms } = query
  const selected = [
    `${bucketOf(query)} AS bucket`,
    ...labels.map(labelColumn),
    'count()',
    ...measures.map((name) => `sum(${measureColumn(name)})`),
    ...histograms.flatMap(selectDistribution),
  ]
  const conditions = [
    `organization_id = ${quoteText(organizationId)}`,
    `time >= ${quoteTime(query.from)}`,
    `time < ${quoteTime(query.to)}`,
    ...query.filters.flatMap((filter) => buildCondition(filter) ?? []),
    ...buildAlternatives(query.alternatives ?? []),
    ...(excluded.length === 0 ? [] : [`id NOT IN ${quoteList(excluded)}`]),
  ]
  const sql = `SELECT ${selected.join(', ')}
FROM ${usageTable} FINAL
WHERE ${conditions.join(' AND ')}
GROUP BY ${['bucket', ...labels.map(labelColumn)].join(', ')}`
  return { sql, labels, measures, histograms }
}

function listLabels({ dimensions, filters, alternatives = [] }: RollupQuery): LabelName[] {
  const columns = [...dimensions, ...filters, ...alternatives.flat()].map(({ column }) => column)
  return [...new Set(columns)].filter((column) => column !== 'none' && column !== 'id')
}

/** The first day of a bucket, or the time of a shorter one. */
function bucketOf({ granularity, from }: RollupQuery): string {
  if (granularity === null) return quoteText(new Date(from).toISOString().slice(0, 10))
  if (granularity === 'minute') return startOf(60_000)
  if (granularity === 'hour') return startOf(3_600_000)
  if (granularity === 'day') return 'toString(toDate(time))'
  return granularity === 'week' ? 'toString(toMonday(time))' : 'toString(toStartOfMonth(time))'
}

function startOf(lengthMs: number): string {
  return `toString(intDiv(${millisecondsOf('time')}, ${lengthMs}) * ${lengthMs})`
}

function selectDistribution(name: HistogramName): string[] {
  const isPresent = `${stepColumn(name)} >= 0`
  return [
    `sumMapIf([${stepColumn(name)}], [toUInt64(1)], ${isPresent})`,
    `sumIf(${histogramColumn(name)}, ${isPresent})`,
  ]
}

/** Null where the filter does not name its values. */
function buildCondition({ column, values }: Filter): string | null {
  if (!values || column === 'none' || column === 'id') return null
  const name = labelColumn(column)
  const known = isNumber(column) ? values.flatMap((value) => toInteger(value)) : values.map(quoteText)
  const isOne = known.length === 0 ? '0' : `${name} IN (${known.join(', ')})`
  return `(${isOne})`
}

/** Values that are no number match no number. */
function toInteger(value: string): string[] {
  return /^-?\d{1,18}$/.test(value) ? [value] : []
}

function buildAlternatives(alternatives: readonly (readonly Filter[])[]): string[] {
  if (alternatives.length === 0) return []
  const all = alternatives.map((filters) => filters.flatMap((filter) => buildCondition(filter) ?? []))
  if (all.some((conditions) => conditions.length === 0)) return []
  return [`(${all.map((conditions) => `(${conditions.join(' AND ')})`).join(' OR ')})`]
}

function isNumber(label: LabelName): boolean {
  return Object.hasOwn(numberLabels, label)
}

/** A row of the result. */
interface UsageRow {
  /** Milliseconds since the start of the day. */
  time: number
  labels: unknown[]
  /** The requests, then the measures of the statement. */
  sums: number[]
  distributions: (Distribution | null)[]
}

/** Sums are added as doubles, which are exact up to this. */
const maxExact = BigInt(Number.MAX_SAFE_INTEGER)

/** Converts a result into segments, as the roll-ups have them. Their rows are within the period. */
export function* toSegments(
  statement: UsageStatement,
  rows: readonly unknown[][],
  { granularity }: RollupQuery,
): Generator<RollupSegment> {
  const isByTime = granularity === 'minute' || granularity === 'hour'
  const byDay = Map.groupBy(rows, ([bucket]) =>
    isByTime ? new Date(Number(bucket)).toISOString().slice(0, 10) : String(bucket),
  )
  for (const [day, ofDay] of byDay) {
    const parsed = ofDay.flatMap((row) => [...splitRow(parseRow(statement, row, isByTime))])
    yield buildSegment(statement, day, parsed)
  }
}

function parseRow(
  { labels, measures, histograms }: UsageStatement,
  row: readonly unknown[],
  isByTime: boolean,
) {
  const sumsAt = 1 + labels.length
  const distributionsAt = sumsAt + 1 + measures.length
  return {
    time: isByTime ? Number(row[0]) % dayMs : 0,
    labels: row.slice(1, sumsAt),
    sums: row.slice(sumsAt, distributionsAt).map((sum) => BigInt(String(sum))),
    distributions: histograms.map((_, index) =>
      parseDistribution(row[distributionsAt + 2 * index], row[distributionsAt + 2 * index + 1]),
    ),
  }
}

function parseDistribution(map: unknown, total: unknown): Distribution {
  const [steps, counts] = map as [unknown[], unknown[]]
  return { steps: steps.map(Number), counts: counts.map(Number), total: Number(total) }
}

/** A sum that a double would round is split into rows of the same group. */
function* splitRow({ sums, distributions, ...rest }: ReturnType<typeof parseRow>): Generator<UsageRow> {
  let left = sums
  let isFirst = true
  do {
    const part = left.map((sum) => (sum > maxExact ? maxExact : sum < -maxExact ? -maxExact : sum))
    yield {
      ...rest,
      sums: part.map(Number),
      distributions: distributions.map((some) => (isFirst ? some : null)),
    }
    left = left.map((sum, index) => sum - (part[index] ?? 0n))
    isFirst = false
  } while (left.some((sum) => sum !== 0n))
}

function buildSegment(
  { labels, measures, histograms }: UsageStatement,
  day: string,
  rows: readonly UsageRow[],
): RollupSegment {
  const columns = new Map<string, Column>([['time', createNumberColumn(rows.map(({ time }) => time))]])
  for (const [index, name] of labels.entries()) {
    const values = rows.map((row) => row.labels[index] ?? null)
    columns.set(
      name,
      isNumber(name)
        ? createNumberColumn(values.map(Number))
        : createTextColumn(values.map((value) => (value === null ? null : String(value)))),
    )
  }
  for (const [index, name] of [countMeasure, ...measures].entries())
    columns.set(name, createNumberColumn(rows.map((row) => row.sums[index] ?? 0)))
  const distributions = new Map(
    histograms.map((name, index) => [name, rows.map((row) => row.distributions[index] ?? null)]),
  )
  return { day, size: rows.length, columns, distributions, isWithinPeriod: true }
}
