import {
  type HistogramName,
  histogramNames,
  histograms,
  type LabelName,
  type MeasureName,
  measureNames,
  measures,
  numberLabels,
  textLabels,
  type UsageRecord,
} from '../../ledger/usage-record.ts'
import { findHistogramBucket } from '../rollups/histogram.ts'

/** One row for each request, with what the roll-ups have of it. */
export const usageTable = 'headgate_usage'

/** Labels with a value for nearly every request would not fit into a dictionary. */
const labelTypes: Partial<Record<LabelName, string>> = {
  external: 'Nullable(String)',
  tags: 'Nullable(String)',
}
const textNames = Object.keys(textLabels) as (keyof typeof textLabels)[]
const numberNames = Object.keys(numberLabels) as (keyof typeof numberLabels)[]
/** The number of rows. */
const countMeasure: MeasureName = 'requests'
export const storedMeasures = measureNames.filter((name) => name !== countMeasure)

export function labelColumn(name: LabelName): string {
  return `label_${name}`
}

export function measureColumn(name: MeasureName): string {
  return `sum_${name}`
}

/** -1 where the request has no value. */
export function histogramColumn(name: HistogramName): string {
  return `value_${name}`
}

/** The step of the distribution that the value is counted in. */
export function stepColumn(name: HistogramName): string {
  return `step_${name}`
}

interface UsageColumn {
  name: string
  type: string
}

/** Columns of both tables that decide which row of a generation counts. */
export const versionColumns: readonly UsageColumn[] = [
  { name: 'version', type: 'UInt64' },
  { name: 'is_deleted', type: 'UInt8' },
]

export const usageColumns: readonly UsageColumn[] = [
  { name: 'organization_id', type: 'String' },
  { name: 'time', type: "DateTime64(3, 'UTC')" },
  { name: 'id', type: 'String' },
  ...versionColumns,
  ...textNames.map((name) => ({
    name: labelColumn(name),
    type: labelTypes[name] ?? 'LowCardinality(Nullable(String))',
  })),
  ...numberNames.map((name) => ({ name: labelColumn(name), type: 'Int64' })),
  ...storedMeasures.map((name) => ({ name: measureColumn(name), type: 'Int64' })),
  ...histogramNames.flatMap((name) => [
    { name: histogramColumn(name), type: 'Int64' },
    { name: stepColumn(name), type: 'Int16' },
  ]),
]

/** Computed by the functions that the roll-ups are computed by. */
export function encodeUsage(record: UsageRecord, version: number): unknown[] {
  return [
    ...encodeIdentity(record, record.created_at, version, 0),
    ...textNames.map((name) => textLabels[name](record)),
    ...numberNames.map((name) => numberLabels[name](record)),
    ...storedMeasures.map((name) => measures[name](record)),
    ...histogramNames.flatMap((name) => {
      const value = histograms[name](record) - 1
      return [value, value < 0 ? -1 : findHistogramBucket(value)]
    }),
  ]
}

/** A row that removes the one under an earlier arrival. */
export function encodeRemovedUsage(record: UsageRecord, arrival: string, version: number): unknown[] {
  const rest = usageColumns.slice(3 + versionColumns.length)
  return [
    ...encodeIdentity(record, arrival, version, 1),
    ...rest.map(({ type }) => (type.includes('Nullable') ? null : 0)),
  ]
}

function encodeIdentity(
  { organization_id, id }: UsageRecord,
  arrival: string,
  version: number,
  isDeleted: 0 | 1,
) {
  return [organization_id, arrival, id, version, isDeleted]
}
