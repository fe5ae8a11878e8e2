import type { Selectable } from 'kysely'
import { z } from 'zod'
import type { Catalog } from '../../../catalog/catalog.ts'
import { isRouterSlug } from '../../../catalog/router-models.ts'
import { countCompletionTokens, countPromptTokens, type Usage } from '../../../formats/call/usage.ts'
import { dataRegions } from '../../../formats/vocabulary.ts'
import { type HitRow, hitRecord, toHitRecord } from '../../../governance/guardrail-hits.ts'
import { splitTags } from '../../../governance/tags/tag.ts'
import { tagList } from '../../../governance/tags/tag-schema.ts'
import { type LineRow, lineRecord, toLineRecord } from '../../../ledger/bill-lines.ts'
import { toUncachedUsage } from '../../../ledger/charge.ts'
import { computeCost } from '../../../ledger/cost.ts'
import { type BucketColumn, bucketColumns, readUsage } from '../../../ledger/generation.ts'
import { chargeFlags, type GenerationTable } from '../../../platform/db/generation-table.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { cacheFields, describeCache } from './cache-fields.ts'
import { buildProviderResponses, type ProviderResponse, providerResponse } from './provider-responses.ts'

export type GenerationRow = Selectable<GenerationTable>

const apiTypes = ['completions', 'embeddings', 'rerank', 'tts', 'stt', 'video', 'image'] as const

const text = z.string().nullable()
const count = z.int().nullable()
const usd = z.number()

const tokenFields = {
  tokens_prompt: count.describe('null if the usage is unknown.'),
  tokens_completion: count.describe('Includes reasoning tokens.'),
  native_tokens_prompt: count,
  native_tokens_completion: count,
  native_tokens_reasoning: count.describe('Part of the completion tokens.'),
  native_tokens_completion_images: count.describe('Part of the completion tokens.'),
  native_tokens_cached: count.describe('The prompt tokens read from a cache.'),
}

type TokenColumn = Extract<BucketColumn, `tokens_${string}`>
type TokenBucket = TokenColumn extends `tokens_${infer Name}` ? Name : never

/** One value for each token column, under the name of the column without its prefix. */
function mapTokenColumns<Value>(map: (column: TokenColumn) => Value): Record<TokenBucket, Value> {
  const columns = bucketColumns.filter((column): column is TokenColumn => column.startsWith('tokens_'))
  const entries = columns.map((column) => [column.slice('tokens_'.length), map(column)])
  return Object.fromEntries(entries) as Record<TokenBucket, Value>
}

const tokenBuckets = z
  .strictObject(mapTokenColumns(() => z.int()))
  .meta({ id: 'TokenBuckets' })
  .describe('Disjoint counts: every token is in exactly one of them.')

const billedUnits = z
  .strictObject({
    billable: z.string(),
    unit: z.string(),
    quantity: z.number().describe('Seconds are counted in milliseconds, megapixels in pixels.'),
    variants: z.array(z.string()).describe('The names its price may have, the most specific first.'),
  })
  .meta({ id: 'BilledUnits' })

const detailsRecord = z
  .strictObject({
    status: z.enum(['completed', 'failed', 'cancelled']),
    error_code: text.describe('The `reason` of the error returned to the client.'),
    ended_at: text,
    requested_model: z.string(),
    endpoint: z.string().describe('The tag of the endpoint that replied or was tried last.'),
    format: z.string().describe('The format of the client.'),
    upstream_format: z.string(),
    user_id: text.describe('The member who created the key.'),
    app_title: text,
    tokens: tokenBuckets,
    web_searches: z.int(),
    usage_source: z
      .enum(['reported', 'estimated', 'none'])
      .describe('Whether the provider reported the usage or this server estimated it.'),
    own_cost: usd.describe(
      'The part of `total_cost` that is charged with this record, in USD: without requests made on its behalf, which have records of their own. The sum over all records counts every charge once.',
    ),
    list_cost: usd.describe('The cost at the prices of the endpoint, in USD.'),
    reported_cost: usd.nullable().describe('The cost reported by the provider, in USD.'),
    cache_savings: usd
      .nullable()
      .describe(
        'What the request costs less than without the prompt cache of the provider, in USD at the prices of the endpoint; negative if writing to it cost more than reading from it saved; null if it was not used.',
      ),
    cache_breakpoints: z
      .int()
      .describe('Breakpoints for the prompt cache of the provider that this server added to the request.'),
    flag: z
      .enum(chargeFlags)
      .nullable()
      .describe(
        'Anomalies of the charge. `unrecovered`: a crash interrupted the request, and its charge is not known; it may have cost up to `hold`.',
      ),
    hold: usd.describe('The most that the request could cost, which was held for it, in USD.'),
    billed_units: z
      .array(billedUnits)
      .describe('What was billed by another unit than the token: images, seconds, characters, searches.'),
    dropped: z.array(z.string()).describe("Fields of the request that the provider's format cannot carry."),
    guardrail_hits: z.array(hitRecord).describe('What the guardrails found, without the text they found.'),
    lines: z
      .array(lineRecord)
      .describe('The bill of a request with plugins or server tools; their sum is `total_cost`.'),
    parent_id: text.describe('The generation on whose behalf this request was made.'),
    ...cacheFields,
  })
  .meta({ id: 'GenerationDetails' })
  .describe('An extension: details that only this server reports.')

export const generationRecord = z
  .strictObject({
    id: z.string(),
    request_id: text,
    upstream_id: text.describe("The provider's id of the reply."),
    workspace_id: text,
    created_at: z.string(),
    model: z.string(),
    provider_name: text,
    provider_responses: z.array(providerResponse).nullable().describe('All attempts, in order.'),
    api_type: z.enum(apiTypes).nullable(),
    streamed: z.boolean().nullable(),
    cancelled: z.boolean().nullable(),
    finish_reason: text,
    native_finish_reason: text,
    ...tokenFields,
    num_media_prompt: count.describe('The number of images in the prompt.'),
    num_media_completion: count.describe('The number of images or videos in the reply.'),
    num_input_audio_prompt: count,
    num_search_results: count.describe(
      'The results of the searches that the gateway made; null if it made none.',
    ),
    num_fetches: count.describe('The pages that the gateway read; null if it tried none.'),
    web_search_engine: text.describe('The engine that the gateway searched the web with.'),
    usage: usd.describe('The amount charged, in USD, including requests made on its behalf.'),
    total_cost: usd.describe('The same as `usage`, and as `usage.cost` of the reply.'),
    upstream_inference_cost: usd
      .nullable()
      .describe("For requests with a BYOK key: the provider's price, in USD."),
    cache_discount: usd
      .nullable()
      .describe(
        'The amount the cache saved, in USD, or cost if negative; null without caching, or if prices have changed.',
      ),
    is_byok: z.boolean(),
    latency: z
      .number()
      .nullable()
      .describe('Milliseconds to the first token, or to the end of a reply that was not streamed.'),
    generation_time: z.number().nullable().describe('Milliseconds from the request to the end of the reply.'),
    moderation_latency: z.number().nullable(),
    data_region: z.enum(dataRegions),
    external_user: text,
    tags: tagList,
    session_id: text,
    preset_id: text,
    service_tier: text,
    router: text,
    response_cache_source_id: text.describe(
      'The generation whose cached reply was returned without calling a provider.',
    ),
    app_id: count,
    http_referer: text,
    origin: z.string().describe('The origin of the app, or an empty string.'),
    user_agent: text,
    headgate: detailsRecord,
  })
  .meta({ id: 'Generation' })

type GenerationRecord = z.input<typeof generationRecord>

/** Values of a generation from other tables. */
export interface RelatedRecords {
  appId: number | null
  hits: readonly HitRow[]
  lines: readonly LineRow[]
  parentId: string | null
}

export function toGenerationRecord(
  catalog: Catalog,
  row: GenerationRow,
  { appId, hits, lines, parentId }: RelatedRecords,
): GenerationRecord {
  const cost = usdFromNanos(row.cost_nanos + sumNested(lines))
  return {
    id: row.id,
    request_id: row.request_id,
    upstream_id: row.upstream_id,
    workspace_id: row.workspace_id,
    created_at: row.created_at,
    model: row.model,
    ...toProviderFields(catalog, row),
    api_type: apiTypes.find((type) => type === row.api_type) ?? null,
    streamed: row.streamed === 1,
    cancelled: row.status === 'cancelled',
    finish_reason: row.finish_reason,
    native_finish_reason: row.native_finish_reason,
    ...toTokenFields(row),
    ...uncountedFields,
    ...describeWeb(lines),
    num_media_prompt: row.input_images,
    num_media_completion: countOutputMedia(row),
    usage: cost,
    total_cost: cost,
    upstream_inference_cost: row.is_byok ? usdFromNanos(row.upstream_cost_nanos) : null,
    cache_discount: computeCacheDiscount(catalog, row),
    is_byok: row.is_byok === 1,
    latency: row.first_token_ms ?? row.latency_ms,
    generation_time: row.latency_ms,
    data_region: dataRegions.find((region) => region === row.region) ?? 'global',
    external_user: row.external_user,
    tags: splitTags(row.tags),
    session_id: row.session_id,
    preset_id: row.preset_id,
    service_tier: row.service_tier,
    response_cache_source_id: row.response_cache_source_id,
    app_id: appId,
    http_referer: row.app_url,
    origin: originOf(row.app_url) ?? '',
    user_agent: row.user_agent,
    router: isRouterSlug(row.requested_model) ? row.requested_model : null,
    headgate: {
      ...toDetails(row, hits),
      lines: lines.map(toLineRecord),
      parent_id: parentId,
    },
  }
}

function sumNested(lines: readonly LineRow[]): bigint {
  return lines.reduce((sum, { kind, cost_nanos }) => (kind === 'request' ? sum + cost_nanos : sum), 0n)
}

/** Counts the search results and fetches of plugins and server tools. */
function describeWeb(
  lines: readonly LineRow[],
): Pick<GenerationRecord, 'web_search_engine' | 'num_search_results' | 'num_fetches'> {
  const select = (plugin: string, tool: string) =>
    lines.filter(({ kind, name }) => name === (kind === 'plugin' ? plugin : kind === 'tool' ? tool : null))
  const searches = select('web', 'web_search')
  return {
    web_search_engine: searches[0]?.provider ?? null,
    num_search_results: sumQuantities(searches),
    num_fetches: sumQuantities(select('web-fetch', 'web_fetch')),
  }
}

function sumQuantities(lines: readonly LineRow[]): number | null {
  return lines.length === 0 ? null : lines.reduce((sum, { quantity }) => sum + quantity, 0)
}

/** Null for text that is not a URL, or a URL without an origin. */
export function originOf(url: string | null): string | null {
  const origin = url === null ? undefined : URL.parse(url)?.origin
  return origin && origin !== 'null' ? origin : null
}

/** Fields of the record that this server does not count. */
const uncountedFields = {
  num_input_audio_prompt: null,
  moderation_latency: null,
}

function readUnits({ billed_units }: GenerationRow): z.input<typeof billedUnits>[] {
  return billed_units === null ? [] : JSON.parse(billed_units)
}

const mediaUnits: ReadonlySet<string> = new Set(['image', 'video'])

function countOutputMedia(row: GenerationRow): number | null {
  const outputs = readUnits(row).filter(
    ({ billable, unit }) => billable.startsWith('output') && mediaUnits.has(unit),
  )
  return outputs.length === 0 ? null : outputs.reduce((sum, { quantity }) => sum + quantity, 0)
}

function toProviderFields(
  catalog: Catalog,
  row: GenerationRow,
): { provider_name: string; provider_responses: ProviderResponse[] } {
  const provider_name = catalog.providerByName.get(row.provider)?.name ?? row.provider
  const slugOf = (model: string) => catalog.bySlug.get(model)?.canonical_slug ?? model
  const isCacheHit = row.response_cache_source_id !== null
  return {
    provider_name,
    provider_responses: isCacheHit ? [] : buildProviderResponses(row, provider_name, slugOf),
  }
}

function toTokenFields(row: GenerationRow): Pick<GenerationRecord, keyof typeof tokenFields> {
  const isKnown = row.usage_source !== 'none' || row.response_cache_source_id !== null
  const usage = readUsage(row)
  const nullIfUnknown = (tokens: number) => (isKnown ? tokens : null)
  return {
    tokens_prompt: nullIfUnknown(countPromptTokens(usage)),
    tokens_completion: nullIfUnknown(countCompletionTokens(usage)),
    native_tokens_prompt: nullIfUnknown(countPromptTokens(usage)),
    native_tokens_completion: nullIfUnknown(countCompletionTokens(usage)),
    native_tokens_reasoning: nullIfUnknown(usage.reasoning),
    native_tokens_completion_images: nullIfUnknown(usage.outputImage),
    native_tokens_cached: nullIfUnknown(usage.cacheRead + usage.cacheReadAudio),
  }
}

/** Null if the prices have changed since the charge. */
function computeCacheDiscount({ bySlug }: Catalog, row: GenerationRow): number | null {
  const usage = readUsage(row)
  const uncached = toUncachedUsage(usage)
  if (uncached.input === usage.input && uncached.inputAudio === usage.inputAudio) return null
  const endpoint = bySlug.get(row.model)?.endpoints.find(({ tag }) => tag === row.endpoint)
  if (!endpoint?.pricing) return null
  const cost = (counted: Usage) =>
    computeCost(counted, endpoint.pricing, Date.parse(row.created_at), { images: row.input_images })
  if (cost(usage).total !== row.upstream_cost_nanos) return null
  return usdFromNanos(cost(uncached).prompt - cost(usage).prompt)
}

function toDetails(
  row: GenerationRow,
  hits: readonly HitRow[],
): Omit<z.input<typeof detailsRecord>, 'lines' | 'parent_id'> {
  return {
    status: row.status,
    error_code: row.error_code,
    ended_at: row.ended_at || null,
    requested_model: row.requested_model,
    endpoint: row.endpoint,
    format: row.dialect,
    upstream_format: row.upstream_dialect,
    user_id: row.user_id,
    app_title: row.app_title,
    tokens: mapTokenColumns((column) => row[column]),
    web_searches: row.web_searches,
    usage_source: row.usage_source,
    own_cost: usdFromNanos(row.cost_nanos),
    list_cost: usdFromNanos(row.upstream_cost_nanos),
    reported_cost: row.reported_cost_nanos === null ? null : usdFromNanos(row.reported_cost_nanos),
    cache_savings: row.cache_savings_nanos === null ? null : usdFromNanos(row.cache_savings_nanos),
    cache_breakpoints: row.cache_breakpoints,
    flag: row.flag,
    hold: usdFromNanos(row.hold_nanos),
    billed_units: readUnits(row),
    dropped: row.dropped === null ? [] : JSON.parse(row.dropped),
    guardrail_hits: hits.map(toHitRecord),
    ...describeCache(row),
  }
}
