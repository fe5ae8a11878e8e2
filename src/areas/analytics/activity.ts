import { z } from 'zod'
import { findKey } from '../../account/keys.ts'
import { requireMember } from '../../account/members.ts'
import { enterWorkspace } from '../../account/workspaces.ts'
import type { Db } from '../../db/db.ts'
import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import { answer } from '../../ledger/rollups/answer.ts'
import type { Dimension, Filter, Group } from '../../ledger/rollups/tally.ts'
import { derivedUuid } from '../../lib/ids.ts'
import { utcDay } from '../../lib/time.ts'
import { permaslug, providerName } from './dimensions.ts'

const days = 30
const dayMs = 86_400_000
const limitMs = 10_000

export const activityQuery = z.strictObject({
  date: z.iso.date().optional().describe('One UTC day of the last 30'),
  api_key_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of a key in hex')
    .optional(),
  user_id: z.string().min(1).max(100).optional(),
  group_by: z.enum(['workspace']).optional(),
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
    completion_tokens: z.int().describe('Reasoning included'),
    reasoning_tokens: z.int(),
    usage: z.number().describe('Credits used, USD'),
    byok_usage_inference: z.number().describe('Paid to providers with own keys, at list prices, USD'),
    workspace_id: z.string().optional().describe('With `group_by=workspace`'),
  })
  .meta({ id: 'ActivityItem' })

type ActivityQuery = z.output<typeof activityQuery>
type ActivityItem = z.input<typeof activityItem>

const asIs = (value: string | null) => value
const columns: readonly Dimension[] = [
  { column: 'model', read: asIs },
  { column: 'endpoint', read: asIs },
  { column: 'provider', read: asIs },
]

export async function readActivity(
  gateway: Gateway,
  organizationId: string,
  query: ActivityQuery,
): Promise<ActivityItem[]> {
  const byWorkspace = query.group_by === 'workspace'
  const groups = await answer(gateway.db, {
    organizationId,
    limitMs,
    question: {
      ...rangeOf(gateway.clock.now(), query.date),
      grain: 'day',
      dimensions: byWorkspace ? [...columns, { column: 'workspace', read: asIs }] : columns,
      filters: await filtersOf(gateway.db, organizationId, query),
      measures: ['requests', 'prompt', 'completion', 'reasoning', 'credits', 'byok_fees', 'byok_upstream'],
      spreads: [],
    },
  })
  const endpointId = endpointIds()
  return groups.map((group) => itemOf(gateway, group, endpointId)).sort(newestFirst)
}

/** Completed days only: today is not over. */
function rangeOf(now: number, date: string | undefined) {
  const today = Date.parse(utcDay(now))
  const from = today - days * dayMs
  if (date === undefined) return { from, to: today }
  const day = Date.parse(date)
  if (day < from || day >= today) throw badField('date', `must be one of the last ${days} completed UTC days`)
  return { from: day, to: day + dayMs }
}

async function filtersOf(db: Db, organizationId: string, query: ActivityQuery): Promise<Filter[]> {
  const filters: Filter[] = []
  const only = (column: Filter['column'], wanted: string) =>
    filters.push({ column, keeps: (value) => value === wanted })
  if (query.api_key_hash !== undefined) {
    const key = await findKey(db, organizationId, query.api_key_hash.toLowerCase())
    if (!key) throw fail('not_found', 'api_key_hash: the key does not exist.')
    only('key', String(key.id))
  }
  if (query.user_id !== undefined) only('user', (await requireMember(db, organizationId, query.user_id)).id)
  if (query.workspace_id !== undefined) {
    only('workspace', (await enterWorkspace(db, organizationId, query.workspace_id)).id)
  }
  return filters
}

type EndpointId = (model: string, tag: string) => string

/** The same few come again on every day. */
function endpointIds(): EndpointId {
  const known = new Map<string, string>()
  return (model, tag) => {
    const name = `${model} ${tag}`
    const id = known.get(name) ?? derivedUuid('endpoint', model, tag)
    known.set(name, id)
    return id
  }
}

function itemOf({ catalog }: Gateway, { bucket, values, sum }: Group, endpointId: EndpointId): ActivityItem {
  const [model = null, endpoint = null, provider = null, workspace] = values
  return {
    date: bucket ?? '',
    model: model ?? '',
    model_permaslug: permaslug(model, catalog) ?? '',
    endpoint_id: endpointId(model ?? '', endpoint ?? ''),
    provider_name: providerName(provider, catalog) ?? '',
    requests: Number(sum('requests')),
    prompt_tokens: Number(sum('prompt')),
    completion_tokens: Number(sum('completion')),
    reasoning_tokens: Number(sum('reasoning')),
    usage: usdFromNanos(sum('credits') + sum('byok_fees')),
    byok_usage_inference: usdFromNanos(sum('byok_upstream')),
    ...(workspace !== undefined && { workspace_id: workspace ?? '' }),
  }
}

function newestFirst(a: ActivityItem, b: ActivityItem): number {
  if (a.date !== b.date) return a.date < b.date ? 1 : -1
  return b.requests - a.requests || (a.endpoint_id < b.endpoint_id ? -1 : 1)
}
