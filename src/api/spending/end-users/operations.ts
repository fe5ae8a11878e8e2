import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import {
  type BlockedEndUser,
  blockEndUser,
  findBlocked,
  unblockEndUser,
} from '../../../governance/blocked-end-users.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { lineField } from '../../../platform/validation/name-schema.ts'
import { pageQuery, searchText } from '../../../platform/validation/query-params.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'
import { endUserParam, erasureOperations, tag } from './erasures.ts'
import { type EndUserUsage, listDays, listUsage, type Period } from './usage.ts'

const dayMs = 86_400_000
const defaultDays = 30
const maxDays = 365

const endUserRecord = z
  .strictObject({
    id: z.string().describe('The name that clients send.'),
    requests: z.int(),
    tokens: z.int().describe('Of prompts and replies.'),
    usage: z.number().describe('Credits used, in USD.'),
    byok_usage: z.number().describe('The list price of requests with BYOK keys, in USD.'),
    first_seen: z.string().nullable().describe('The first UTC day of the period with a request.'),
    last_seen: z.string().nullable().describe('The last UTC day of the period with a request.'),
    blocked: z.boolean(),
    blocked_at: z.string().nullable(),
    block_reason: z.string().nullable(),
  })
  .meta({ id: 'EndUser' })

const endUserResponse = z.strictObject({ data: endUserRecord })
const periodFields = {
  from: utcTimestamp.optional().describe(`Defaults to ${defaultDays} days before \`to\`.`),
  to: utcTimestamp.optional().describe('Exclusive; defaults to now.'),
}
const periodQuery = z.object(periodFields)

const listEndUsers = defineOperation({
  id: 'listEndUsers',
  method: 'GET',
  path: '/end-users',
  tag,
  summary: 'Lists the end users with requests in a period, the largest spending first.',
  permission: 'activity:read',
  scope: 'organization',
  query: pageQuery.extend({
    ...periodFields,
    q: searchText.optional().describe('Those with this text in their name.'),
  }),
  errors: [408],
  response: z.strictObject({ data: z.array(endUserRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const period = resolvePeriod(gateway, query)
    const typed = query.q?.toLowerCase()
    const usage = await listUsage(gateway, caller.organizationId, period)
    const all = typed === undefined ? usage : usage.filter(({ name }) => name.toLowerCase().includes(typed))
    const page = all.slice(query.offset, query.offset + query.limit)
    return {
      data: await toRecords(gateway, caller.organizationId, period, page),
      total_count: all.length,
    }
  },
})

const getEndUser = defineOperation({
  id: 'getEndUser',
  method: 'GET',
  path: '/end-users/{id}',
  tag,
  summary: 'Retrieves the usage of an end user in a period, and whether they are blocked.',
  permission: 'activity:read',
  scope: 'organization',
  params: endUserParam,
  query: periodQuery,
  errors: [404, 408],
  response: endUserResponse,
  handle: async ({ gateway, caller, params, query }) => {
    const data = await readOne(gateway, caller.organizationId, resolvePeriod(gateway, query), params.id)
    if (data.requests === 0 && !data.blocked)
      throw gatewayError('not_found', 'The end user has no request in this period, and is not blocked.')
    return { data }
  },
})

const updateEndUser = defineOperation({
  id: 'updateEndUser',
  method: 'PATCH',
  path: '/end-users/{id}',
  tag,
  summary: 'Blocks or unblocks an end user.',
  description:
    'Requests of a blocked end user are rejected with 403, at the latest two seconds later on every node. A name without requests can be blocked, too.',
  permission: 'budgets:write',
  scope: 'organization',
  params: endUserParam,
  body: z.strictObject({
    blocked: z.boolean(),
    reason: lineField(200).nullish().describe('For the audit log and the record; clients do not see it.'),
  }),
  errors: [409],
  response: endUserResponse,
  handle: async (request) => {
    const { gateway, caller, params, body } = request
    const { organizationId } = caller
    await transact(request, async (tx, record) => {
      await lockOrganization(tx, organizationId)
      const before = await describeBlock(tx, organizationId, params.id)
      if (body.blocked) {
        const reason = body.reason ?? null
        await blockEndUser(tx, gateway.clock, { organizationId, name: params.id, reason })
        await assertWithinCeiling(tx, gateway.settings.ceilings, 'blocked_end_users', organizationId)
      } else await unblockEndUser(tx, organizationId, params.id)
      const after = await describeBlock(tx, organizationId, params.id)
      const target = { type: 'end_user', id: params.id, name: params.id }
      record({ action: 'end_user.update', target, workspaceId: null, before, after })
    })
    return { data: await readOne(gateway, organizationId, resolvePeriod(gateway, {}), params.id) }
  },
})

export const endUserOperations = [listEndUsers, getEndUser, updateEndUser, ...erasureOperations]

async function describeBlock(tx: Db, organizationId: string, name: string) {
  const [row] = await findBlocked(tx, organizationId, [name])
  return { blocked: row !== undefined, reason: row?.reason ?? null }
}

function resolvePeriod(
  { clock }: Gateway,
  query: { from?: string | undefined; to?: string | undefined },
): Period {
  const to = query.to === undefined ? clock.now() : Date.parse(query.to)
  const from = query.from === undefined ? to - defaultDays * dayMs : Date.parse(query.from)
  if (from >= to) throw invalidFieldError('from', 'must be earlier than to')
  if (to - from > maxDays * dayMs)
    throw invalidFieldError('from', `must be at most ${maxDays} days before to`)
  return { from, to }
}

async function readOne(gateway: Gateway, organizationId: string, period: Period, name: string) {
  const [usage = { name, requests: 0n, tokens: 0n, spend: 0n, byokUsage: 0n }] = await listUsage(
    gateway,
    organizationId,
    period,
    [name],
  )
  const [data] = await toRecords(gateway, organizationId, period, [usage])
  if (!data) throw new Error('there is a record for each usage')
  return data
}

async function toRecords(
  gateway: Gateway,
  organizationId: string,
  period: Period,
  page: readonly EndUserUsage[],
): Promise<z.input<typeof endUserRecord>[]> {
  const names = page.map(({ name }) => name)
  const [days, blocked] = await Promise.all([
    listDays(gateway, organizationId, period, names),
    findBlocked(gateway.db, organizationId, names),
  ])
  const blocks = new Map<string, BlockedEndUser>(blocked.map((row) => [row.name, row]))
  return page.map(({ name, requests, tokens, spend, byokUsage }) => ({
    id: name,
    requests: Number(requests),
    tokens: Number(tokens),
    usage: usdFromNanos(spend),
    byok_usage: usdFromNanos(byokUsage),
    first_seen: days.get(name)?.first ?? null,
    last_seen: days.get(name)?.last ?? null,
    blocked: blocks.has(name),
    blocked_at: blocks.get(name)?.created_at ?? null,
    block_reason: blocks.get(name)?.reason ?? null,
  }))
}
