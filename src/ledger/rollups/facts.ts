import type { Selectable } from 'kysely'
import type { GenerationTable } from '../../db/schema.ts'

/** What of a generation goes into the roll-ups. */
export const factColumns = [
  'id',
  'organization_id',
  'workspace_id',
  'key_id',
  'user_id',
  'created_at',
  'ended_at',
  'model',
  'provider',
  'endpoint',
  'status',
  'finish_reason',
  'tokens_input',
  'tokens_cache_read',
  'tokens_cache_read_audio',
  'tokens_cache_write',
  'tokens_cache_write_1h',
  'tokens_input_audio',
  'tokens_input_image',
  'tokens_input_video',
  'tokens_output',
  'tokens_reasoning',
  'tokens_output_audio',
  'tokens_output_image',
  'cost_nanos',
  'upstream_cost_nanos',
  'is_byok',
  'latency_ms',
  'first_token_ms',
  'app_url',
  'app_title',
  'external_user',
] as const satisfies readonly (keyof GenerationTable)[]

export type FactColumn = (typeof factColumns)[number]

/** `sign` is -1 where it takes back what an earlier one counted. */
export type Fact = Pick<Selectable<GenerationTable>, FactColumn> & { sign?: -1 }

/** Of a row of `generations`, as JSON that `readTakenBack` reads. */
export function writeFact(row: Readonly<Record<string, unknown>>): string {
  const values = factColumns.map((column) => [column, row[column]])
  return JSON.stringify(Object.fromEntries(values), (name, value: unknown) =>
    typeof value !== 'bigint' ? value : name.endsWith('_nanos') ? String(value) : Number(value),
  )
}

/** What a correction takes back. */
export function readTakenBack(text: string): Fact {
  const fact = JSON.parse(text) as Fact
  const { cost_nanos, upstream_cost_nanos } = fact
  return {
    ...fact,
    cost_nanos: BigInt(cost_nanos),
    upstream_cost_nanos: BigInt(upstream_cost_nanos),
    sign: -1,
  }
}

/** What requests are told apart by. */
export const labels = {
  workspace: (fact: Fact) => fact.workspace_id,
  key: (fact: Fact) => String(fact.key_id),
  user: (fact: Fact) => fact.user_id,
  model: (fact: Fact) => fact.model,
  provider: (fact: Fact) => fact.provider,
  endpoint: (fact: Fact) => fact.endpoint,
  app: appOf,
  finish: (fact: Fact) => fact.finish_reason,
  external: (fact: Fact) => fact.external_user,
  context: (fact: Fact) => contextBucket(promptOf(fact)),
} satisfies Record<string, (fact: Fact) => string | null>

/** What is added up. Money in nano-dollars. */
export const measures = {
  requests: () => 1,
  prompt: promptOf,
  completion: completionOf,
  reasoning: (fact: Fact) => fact.tokens_reasoning,
  cached: (fact: Fact) => fact.tokens_cache_read + fact.tokens_cache_read_audio,
  byok_requests: (fact: Fact) => fact.is_byok,
  credits: (fact: Fact) => (fact.is_byok ? 0 : Number(fact.cost_nanos)),
  byok_fees: (fact: Fact) => (fact.is_byok ? Number(fact.cost_nanos) : 0),
  upstream: (fact: Fact) => (fact.is_byok ? 0 : Number(fact.upstream_cost_nanos)),
  byok_upstream: (fact: Fact) => (fact.is_byok ? Number(fact.upstream_cost_nanos) : 0),
} satisfies Record<string, (fact: Fact) => number>

/** What has a distribution. One more than the value; 0 where there is none. */
export const spreads = {
  latency: (fact: Fact) => (fact.status === 'failed' ? 0 : (fact.first_token_ms ?? fact.latency_ms) + 1),
  throughput: (fact: Fact) => {
    const tokens = completionOf(fact)
    const ms = fact.latency_ms - (fact.first_token_ms ?? 0)
    if (fact.status === 'failed' || tokens === 0 || ms <= 0) return 0
    return Math.round((tokens * 1000 * throughputScale) / ms) + 1
  },
} satisfies Record<string, (fact: Fact) => number>

const promptColumns = [
  'tokens_input',
  'tokens_cache_read',
  'tokens_cache_read_audio',
  'tokens_cache_write',
  'tokens_cache_write_1h',
  'tokens_input_audio',
  'tokens_input_image',
  'tokens_input_video',
] as const
const completionColumns = [
  'tokens_output',
  'tokens_reasoning',
  'tokens_output_audio',
  'tokens_output_image',
] as const
const costColumns = ['is_byok', 'cost_nanos'] as const
const upstreamColumns = ['is_byok', 'upstream_cost_nanos'] as const
const speedColumns = ['status', 'first_token_ms', 'latency_ms'] as const

/** What each of them is read from. */
const sources: Record<LabelName | MeasureName | SpreadName, readonly FactColumn[]> = {
  workspace: ['workspace_id'],
  key: ['key_id'],
  user: ['user_id'],
  model: ['model'],
  provider: ['provider'],
  endpoint: ['endpoint'],
  app: ['app_url', 'app_title'],
  finish: ['finish_reason'],
  external: ['external_user'],
  context: promptColumns,
  requests: [],
  prompt: promptColumns,
  completion: completionColumns,
  reasoning: ['tokens_reasoning'],
  cached: ['tokens_cache_read', 'tokens_cache_read_audio'],
  byok_requests: ['is_byok'],
  credits: costColumns,
  byok_fees: costColumns,
  upstream: upstreamColumns,
  byok_upstream: upstreamColumns,
  latency: speedColumns,
  throughput: [...speedColumns, ...completionColumns],
}

/** Of a generation, what is needed to know these; `time` and `id` always are. */
export function sourcesOf(wants: (column: string) => boolean): FactColumn[] {
  const wanted = Object.entries(sources).flatMap(([name, columns]) => (wants(name) ? columns : []))
  return [...new Set<FactColumn>(['id', 'created_at', ...wanted])]
}

/** Tokens a second are kept in hundredths. */
export const throughputScale = 100

export type LabelName = keyof typeof labels
export type MeasureName = keyof typeof measures
export type SpreadName = keyof typeof spreads

export const measureNames = Object.keys(measures) as MeasureName[]

function promptOf(fact: Fact): number {
  return (
    fact.tokens_input +
    fact.tokens_cache_read +
    fact.tokens_cache_read_audio +
    fact.tokens_cache_write +
    fact.tokens_cache_write_1h +
    fact.tokens_input_audio +
    fact.tokens_input_image +
    fact.tokens_input_video
  )
}

function completionOf(fact: Fact): number {
  return fact.tokens_output + fact.tokens_reasoning + fact.tokens_output_audio + fact.tokens_output_image
}

/** The address says which app it is; the title goes along as its name. */
function appOf({ app_url, app_title }: Fact): string | null {
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

function contextBucket(tokens: number): string {
  return contextBuckets.find(([below]) => tokens < below)?.[1] ?? '1m+'
}
