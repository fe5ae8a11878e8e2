import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import {
  type Condition,
  type LogSelection,
  listVisibleRequests,
} from '../../../analytics/request-log/selection.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { tagFilter } from '../../../governance/tags/tag-schema.ts'
import { findKey } from '../../../identity/keys.ts'
import { assertWithinScope, resolveVisibleOwner, type Scope } from '../../../identity/permissions/grant.ts'
import { resolveWorkspace } from '../../../identity/workspaces.ts'
import { chargeFlags } from '../../../platform/db/generation-table.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { readRequestTime } from '../../../platform/http/request-id.ts'
import { nanosFromUsd } from '../../../platform/money/money.ts'
import { queryBoolean } from '../../../platform/validation/query-params.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'

export const logStatuses = ['completed', 'failed', 'cancelled', 'refused'] as const
type LogStatus = (typeof logStatuses)[number]

const text = z.string().min(1).max(256)
const statusList = new RegExp(`^(?:${logStatuses.join('|')})(?:,(?:${logStatuses.join('|')}))*$`)
const decimal = /^\d{1,9}(?:\.\d{1,9})?$/

/** Filters that select requests; all of them must match. */
export const logFilters = z.strictObject({
  from: utcTimestamp.optional().describe('Requests that arrived at this time or later.'),
  to: utcTimestamp.optional().describe('Exclusive.'),
  model: text.optional().describe('The model that was requested, or the one that replied.'),
  provider: text.optional().describe('The slug or the name of the provider.'),
  key: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be the hash of a key')
    .optional()
    .describe('The hash of the key.'),
  user_id: text.optional().describe('The member who created the key.'),
  workspace_id: z.uuid().optional(),
  status: z
    .string()
    .regex(statusList, `must be ${logStatuses.join(', ')}, or several of them separated by commas`)
    .optional()
    .describe('`completed`, `failed`, `cancelled` or `refused`, or several of them separated by commas.'),
  error_code: text.optional().describe('The `reason` of the error.'),
  flag: z
    .enum(chargeFlags)
    .optional()
    .describe('Anomalies of the charge, as in `headgate.flag` of the record.'),
  format: text.optional().describe('The format of the client: `chat`, `messages`, ...'),
  app: text.optional().describe('The address or the title of the app.'),
  session_id: text.optional(),
  external_user: text.optional().describe('The end user.'),
  tag: tagFilter.optional(),
  preset: text.optional().describe('The id of the preset.'),
  streamed: queryBoolean().optional(),
  is_byok: queryBoolean().optional(),
  min_cost: z
    .string()
    .regex(decimal, 'must be an amount in USD')
    .optional()
    .describe('At least this charge, in USD.'),
  min_latency: z
    .string()
    .regex(/^\d{1,9}$/, 'must be a number of milliseconds')
    .optional()
    .describe('At least this many milliseconds from the request to the end of the reply.'),
  id: text.optional().describe('The id of one request.'),
  request_id: text.optional().describe('The value of the response header `X-Request-Id`.'),
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
  const statuses = (filters.status?.split(',') ?? [...logStatuses]) as LogStatus[]
  const ended = statuses.filter((status) => status !== 'refused')
  const shared = [...listSharedConditions(filters), ...(await listOwnerConditions(request, filters))]
  const served = listServedConditions(request.gateway, filters)
  const isRefusedIncluded = statuses.includes('refused') && served.length === 0
  return {
    organizationId: caller.organizationId,
    id: filters.id ?? null,
    from,
    to,
    generations:
      ended.length === 0
        ? null
        : [
            ...shared,
            ...served,
            ...anyOf(['model', 'requested_model'], filters.model),
            ...(filters.status === undefined ? [] : [{ columns: ['status'], values: ended }]),
          ],
    refused: isRefusedIncluded ? [...shared, ...anyOf(['requested_model'], filters.model)] : null,
    isUnsuccessful: !ended.includes('completed') || filters.error_code !== undefined || isOfCrash(filters),
    visible: listVisibleRequests(scope),
  }
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
    ...anyOf(['error_code'], filters.error_code),
    ...anyOf(['dialect'], filters.format),
    ...anyOf(['app_url', 'app_title'], filters.app),
    ...anyOf(['session_id'], filters.session_id),
    ...anyOf(['external_user'], filters.external_user),
    ...(filters.tag ?? []).map((line) => ({ column: 'tags', line })),
    ...anyOf(['preset_id'], filters.preset),
    ...anyOf(['streamed'], toFlag(filters.streamed)),
    ...anyOf(['user_id'], filters.user_id),
    ...anyOf(['id'], filters.id),
    ...anyOf(['request_id'], filters.request_id),
    ...(filters.min_latency === undefined
      ? []
      : [{ column: 'latency_ms', min: Number(filters.min_latency) }]),
  ]
}

/** Builds conditions on columns that only requests which reached a provider have. */
function listServedConditions({ catalog }: Gateway, filters: LogFilters): Condition[] {
  const { provider, is_byok, min_cost } = filters
  const slug = provider && (catalog.providerByName.get(provider)?.slug ?? provider)
  const cost = min_cost === undefined ? 0n : (nanosFromUsd(min_cost) ?? 0n)
  return [
    ...anyOf(['provider'], slug),
    ...anyOf(['is_byok'], toFlag(is_byok)),
    ...anyOf(['flag'], filters.flag),
    ...(cost > 0n ? [{ column: 'cost_nanos', min: cost }] : []),
  ]
}

async function listOwnerConditions(request: LogRequest, filters: LogFilters): Promise<Condition[]> {
  const { gateway, caller, scope } = request
  const conditions: Condition[] = []
  if (filters.key !== undefined) {
    const key = await findKey(gateway.db, caller.organizationId, filters.key.toLowerCase())
    if (!key) throw gatewayError('not_found', 'key: the key does not exist.')
    assertWithinScope(scope, { workspaceId: key.workspace_id, ownerId: key.creator_user_id })
    conditions.push({ columns: ['key_id'], values: [key.id] })
  }
  if (filters.workspace_id !== undefined) {
    const { id } = await resolveWorkspace(gateway.db, caller.organizationId, filters.workspace_id)
    resolveVisibleOwner(scope, id)
    conditions.push({ columns: ['workspace_id'], values: [id] })
  }
  return conditions
}
