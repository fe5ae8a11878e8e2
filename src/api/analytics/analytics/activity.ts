import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import type { Dimension, Filter, Group } from '../../../analytics/rollups/aggregator.ts'
import { queryUsage } from '../../../analytics/usage.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { splitTags } from '../../../governance/tags/tag.ts'
import { tagFilter } from '../../../governance/tags/tag-schema.ts'
import { findKey } from '../../../identity/keys.ts'
import { requireMember } from '../../../identity/members.ts'
import { assertWithinScope, resolveVisibleOwner, type Scope } from '../../../identity/permissions/grant.ts'
import { resolveWorkspace } from '../../../identity/workspaces.ts'
import type { MeasureName } from '../../../ledger/usage-record.ts'
import { deriveUuid } from '../../../platform/crypto/ids.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { utcDay } from '../../../platform/time/time.ts'
import { resolvePermaslug, resolveProviderName } from './dimensions.ts'
import { listVisibleUsage } from './visible-usage.ts'

const activityDays = 30
const dayMs = 86_400_000
const timeoutMs = 10_000

export const activityQuery = z.strictObject({
  date: z.iso.date().optional().describe('A UTC day of the last 30.'),
  api_key_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of a key in hex')
    .optional(),
  user_id: z.string().min(1).max(100).optional(),
  external_user: z.string().min(1).max(256).optional().describe('The end user.'),
  tag: tagFilter.optional(),
  group_by: z.enum(['workspace', 'external_user']).optional(),
  workspace_id: z.uuid().optional(),
})

export const activityItem = z
  .strictObject({
    date: z.string(),
    model: z.string(),
    model_permaslug: z.string(),
    endpoint_id: z.string(),
    provider_name: z.string(),
    requests: z.int(),
    prompt_tokens: z.int(),
    completion_tokens: z.int().describe('Includes reasoning tokens.'),
    reasoning_tokens: z.int(),
    usage: z.number().describe('Credits used, in USD.'),
    byok_usage_inference: z
      .number()
      .describe('The amount paid to providers with BYOK keys, at list prices, in USD.'),
    workspace_id: z.string().optional().describe('Present with `group_by=workspace`.'),
    external_user: z
      .string()
      .nullable()
      .optional()
      .describe('Present with `group_by=external_user`; null for requests without an end user.'),
  })
  .meta({ id: 'ActivityItem' })

type ActivityQuery = z.output<typeof activityQuery>
type ActivityItem = z.input<typeof activityItem>

const identity = (value: string | null) => value
const groupColumns = { workspace: 'workspace', external_user: 'external' } as const
const activityDimensions: readonly Dimension[] = [
  { column: 'model', read: identity },
  { column: 'endpoint', read: identity },
  { column: 'provider', read: identity },
]

export interface ActivityRequest {
  gateway: Gateway
  caller: Caller
  scope: Scope
  query: ActivityQuery
}

export async function readActivity(request: ActivityRequest): Promise<ActivityItem[]> {
  const { gateway, scope, query } = request
  const { organizationId } = request.caller
  const groupColumn = query.group_by && groupColumns[query.group_by]
  const groups = await queryUsage(gateway, {
    organizationId,
    timeoutMs,
    query: {
      ...resolveRange(gateway.clock.now(), query.date),
      granularity: 'day',
      dimensions: groupColumn
        ? [...activityDimensions, { column: groupColumn, read: identity }]
        : activityDimensions,
      filters: await buildFilters(request),
      alternatives: listVisibleUsage(scope),
      measures: ['requests', 'prompt', 'completion', 'reasoning', 'credits', 'byok_fees', 'byok_upstream'],
      histograms: [],
    },
  })
  const endpointId = memoizeEndpointIds()
  return groups
    .map((group) => toActivityItem(gateway, group, endpointId, query.group_by))
    .sort(compareNewestFirst)
}

/** Completed UTC days only. */
function resolveRange(now: number, date: string | undefined) {
  const today = Date.parse(utcDay(now))
  const from = today - activityDays * dayMs
  if (date === undefined) return { from, to: today }
  const day = Date.parse(date)
  if (day < from || day >= today)
    throw invalidFieldError('date', `must be one of the last ${activityDays} completed UTC days`)
  return { from: day, to: day + dayMs }
}

async function buildFilters({ gateway, caller, scope, query }: ActivityRequest): Promise<Filter[]> {
  const { db } = gateway
  const { organizationId } = caller
  const filters: Filter[] = []
  const addFilter = (column: Filter['column'], expected: string) =>
    filters.push({ column, matches: (value) => value === expected, values: [expected] })
  if (query.api_key_hash !== undefined) {
    const key = await findKey(db, organizationId, query.api_key_hash.toLowerCase())
    if (!key) throw gatewayError('not_found', 'api_key_hash: the key does not exist.')
    assertWithinScope(scope, { workspaceId: key.workspace_id, ownerId: key.creator_user_id })
    addFilter('key', String(key.id))
  }
  if (query.user_id !== undefined)
    addFilter('user', (await requireMember(db, organizationId, query.user_id)).id)
  if (query.external_user !== undefined) addFilter('external', query.external_user)
  for (const tag of query.tag ?? [])
    filters.push({ column: 'tags', matches: (stored) => splitTags(stored).includes(tag) })
  if (query.workspace_id !== undefined) {
    const { id } = await resolveWorkspace(db, organizationId, query.workspace_id)
    resolveVisibleOwner(scope, id)
    addFilter('workspace', id)
  }
  return filters
}

type EndpointIdResolver = (model: string, tag: string) => string

/** Memoized, because the same few endpoints occur on every day. */
function memoizeEndpointIds(): EndpointIdResolver {
  const known = new Map<string, string>()
  return (model, tag) => {
    const name = `${model} ${tag}`
    const id = known.get(name) ?? deriveUuid('endpoint', model, tag)
    known.set(name, id)
    return id
  }
}

function toActivityItem(
  { catalog }: Gateway,
  group: Group,
  endpointId: EndpointIdResolver,
  groupBy: ActivityQuery['group_by'],
): ActivityItem {
  const { bucket, values } = group
  const sum = (measure: MeasureName) => group.sum(measure)
  const [model = null, endpoint = null, provider = null, groupedBy = null] = values
  return {
    date: bucket ?? '',
    model: model ?? '',
    model_permaslug: resolvePermaslug(model, catalog) ?? '',
    endpoint_id: endpointId(model ?? '', endpoint ?? ''),
    provider_name: resolveProviderName(provider, catalog) ?? '',
    requests: Number(sum('requests')),
    prompt_tokens: Number(sum('prompt')),
    completion_tokens: Number(sum('completion')),
    reasoning_tokens: Number(sum('reasoning')),
    usage: usdFromNanos(sum('credits') + sum('byok_fees')),
    byok_usage_inference: usdFromNanos(sum('byok_upstream')),
    ...(groupBy === 'workspace' && { workspace_id: groupedBy ?? '' }),
    ...(groupBy === 'external_user' && { external_user: groupedBy }),
  }
}

/** Distinguishes all items of a day: their order must not depend on the store. */
function rankTie({ endpoint_id, provider_name, workspace_id, external_user }: ActivityItem): string {
  return [endpoint_id, provider_name, workspace_id, external_user].join('\n')
}

function compareNewestFirst(a: ActivityItem, b: ActivityItem): number {
  if (a.date !== b.date) return a.date < b.date ? 1 : -1
  return b.requests - a.requests || (rankTie(a) < rankTie(b) ? -1 : 1)
}
