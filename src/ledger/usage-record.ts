import type { Selectable } from 'kysely'
import {
  type GenerationColumn,
  type GenerationTable,
  generationColumns,
  generationTable,
  type RollupOf,
} from '../platform/db/generation-table.ts'

export type RecordColumn = {
  [Column in GenerationColumn]: [RollupOf<Column>] extends [never] ? never : Column
}[GenerationColumn]

/** The columns of a generation that the roll-ups read. */
export const recordColumns = generationColumns.filter(
  (column): column is RecordColumn => generationTable[column].rollup !== undefined,
)

/** `sign` is -1 where it reverses what an earlier one counted. */
export type UsageRecord = Pick<Selectable<GenerationTable>, RecordColumn> & { sign?: -1 }

/** A row of `generations` as JSON that `decodeReversal` reads. */
export function encodeUsageRecord(row: Readonly<Record<string, unknown>>): string {
  const values = recordColumns.map((column) => [column, row[column]])
  return JSON.stringify(Object.fromEntries(values), (name, value: unknown) =>
    typeof value !== 'bigint' ? value : name.endsWith('_nanos') ? String(value) : Number(value),
  )
}

/** Decodes a record that a correction reverses. */
export function decodeReversal(text: string): UsageRecord {
  const record = JSON.parse(text) as UsageRecord
  const { cost_nanos, upstream_cost_nanos } = record
  return {
    ...record,
    cost_nanos: BigInt(cost_nanos),
    upstream_cost_nanos: BigInt(upstream_cost_nanos),
    sign: -1,
  }
}

/** The dimensions of the roll-ups. */
export const textLabels = {
  workspace: (record: UsageRecord) => record.workspace_id,
  user: (record: UsageRecord) => record.user_id,
  model: (record: UsageRecord) => record.model,
  provider: (record: UsageRecord) => record.provider,
  endpoint: (record: UsageRecord) => record.endpoint,
  app: formatApp,
  finish: (record: UsageRecord) => record.finish_reason,
  external: (record: UsageRecord) => record.external_user,
  /** All tags: those of a name are selected by the query. */
  tags: (record: UsageRecord) => record.tags,
  context: (record: UsageRecord) => findContextBucket(countPromptTokens(record)),
} satisfies Record<string, (record: UsageRecord) => string | null>

/** Dimensions with so many values that texts would take most of the time. */
export const numberLabels = {
  key: (record: UsageRecord) => record.key_id,
} satisfies Record<string, (record: UsageRecord) => number>

/** Values that the roll-ups sum. Money is in nano-dollars. */
export const measures = {
  requests: () => 1,
  prompt: countPromptTokens,
  completion: countCompletionTokens,
  reasoning: (record: UsageRecord) => record.tokens_reasoning,
  cached: (record: UsageRecord) => record.tokens_cache_read + record.tokens_cache_read_audio,
  cache_savings: (record: UsageRecord) => Number(record.cache_savings_nanos ?? 0n),
  byok_requests: (record: UsageRecord) => record.is_byok,
  credits: (record: UsageRecord) => (record.is_byok ? 0 : Number(record.cost_nanos)),
  byok_fees: (record: UsageRecord) => (record.is_byok ? Number(record.cost_nanos) : 0),
  upstream: (record: UsageRecord) => (record.is_byok ? 0 : Number(record.upstream_cost_nanos)),
  byok_upstream: (record: UsageRecord) => (record.is_byok ? Number(record.upstream_cost_nanos) : 0),
} satisfies Record<string, (record: UsageRecord) => number>

/** Values with a distribution. Each is one more than the value; 0 for none. */
export const histograms = {
  latency: (record: UsageRecord) =>
    record.status === 'failed' ? 0 : (record.first_token_ms ?? record.latency_ms) + 1,
  throughput: (record: UsageRecord) => {
    const tokens = countCompletionTokens(record)
    const ms = record.latency_ms - (record.first_token_ms ?? 0)
    if (record.status === 'failed' || tokens === 0 || ms <= 0) return 0
    return Math.round((tokens * 1000 * throughputScale) / ms) + 1
  },
} satisfies Record<string, (record: UsageRecord) => number>

/** The columns that are needed to compute what is selected; id and time always are. */
export function selectSourceColumns(isSelected: (column: string) => boolean): RecordColumn[] {
  const selected = recordColumns.filter((column) => listRollups(column).some(isSelected))
  return [...new Set<RecordColumn>(['id', 'created_at', ...selected])]
}

function listRollups(column: RecordColumn): readonly RollupName[] {
  return generationTable[column].rollup ?? []
}

/** `record` and `dataset` have no column in segments. */
type RollupName = LabelName | MeasureName | HistogramName | 'record' | 'dataset'

/** The columns that one of the roll-ups reads. */
type SourceOf<Name extends RollupName> = {
  [Column in RecordColumn]: Name extends RollupOf<Column> ? Column : never
}[RecordColumn]

const promptColumns = recordColumns.filter((column): column is SourceOf<'prompt'> =>
  listRollups(column).includes('prompt'),
)
const completionColumns = recordColumns.filter((column): column is SourceOf<'completion'> =>
  listRollups(column).includes('completion'),
)

/** Tokens per second are stored in hundredths. */
export const throughputScale = 100

export type LabelName = keyof typeof textLabels | keyof typeof numberLabels
export type MeasureName = keyof typeof measures
export type HistogramName = keyof typeof histograms

export const measureNames = Object.keys(measures) as MeasureName[]
export const histogramNames = Object.keys(histograms) as HistogramName[]

function countPromptTokens(record: UsageRecord): number {
  return sumColumns(record, promptColumns)
}

function countCompletionTokens(record: UsageRecord): number {
  return sumColumns(record, completionColumns)
}

function sumColumns(record: UsageRecord, columns: readonly SourceOf<'prompt' | 'completion'>[]): number {
  let sum = 0
  for (const column of columns) sum += record[column]
  return sum
}

/** The URL identifies the app; the title is its display name. */
function formatApp({ app_url, app_title }: UsageRecord): string | null {
  return app_url === null ? null : `${app_url}\n${app_title ?? ''}`
}

const contextBuckets: [below: number, name: string][] = [
  [1_000, '0-1k'],
  [4_000, '1k-4k'],
  [16_000, '4k-16k'],
  [64_000, '16k-64k'],
  [128_000, '64k-128k'],
  [256_000, '128k-256k'],
  [1_000_000, '256k-1m'],
]

function findContextBucket(tokens: number): string {
  return contextBuckets.find(([below]) => tokens < below)?.[1] ?? '1m+'
}
