/**
 * The record of a request, declared once. The type of the table, the columns that are written, the draft of a hold,
 * what the roll-ups read, and the token counts of the API follow from it.
 *
 * To add a column:
 * 1. Write the migration and list it in `migrations/all.ts`. A column that is not nullable needs a default.
 * 2. Declare the column here as the last of its part, with its empty value and what the roll-ups read from it. A
 *    `draft` column also goes into a new format at the end of `draftFormats`.
 * 3. Add it to `listDraftValues` or `encodeOutcome` in ledger/generation.ts, and a `draft` column to `isLikeDraft` in
 *    ledger/segment-encoder.ts. Tests fail where it is missing.
 * 4. Set its value in the code that knows it. `draft`: `draftGeneration` in inference/hold/admit.ts; `target`:
 *    `buildUpstreamTarget` there; `end`: the caller of `buildSettlement` that knows it.
 */

export type GenerationStatus = 'completed' | 'failed' | 'cancelled'

/** The source of the token counts: the provider, or an estimate where it reported none. */
export type UsageSource = 'reported' | 'estimated' | 'none'

/**
 * `capped`: the computed charge exceeded the hold. `implausible`: the provider's count was rejected. `uncounted`: the
 * provider ended its reply without a readable count. `interrupted`: the process ended before the reply.
 * `unrecovered`: the same, and what the request had used cannot be read; it is not charged.
 */
export const chargeFlags = ['capped', 'implausible', 'uncounted', 'interrupted', 'unrecovered'] as const
export type ChargeFlag = (typeof chargeFlags)[number]

/**
 * The origin of a column's value. `draft`: the request, at admission. `target`: the endpoint that replied or was tried
 * last. `usage`: the charge. `end`: the end of the reply. `ledger`: the posting, as it is written.
 */
type Part = 'draft' | 'target' | 'usage' | 'end' | 'ledger'

/** What a column stores; `nanos` is money, `time` is ISO text. */
export type ColumnKind = 'text' | 'integer' | 'nanos' | 'time'

interface Column<Value, P extends Part, Rollup extends string, Bucket extends string> {
  kind: ColumnKind
  part: P
  /** Stands in where the part has no value, and where an earlier version did not have the column. */
  empty: Value
  /** The labels, measures and histograms that read it; `record`: it identifies or dates the record; `dataset`. */
  rollup?: readonly Rollup[]
  /** Balances depend on it: written even when the database rejects the rest of the row. */
  isEssential?: boolean
  /** The counter of `Usage` that it stores. */
  bucket?: Bucket
}

function createColumnType<Value>(kind: ColumnKind, empty: Value) {
  return <P extends Part, Rollup extends string = never, Bucket extends string = never>(
    part: P,
    traits: Pick<Column<Value, P, Rollup, Bucket>, 'rollup' | 'isEssential' | 'bucket'> = {},
  ): Column<Value, P, Rollup, Bucket> => ({ kind, part, empty, ...traits })
}

const text = createColumnType<string>('text', '')
const time = createColumnType<string>('time', '')
const nullableText = createColumnType<string | null>('text', null)
const count = createColumnType<number>('integer', 0)
const nullableCount = createColumnType<number | null>('integer', null)
const nanos = createColumnType<bigint>('nanos', 0n)
const nullableNanos = createColumnType<bigint | null>('nanos', null)
const flag = createColumnType<0 | 1>('integer', 0)

/** One request that reached a provider, or was served from the response cache. Token columns do not overlap. */
export const generationTable = {
  id: text('draft', { isEssential: true, rollup: ['record'] }),
  organization_id: text('draft', { isEssential: true, rollup: ['record'] }),
  workspace_id: text('draft', { isEssential: true, rollup: ['workspace'] }),
  key_id: count('draft', { isEssential: true, rollup: ['key'] }),
  user_id: nullableText('draft', { isEssential: true, rollup: ['user'] }),
  created_at: time('draft', { isEssential: true, rollup: ['record'] }),
  requested_model: text('draft'),
  dialect: text('draft'),
  streamed: flag('draft'),
  preset_id: nullableText('draft'),
  session_id: nullableText('draft', { rollup: ['dataset'] }),
  region: text('draft'),
  app_url: nullableText('draft', { rollup: ['app'] }),
  app_title: nullableText('draft', { rollup: ['app'] }),
  /** The end user, as the client names them. */
  external_user: nullableText('draft', { rollup: ['external'] }),
  api_type: nullableText('draft', { rollup: ['dataset'] }),
  user_agent: nullableText('draft'),
  request_id: nullableText('draft'),
  input_images: count('draft', { rollup: ['dataset'] }),
  /** `name=value`, one per line, sorted; null if there are none. */
  tags: nullableText('draft', { rollup: ['tags'] }),
  model: text('target', { rollup: ['model'] }),
  /** Slug of the provider, and tag of its endpoint. */
  provider: text('target', { rollup: ['provider'] }),
  endpoint: text('target', { rollup: ['endpoint'] }),
  upstream_dialect: text('target'),
  is_byok: flag('target', {
    isEssential: true,
    rollup: ['byok_requests', 'credits', 'byok_fees', 'upstream', 'byok_upstream'],
  }),
  tokens_input: count('usage', { bucket: 'input', rollup: ['prompt', 'context'] }),
  tokens_cache_read: count('usage', { bucket: 'cacheRead', rollup: ['prompt', 'context', 'cached'] }),
  tokens_cache_read_audio: count('usage', {
    bucket: 'cacheReadAudio',
    rollup: ['prompt', 'context', 'cached'],
  }),
  tokens_cache_write: count('usage', { bucket: 'cacheWrite', rollup: ['prompt', 'context'] }),
  tokens_cache_write_1h: count('usage', { bucket: 'cacheWrite1h', rollup: ['prompt', 'context'] }),
  tokens_input_audio: count('usage', { bucket: 'inputAudio', rollup: ['prompt', 'context'] }),
  tokens_input_image: count('usage', { bucket: 'inputImage', rollup: ['prompt', 'context'] }),
  tokens_input_video: count('usage', { bucket: 'inputVideo', rollup: ['prompt', 'context'] }),
  tokens_output: count('usage', { bucket: 'output', rollup: ['completion', 'throughput'] }),
  tokens_reasoning: count('usage', {
    bucket: 'reasoning',
    rollup: ['completion', 'throughput', 'reasoning'],
  }),
  tokens_output_audio: count('usage', { bucket: 'outputAudio', rollup: ['completion', 'throughput'] }),
  tokens_output_image: count('usage', { bucket: 'outputImage', rollup: ['completion', 'throughput'] }),
  web_searches: count('usage', { bucket: 'webSearches' }),
  usage_source: createColumnType<UsageSource>('text', 'none')('usage', { isEssential: true }),
  cost_nanos: nanos('usage', { isEssential: true, rollup: ['credits', 'byok_fees'] }),
  upstream_cost_nanos: nanos('usage', { isEssential: true, rollup: ['upstream', 'byok_upstream'] }),
  /** The cost that the provider reported. */
  reported_cost_nanos: nullableNanos('usage'),
  flag: createColumnType<ChargeFlag | null>('text', null)('usage'),
  /** JSON array of what was billed by another unit than the token. */
  billed_units: nullableText('usage'),
  /** What the prompt costs less than without the provider's prompt cache; null if that was not used. */
  cache_savings_nanos: nullableNanos('usage', { rollup: ['cache_savings'] }),
  status: createColumnType<GenerationStatus>('text', 'failed')('end', {
    isEssential: true,
    rollup: ['latency', 'throughput'],
  }),
  error_code: nullableText('end'),
  finish_reason: nullableText('end', { rollup: ['finish'] }),
  native_finish_reason: nullableText('end'),
  hold_nanos: nanos('end', { isEssential: true }),
  latency_ms: count('end', { rollup: ['latency', 'throughput'] }),
  first_token_ms: nullableCount('end', { rollup: ['latency', 'throughput'] }),
  /** JSON array of the attempts that failed before this endpoint replied. */
  attempts: createColumnType<string>('text', '[]')('end'),
  /** JSON array of the fields that the translation dropped. */
  dropped: nullableText('end'),
  /** The provider's own id of the reply. */
  upstream_id: nullableText('end'),
  service_tier: nullableText('end'),
  /** The generation whose cached reply was served, where no provider was called. */
  response_cache_source_id: nullableText('end'),
  /** The stored routing decision. */
  routing_plan_id: nullableText('end'),
  /** Milliseconds from arrival to the last request to a provider. */
  dispatch_ms: nullableCount('end'),
  /** The limit that the hold left the least of, as `encodeNearestLimit` writes it. */
  nearest_limit: nullableText('end'),
  /** Milliseconds for which it waited for the rate of a provider; null if it did not. */
  queued_ms: nullableCount('end'),
  /** Breakpoints for the provider's prompt cache that the gateway added. */
  cache_breakpoints: count('end'),
  /** The similarity, in ten-thousandths, of the texts of a hit of the semantic cache and of its source. */
  cache_similarity: nullableCount('end'),
  /** The ledger transaction that its cost is part of; null when it cost nothing. */
  posting_id: nullableText('ledger', { isEssential: true }),
  /** The time of settlement. */
  ended_at: time('ledger', { isEssential: true, rollup: ['record'] }),
}

type Declaration = typeof generationTable
export type GenerationColumn = keyof Declaration

export type GenerationTable = { [Name in GenerationColumn]: Declaration[Name]['empty'] }

/** The columns that one of the parts fills. */
export type ColumnOf<P extends Part> = {
  [Name in GenerationColumn]: Declaration[Name]['part'] extends P ? Name : never
}[GenerationColumn]

/** The roll-ups that are computed from a column. */
export type RollupOf<Name extends GenerationColumn> = NonNullable<Declaration[Name]['rollup']>[number]

/** The counter of `Usage` that a column stores. */
export type BucketOf<Name extends GenerationColumn> = NonNullable<Declaration[Name]['bucket']>

export const generationColumns = Object.keys(generationTable) as GenerationColumn[]

export const emptyGeneration = Object.fromEntries(
  generationColumns.map((column) => [column, generationTable[column].empty]),
) as GenerationTable

/** The order in which a draft has its values. */
export interface DraftFormat {
  generation: readonly ColumnOf<'draft'>[]
  target: readonly (ColumnOf<'target'> | 'pricing')[]
}

/**
 * Every format that drafts were written in; the last is written now, together with its number. Holds outlive the
 * version that placed them, so a released format never changes and a new one is appended. Checkpoints have the format
 * of their hold: one process writes both.
 */
export const draftFormats: readonly [DraftFormat, ...DraftFormat[]] = [
  {
    generation: [
      'id',
      'organization_id',
      'workspace_id',
      'key_id',
      'user_id',
      'created_at',
      'requested_model',
      'dialect',
      'streamed',
      'preset_id',
      'session_id',
      'region',
      'app_url',
      'app_title',
      'external_user',
      'api_type',
      'user_agent',
      'request_id',
      'input_images',
    ],
    target: ['model', 'provider', 'endpoint', 'upstream_dialect', 'is_byok', 'pricing'],
  },
  {
    generation: [
      'id',
      'organization_id',
      'workspace_id',
      'key_id',
      'user_id',
      'created_at',
      'requested_model',
      'dialect',
      'streamed',
      'preset_id',
      'session_id',
      'region',
      'app_url',
      'app_title',
      'external_user',
      'api_type',
      'user_agent',
      'request_id',
      'input_images',
      'tags',
    ],
    target: ['model', 'provider', 'endpoint', 'upstream_dialect', 'is_byok', 'pricing'],
  },
]
