import { z } from 'zod'
import { type Caller, isInferenceKey } from '../../../access/caller.ts'
import {
  buildCondition,
  type Condition,
  type IndexedId,
  type LogSelection,
  listVisibleRequests,
} from '../../../analytics/request-log/selection.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { searchKeys } from '../../../identity/key-search.ts'
import { findKey } from '../../../identity/keys.ts'
import {
  assertWithinScope,
  isWithinScope,
  resolveVisibleOwner,
  type Scope,
} from '../../../identity/permissions/grant.ts'
import { resolveWorkspace } from '../../../identity/workspaces.ts'
import { uuidPattern } from '../../../platform/crypto/ids.ts'
import { chargeFlags } from '../../../platform/db/generation-table.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isAssignedForm, readRequestTime } from '../../../platform/http/request-id.ts'
import { nanosFromUsd } from '../../../platform/money/money.ts'
import { queryBoolean } from '../../../platform/validation/query-params.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'
import {
  isStatusItem,
  isTagItem,
  logStatuses,
  matchStatus,
  matchTags,
  matchValues,
  type ValueFilter,
  valueFilter,
} from './filter-values.ts'

const text = z.string().min(1).max(256)
const decimal = /^\d{1,9}(?:\.\d{1,9})?$/
const amount = z.string().regex(decimal, 'must be an amount in USD')
const milliseconds = z.string().regex(/^\d{1,9}$/, 'must be a number of milliseconds')
const several = 'Several values are separated by commas; `!` in front of one excludes it.'

/** Filters that select requests; all of them must match. */
export const logFilters = z.strictObject({
  from: utcTimestamp.optional().describe('Requests that arrived at this time or later.'),
  to: utcTimestamp.optional().describe('Exclusive.'),
  model: valueFilter('a model')
    .optional()
    .describe(
      `The model that was requested, or the one that replied. \`*\` stands for any characters: \`*claude*\`. ${several}`,
    ),
  provider: valueFilter('a provider').optional().describe(`The slug or the name of the provider. ${several}`),
  key: valueFilter('the hash or the name of a key')
    .optional()
    .describe(`The hash of the key, or its name, in which \`*\` stands for any characters. ${several}`),
  user_id: valueFilter('a member').optional().describe(`The member who created the key. ${several}`),
  workspace_id: valueFilter('the id of a workspace', (value) => uuidPattern.test(value))
    .optional()
    .describe(`The id of the workspace. ${several}`),
  status: valueFilter(`${logStatuses.join(', ')}, error, or an HTTP status from 400`, isStatusItem)
    .optional()
    .describe(
      `\`completed\`, \`failed\`, \`cancelled\` or \`refused\`; \`error\` for failed and refused ones; the HTTP status of the error. ${several}`,
    ),
  error_code: valueFilter('the reason of an error')
    .optional()
    .describe(`The \`reason\` of the error. ${several}`),
  flag: z
    .enum(chargeFlags)
    .optional()
    .describe('Anomalies of the charge, as in `headgate.flag` of the record.'),
  format: valueFilter('a format')
    .optional()
    .describe(`The format of the client: \`chat\`, \`messages\`, ... ${several}`),
  app: valueFilter('an app').optional().describe(`The address or the title of the app. ${several}`),
  session_id: valueFilter('a session').optional().describe(several),
  external_user: valueFilter('an end user').optional().describe(`The end user. ${several}`),
  tag: valueFilter('a tag', isTagItem)
    .optional()
    .describe(
      '`name=value`, a name or a value. Requests have all of several tags separated by commas; `!` in front of one excludes it.',
    ),
  preset: valueFilter('a preset').optional().describe(`The id of the preset. ${several}`),
  streamed: queryBoolean().optional(),
  is_byok: queryBoolean().optional(),
  min_cost: amount.optional().describe('At least this charge, in USD.'),
  max_cost: amount.optional().describe('At most this charge, in USD.'),
  min_latency: milliseconds
    .optional()
    .describe('At least this many milliseconds from the request to the end of the reply.'),
  max_latency: milliseconds.optional().describe('At most this many milliseconds.'),
  id: text.optional().describe('The id of one request.'),
  request_id: text.optional().describe('The value of the response header `X-Request-Id`.'),
  upstream_id: text.optional().describe("The provider's own id of the reply."),
})

export type LogFilters = z.output<typeof logFilters>

export interface LogRequest {
  gateway: Gateway
  caller: Caller
  scope: Scope
}

/** Throws if a filter names something that does not exist, or that the caller may not see. */
export async function resolveLogSelection(request: LogRequest, filters: LogFilters): Promise<LogSelection> {
  const { caller, scope } = request
  const { from, to } = resolvePeriod(request.gateway, filters)
  const status = matchStatus(filters.status)
  const shared = [...listSharedConditions(filters), ...(await listOwnerConditions(request, filters))]
  const served = listServedConditions(request.gateway, filters)
  // What a rejected request does not have cannot be excluded, nor too much.
  const isOfServed = served.some((condition) => !('not' in condition || 'max' in condition))
  const models = (columns: string[]) => matchValues(columns, filters.model, { allowsPatterns: true })
  return {
    organizationId: caller.organizationId,
    id: filters.id ?? null,
    from,
    to,
    generations: status.generations && [
      ...shared,
      ...served,
      ...models(['model', 'requested_model']),
      ...status.generations,
    ],
    refused:
      status.refused && !isOfServed ? [...shared, ...models(['requested_model']), ...status.refused] : null,
    isUnsuccessful:
      status.isUnsuccessful || (filters.error_code?.included.length ?? 0) > 0 || isOfCrash(filters),
    indexedId: findIndexedId(filters),
    visible: listVisibleRequests(scope),
  }
}

/** The filter that leaves the fewest requests of those with an index. */
function findIndexedId({ upstream_id, request_id, session_id }: LogFilters): IndexedId | null {
  if (upstream_id !== undefined) return { column: 'upstream_id', value: upstream_id }
  if (request_id !== undefined && !isAssignedForm(request_id))
    return { column: 'request_id', value: request_id }
  const [session, ...others] = session_id?.included ?? []
  return session === undefined || others.length > 0 ? null : { column: 'session_id', value: session }
}

/** Whether the filter selects requests of a crash, which never completed. */
function isOfCrash({ flag }: LogFilters): boolean {
  return flag === 'interrupted' || flag === 'unrecovered'
}

/** Tolerance between the clock of a record and that of its request id. */
const idToleranceMs = 10 * 60_000

/** A request id of this server has its time, which is then the only period that is searched. */
function resolvePeriod(
  { clock }: Gateway,
  { from, to, request_id }: LogFilters,
): Pick<LogSelection, 'from' | 'to'> {
  const period = { from: toStoredTime(from), to: toStoredTime(to) }
  if (period.from !== null && period.to !== null && period.from >= period.to)
    throw invalidFieldError('to', 'must be later than from')
  const time = request_id === undefined ? null : readRequestTime(request_id, clock.now())
  if (time === null) return period
  const near = [time - idToleranceMs, time + idToleranceMs].map((at) => new Date(at).toISOString())
  return { from: period.from ?? near[0] ?? null, to: period.to ?? near[1] ?? null }
}

/** Converts to the precision of the records, so that texts compare as times do. */
function toStoredTime(time: string | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString()
}

function anyOf(columns: readonly string[], value: string | number | undefined): Condition[] {
  return value === undefined ? [] : [{ columns, values: [value] }]
}

function toFlag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}

/** Builds conditions on columns that rejected requests have, too. */
function listSharedConditions(filters: LogFilters): Condition[] {
  return [
    ...matchValues(['error_code'], filters.error_code),
    ...matchValues(['dialect'], filters.format),
    ...matchValues(['app_url', 'app_title'], filters.app),
    ...matchValues(['session_id'], filters.session_id),
    ...matchValues(['external_user'], filters.external_user),
    ...matchTags(filters.tag),
    ...matchValues(['preset_id'], filters.preset),
    ...anyOf(['streamed'], toFlag(filters.streamed)),
    ...matchValues(['user_id'], filters.user_id),
    ...anyOf(['id'], filters.id),
    ...anyOf(['request_id'], filters.request_id),
    ...(filters.min_latency === undefined
      ? []
      : [{ column: 'latency_ms', min: Number(filters.min_latency) }]),
    ...(filters.max_latency === undefined
      ? []
      : [{ column: 'latency_ms', max: Number(filters.max_latency) }]),
  ]
}

/** Builds conditions on columns that only requests which reached a provider have. */
function listServedConditions({ catalog }: Gateway, filters: LogFilters): Condition[] {
  const { provider, is_byok, min_cost, max_cost } = filters
  const toSlugs = (names: string[]) => names.map((name) => catalog.providerByName.get(name)?.slug ?? name)
  const slugs = provider && { included: toSlugs(provider.included), excluded: toSlugs(provider.excluded) }
  const cost = min_cost === undefined ? 0n : (nanosFromUsd(min_cost) ?? 0n)
  return [
    ...matchValues(['provider'], slugs),
    ...anyOf(['is_byok'], toFlag(is_byok)),
    ...anyOf(['flag'], filters.flag),
    ...anyOf(['upstream_id'], filters.upstream_id),
    ...(cost > 0n ? [{ column: 'cost_nanos', min: cost }] : []),
    ...(max_cost === undefined ? [] : [{ column: 'cost_nanos', max: nanosFromUsd(max_cost) ?? 0n }]),
  ]
}

async function listOwnerConditions(request: LogRequest, filters: LogFilters): Promise<Condition[]> {
  const { key, workspace_id } = filters
  const keys = await mapValues(key, (value) => findKeyIds(request, value))
  const workspaces = await mapValues(workspace_id, (value) => findWorkspaceIds(request, value))
  return [...matchIds('key_id', keys), ...matchIds('workspace_id', workspaces)]
}

type Ids = Record<keyof ValueFilter, (string | number)[]>

async function mapValues<T extends string | number>(
  filter: ValueFilter | undefined,
  find: (value: string) => Promise<T[]>,
): Promise<Ids | null> {
  if (!filter) return null
  const included = await Promise.all(filter.included.map(find))
  const excluded = await Promise.all(filter.excluded.map(find))
  return { included: included.flat(), excluded: excluded.flat() }
}

function matchIds(column: string, ids: Ids | null): Condition[] {
  if (!ids) return []
  const { included, excluded } = ids
  return [
    ...(included.length === 0 ? [] : [{ columns: [column], values: included }]),
    ...(excluded.length === 0 ? [] : [{ not: { columns: [column], values: excluded } }]),
  ]
}

async function findWorkspaceIds({ gateway, caller, scope }: LogRequest, value: string): Promise<string[]> {
  const { id } = await resolveWorkspace(gateway.db, caller.organizationId, value)
  resolveVisibleOwner(scope, id)
  return [id]
}

/** Keys that one name stands for. */
const maxNamedKeys = 200

/** By hash or by name. A caller finds names of keys whose requests it may see; an inference key only its own. */
async function findKeyIds({ gateway, caller, scope }: LogRequest, value: string): Promise<number[]> {
  const { organizationId } = caller
  if (/^[0-9a-f]{64}$/i.test(value)) {
    const key = await findKey(gateway.db, organizationId, value.toLowerCase())
    if (!key) throw gatewayError('not_found', 'key: the key does not exist.')
    assertWithinScope(scope, { workspaceId: key.workspace_id, ownerId: key.creator_user_id })
    return [key.id]
  }
  const text = value.split('*').reduce((longest, part) => (part.length > longest.length ? part : longest), '')
  const { keys } = await searchKeys(gateway.db, {
    ...{ organizationId, text, offset: 0, limit: maxNamedKeys + 1 },
    filter: buildCondition({ visible: null }, [{ columns: ['name'], pattern: value }]),
  })
  if (keys.length > maxNamedKeys)
    throw invalidFieldError('key', `stands for more than ${maxNamedKeys} keys. Use a longer name, or a hash`)
  const visible = keys.filter(
    (key) =>
      (!isInferenceKey(caller) || key.id === caller.key.id) &&
      isWithinScope(scope, { workspaceId: key.workspace_id, ownerId: key.creator_user_id }),
  )
  if (visible.length === 0) throw gatewayError('not_found', `key: no key is named ${JSON.stringify(value)}.`)
  return visible.map(({ id }) => id)
}
