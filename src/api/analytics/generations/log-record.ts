import { z } from 'zod'
import { mayOperate } from '../../../access/authorize.ts'
import { type Caller, isInferenceKey } from '../../../access/caller.ts'
import type { GenerationRow, LogEntry, RefusedRow } from '../../../analytics/request-log/walk.ts'
import { countCompletionTokens, countPromptTokens } from '../../../formats/call/usage.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { splitTags } from '../../../governance/tags/tag.ts'
import { tagList } from '../../../governance/tags/tag-schema.ts'
import { displayNameOf, findMembers } from '../../../identity/members.ts'
import { findKeys, listWorkspaceNames } from '../../../identity/record-names.ts'
import { lineRecord, listLinesOf, sumNestedCosts, toLineRecord } from '../../../ledger/bill-lines.ts'
import { readUsage } from '../../../ledger/generation.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { describeError } from './attempt-error.ts'
import { logStatuses } from './filter-values.ts'
import { countAttempts, findBrokenReply, listFailedAttempts } from './provider-responses.ts'

const text = z.string().nullable()
const count = z.int().nullable()

/** A request in the list. */
export const logRecord = z
  .strictObject({
    id: z.string(),
    request_id: text,
    created_at: z.string().describe('When the request arrived.'),
    status: z.enum(logStatuses).describe('`refused`: no provider was called.'),
    error_code: text.describe('The `reason` of the error.'),
    message: text.describe(
      'Of a refused request: the error message. Of a failed one: what the provider said last, as in `attempts` of the explanation.',
    ),
    requested_model: text,
    model: text.describe('The model that replied or was tried last.'),
    provider: text.describe('The slug of the provider.'),
    provider_name: text,
    endpoint: text.describe('The tag of the endpoint.'),
    key: z
      .strictObject({ hash: z.string(), name: z.string() })
      .nullable()
      .describe('null if the key was deleted, and for an inference key if it is another one.'),
    user: z
      .strictObject({ id: z.string(), name: text })
      .nullable()
      .describe('The member who created the key.'),
    workspace: z.strictObject({ id: z.string(), name: text }),
    app: z.strictObject({ url: text, title: text }).nullable(),
    format: text.describe('null if the request was refused before it was read.'),
    api_type: text,
    streamed: z.boolean(),
    is_byok: z.boolean(),
    is_cached: z.boolean().describe('Served from the response cache.'),
    session_id: text,
    preset_id: text,
    external_user: text,
    tags: tagList,
    tokens_prompt: count,
    tokens_completion: count,
    tokens_cached: count.describe('The prompt tokens read from a cache.'),
    cost: z
      .number()
      .describe(
        'The charge in USD, without requests on its behalf, which have their own entries: the sum over all entries counts every charge once.',
      ),
    total_cost: z
      .number()
      .describe('With requests on its behalf, as in the record and in `usage.cost` of the reply.'),
    latency: z.int().describe('Milliseconds from the request to the end of the reply.'),
    first_token: count.describe('Milliseconds to the first token of a stream.'),
    finish_reason: text,
    attempts: z.int().describe('The number of requests to providers.'),
    requests: z
      .int()
      .describe('More than 1 if a refused request stands for others of the same minute as well.'),
    lines: z
      .array(lineRecord)
      .optional()
      .describe('With `include_lines`: the turns, tools, plugins and nested requests of the request.'),
  })
  .meta({ id: 'LoggedRequest' })

type LogRecord = z.input<typeof logRecord>

interface Names {
  keys: ReadonlyMap<number, { hash: string; name: string }>
  users: ReadonlyMap<string, string>
  workspaces: ReadonlyMap<string, string>
}

/** Values from other tables that the list shows. */
interface RelatedRecords extends Names {
  /** Costs of nested requests, by generation. */
  nestedCosts: ReadonlyMap<string, bigint>
  /** Whether the caller operates the installation, and may see problems with its accounts. */
  isOperator: boolean
}

/** Builds log records with the names they refer to. An inference key sees no names of other keys and of members. */
export async function toLogRecords(
  gateway: Gateway,
  caller: Caller,
  entries: readonly LogEntry[],
): Promise<LogRecord[]> {
  const ids = entries.flatMap(({ generation }) => generation?.id ?? [])
  const hasFailures = entries.some(({ generation }) => generation?.status === 'failed')
  const [names, nestedCosts, isOperator] = await Promise.all([
    loadNames(gateway, caller, entries),
    sumNestedCosts(gateway.db, ids),
    hasFailures && mayOperate(gateway, caller, 'system:read'),
  ])
  const related = { ...names, nestedCosts, isOperator }
  return entries.map(({ generation, refused }) =>
    generation ? toServedRecord(gateway, related, generation) : toRefusedRecord(names, refused),
  )
}

/** Adds the lines of the bills. */
export async function addLines({ db }: Gateway, records: readonly LogRecord[]): Promise<LogRecord[]> {
  const lines = await listLinesOf(
    db,
    records.map(({ id }) => id),
  )
  return records.map((record) => ({ ...record, lines: (lines.get(record.id) ?? []).map(toLineRecord) }))
}

async function loadNames({ db }: Gateway, caller: Caller, entries: readonly LogEntry[]): Promise<Names> {
  const rows = entries.map(({ generation, refused }) => generation ?? refused)
  const unique = <T>(values: readonly T[]) => [...new Set(values)]
  const { organizationId, key } = caller
  const isInference = isInferenceKey(caller)
  const userIds = rows.flatMap(({ user_id }) => user_id ?? [])
  const [keys, members, workspaces] = await Promise.all([
    isInference ? [key] : findKeys(db, organizationId, { ids: unique(rows.map(({ key_id }) => key_id)) }),
    isInference || userIds.length === 0 ? [] : findMembers(db, organizationId, unique(userIds)),
    listWorkspaceNames(db, organizationId, unique(rows.map(({ workspace_id }) => workspace_id))),
  ])
  return {
    keys: new Map(keys.map(({ id, hash, name }) => [id, { hash, name }])),
    users: new Map(members.map((member) => [member.id, displayNameOf(member)])),
    workspaces: new Map(workspaces.map(({ id, name }) => [id, name])),
  }
}

/** Fields that served and rejected requests have in common. */
function toSharedFields({ keys, users, workspaces }: Names, row: GenerationRow | RefusedRow) {
  const { user_id, workspace_id, app_url, app_title } = row
  return {
    id: row.id,
    request_id: row.request_id,
    created_at: row.created_at,
    error_code: row.error_code,
    requested_model: row.requested_model,
    key: keys.get(row.key_id) ?? null,
    user: user_id === null ? null : { id: user_id, name: users.get(user_id) ?? null },
    workspace: { id: workspace_id, name: workspaces.get(workspace_id) ?? null },
    app: app_url === null && app_title === null ? null : { url: app_url, title: app_title },
    format: row.dialect || null,
    api_type: row.api_type,
    streamed: row.streamed === 1,
    session_id: row.session_id,
    preset_id: row.preset_id,
    external_user: row.external_user,
    tags: splitTags(row.tags),
    latency: row.latency_ms,
  }
}

function toServedRecord({ catalog }: Gateway, related: RelatedRecords, row: GenerationRow): LogRecord {
  const isCached = row.response_cache_source_id !== null
  const usage = row.usage_source === 'none' && !isCached ? null : readUsage(row)
  return {
    ...toSharedFields(related, row),
    status: row.status,
    message: findFailureMessage(row, related.isOperator),
    model: row.model,
    provider: row.provider,
    provider_name: catalog.providerByName.get(row.provider)?.name ?? row.provider,
    endpoint: row.endpoint,
    is_byok: row.is_byok === 1,
    is_cached: isCached,
    tokens_prompt: usage && countPromptTokens(usage),
    tokens_completion: usage && countCompletionTokens(usage),
    tokens_cached: usage && usage.cacheRead + usage.cacheReadAudio,
    cost: usdFromNanos(row.cost_nanos),
    total_cost: usdFromNanos(row.cost_nanos + (related.nestedCosts.get(row.id) ?? 0n)),
    first_token: row.first_token_ms,
    finish_reason: row.finish_reason,
    attempts: countAttempts(row, catalog.providerByName.get(row.provider)?.name ?? row.provider),
    requests: 1,
  }
}

/** What the provider said last; null if it said nothing, or the request did not fail. */
function findFailureMessage(row: GenerationRow, isOperator: boolean): string | null {
  if (row.status !== 'failed') return null
  const last = findBrokenReply(row) ?? listFailedAttempts(row).at(-1)
  if (!last) return null
  const isOwn = last.own_key === true || (last.in_reply === true && row.is_byok === 1)
  return describeError(last, isOperator || isOwn).message
}

const notServed = {
  model: null,
  provider: null,
  provider_name: null,
  endpoint: null,
  is_byok: false,
  is_cached: false,
  tokens_prompt: null,
  tokens_completion: null,
  tokens_cached: null,
  cost: 0,
  total_cost: 0,
  first_token: null,
  finish_reason: null,
  attempts: 0,
}

function toRefusedRecord(names: Names, row: RefusedRow): LogRecord {
  const { message, requests } = row
  return { ...toSharedFields(names, row), ...notServed, status: 'refused', message, requests }
}
