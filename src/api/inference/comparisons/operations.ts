import { z } from 'zod'
import { scopeOf } from '../../../access/authorize.ts'
import { type Caller, callerIdOf } from '../../../access/caller.ts'
import {
  assertChangeable,
  assertOwnIfPrivate,
  readerOf,
  recordShared,
  resolveAudience,
} from '../../../access/shared-records.ts'
import { transact } from '../../../access/transact.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { isWithinScope } from '../../../identity/permissions/grant.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import {
  type CreateComparisonBody,
  comparison,
  comparisonSummary,
  comparisonVotes,
  createComparisonBody,
  maxPrompts,
  modelPlace,
  toComparison,
  toSummary,
  toVotes,
  updateComparisonBody,
} from './record.ts'
import {
  type ComparisonRow,
  deleteComparison,
  deleteVote,
  findComparison,
  hasReply,
  insertComparison,
  listComparisons,
  listFigures,
  readContents,
  readGenerations,
  readVotes,
  type StoredReply,
  saveComparison,
  saveVote,
} from './store.ts'

const tag = 'Comparisons'
/** The permission to share comparisons. */
const sharing = 'shared_comparisons:write'
const idParam = z.object({ id: z.uuid().toLowerCase() })
const voteParams = idParam.extend({
  prompt: z
    .string()
    .regex(/^\d{1,2}$/, `must be an integer from 0 to ${maxPrompts - 1}`)
    .describe('The position in `prompts`, from 0.'),
})
const summaryResponse = z.strictObject({ data: comparisonSummary })
const votesResponse = z.strictObject({ data: comparisonVotes })

const listAll = defineOperation({
  id: 'listComparisons',
  method: 'GET',
  path: '/comparisons',
  tag,
  summary: 'Lists the comparisons of the caller and those that are shared, newest first.',
  description:
    'An extension. A comparison has the replies of several models to the same prompts. Those that are shared with a workspace are listed for callers who have the permission `workspaces:read` there.',
  permission: 'comparisons:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(comparisonSummary), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listComparisons(gateway.db, readerOf(caller), query)
    return { data: rows.map((row) => toSummary(row, callerIdOf(caller))), total_count: Number(total) }
  },
})

const getOne = defineOperation({
  id: 'getComparison',
  method: 'GET',
  path: '/comparisons/{id}',
  tag,
  summary: 'Retrieves a comparison: prompts, replies, votes and the totals of each model.',
  permission: 'comparisons:read',
  params: idParam,
  errors: [404],
  response: z.strictObject({ data: comparison }),
  handle: async ({ gateway, caller, params }) => {
    const row = await requireVisible(gateway.db, caller, params.id)
    const [contents, votes] = await Promise.all([
      readContents(gateway, row.id),
      readVotes(gateway.db, row.id, callerIdOf(caller)),
    ])
    if (!contents) throw notFoundError()
    return { data: toComparison(row, contents.content, contents.replies, votes, callerIdOf(caller)) }
  },
})

const create = defineOperation({
  id: 'createComparison',
  method: 'POST',
  path: '/comparisons',
  tag,
  summary: 'Saves the replies of several models to the same prompts, so that people can vote on them.',
  description:
    'Costs and times are those of the generations that the replies name. Prompts, parameters and replies are stored encrypted until the comparison is deleted, and cannot be changed: votes are about them.',
  permission: 'comparisons:write',
  body: createComparisonBody,
  status: 201,
  errors: [404, 409],
  response: summaryResponse,
  handle: async (context) => {
    const { gateway, caller, body } = context
    const creator = callerIdOf(caller)
    assertPlaces(body)
    const row = await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const now = isoNow(gateway.clock)
      const created: ComparisonRow = {
        id: newUuid(),
        organization_id: caller.organizationId,
        ...(await resolveAudience(tx, context, body, sharing)),
        creator,
        name: body.name,
        models: JSON.stringify(body.models),
        prompt_count: body.prompts.length,
        is_blind: body.is_blind ? 1 : 0,
        created_at: now,
        updated_at: now,
      }
      const replies = await buildReplies(tx, caller, body.replies)
      const content = { prompts: body.prompts, parameters: body.parameters ?? {} }
      await insertComparison({ db: tx, vault: gateway.vault }, created, content, replies)
      await assertCeilings(tx, gateway.settings.ceilings, created)
      recordShared(record, 'comparison', 'create', { after: created })
      return created
    })
    return { data: toSummary(row, creator) }
  },
})

const update = defineOperation({
  id: 'updateComparison',
  method: 'PATCH',
  path: '/comparisons/{id}',
  tag,
  summary: 'Changes the name of a comparison, or who sees it. Fields that are not sent stay.',
  description:
    'A shared comparison can be changed with the permission `shared_comparisons:write` where it is shared; only its creator can make it private again.',
  permission: 'comparisons:write',
  params: idParam,
  body: updateComparisonBody,
  errors: [404, 409],
  response: summaryResponse,
  handle: async (context) => {
    const { gateway, caller, body } = context
    const row = await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = await requireChangeable(tx, caller, context.params.id)
      assertOwnIfPrivate(caller, before, body)
      const after: ComparisonRow = {
        ...before,
        ...(body.visibility && (await resolveAudience(tx, context, body, sharing))),
        name: body.name ?? before.name,
        updated_at: isoNow(gateway.clock),
      }
      await saveComparison(tx, after)
      await assertCeilings(tx, gateway.settings.ceilings, after)
      recordShared(record, 'comparison', 'update', { before, after })
      return after
    })
    return { data: toSummary(row, callerIdOf(caller)) }
  },
})

const remove = defineOperation({
  id: 'deleteComparison',
  method: 'DELETE',
  path: '/comparisons/{id}',
  tag,
  summary: 'Deletes a comparison with its replies and votes.',
  permission: 'comparisons:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: async (context) => {
    const { caller, params } = context
    return transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = await requireChangeable(tx, caller, params.id)
      await deleteComparison(tx, before.id)
      recordShared(record, 'comparison', 'delete', { before })
      return { deleted: true as const }
    })
  },
})

const vote = defineOperation({
  id: 'setComparisonVote',
  method: 'PUT',
  path: '/comparisons/{id}/votes/{prompt}',
  tag,
  summary: 'Votes for the best reply to a prompt. Another vote of the same caller replaces the first.',
  description: 'Everyone who sees a comparison may vote. Returns the votes and totals with it.',
  permission: 'comparisons:write',
  params: voteParams,
  body: z.strictObject({ model: modelPlace }),
  errors: [404],
  response: votesResponse,
  handle: async (context) => {
    const { gateway, caller, params, body } = context
    const prompt = Number(params.prompt)
    const voter = callerIdOf(caller)
    const row = await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const voted = await requireVisible(tx, caller, params.id)
      if (prompt >= voted.prompt_count) throw missingPromptError()
      if (!(await hasReply(tx, voted.id, { prompt, model: body.model })))
        throw invalidFieldError('model', 'has no reply to this prompt')
      const created_at = isoNow(gateway.clock)
      await saveVote(tx, { comparison_id: voted.id, prompt, voter, model: body.model, created_at })
      recordVote(record, voted, 'comparison.vote', { prompt, model: body.model })
      return voted
    })
    return { data: await describeVotes(gateway.db, row, voter) }
  },
})

const withdraw = defineOperation({
  id: 'deleteComparisonVote',
  method: 'DELETE',
  path: '/comparisons/{id}/votes/{prompt}',
  tag,
  summary: 'Withdraws the vote of the caller on a prompt, if there is one.',
  permission: 'comparisons:write',
  params: voteParams,
  errors: [404],
  response: votesResponse,
  handle: async (context) => {
    const { gateway, caller, params } = context
    const voter = callerIdOf(caller)
    const row = await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const voted = await requireVisible(tx, caller, params.id)
      const prompt = Number(params.prompt)
      if (await deleteVote(tx, voted.id, prompt, voter))
        recordVote(record, voted, 'comparison.unvote', { prompt })
      return voted
    })
    return { data: await describeVotes(gateway.db, row, voter) }
  },
})

export const comparisonOperations = [listAll, create, getOne, update, remove, vote, withdraw]

/** Throws if a reply is for no prompt or model, or the second for both. */
function assertPlaces({ models, prompts, replies }: CreateComparisonBody): void {
  const seen = new Set<number>()
  for (const [index, { prompt, model }] of replies.entries()) {
    const field = `replies.${index}`
    if (prompt >= prompts.length)
      throw invalidFieldError(`${field}.prompt`, `must be less than the number of prompts, ${prompts.length}`)
    if (model >= models.length)
      throw invalidFieldError(`${field}.model`, `must be less than the number of models, ${models.length}`)
    const place = prompt * models.length + model
    if (seen.has(place)) throw invalidFieldError(field, 'is for the same prompt and model as another reply')
    seen.add(place)
  }
}

/** The replies with the figures of their generations, which the caller must be allowed to read. */
async function buildReplies(
  tx: Db,
  caller: Caller,
  sent: CreateComparisonBody['replies'],
): Promise<StoredReply[]> {
  const ids = [...new Set(sent.flatMap(({ generation_id }) => generation_id ?? []))]
  const generations = await readGenerations(tx, caller.organizationId, ids)
  const scope = scopeOf(caller, 'generations:read')
  return sent.map(({ prompt, model, generation_id = null, text, is_shortened, error = null }, index) => {
    const found = generation_id === null ? null : generations.get(generation_id)
    if (found === undefined || (found && !isWithinScope(scope, found)))
      throw invalidFieldError(`replies.${index}.generation_id`, 'is not a generation that you can read')
    return {
      ...{ prompt, model, generation_id },
      provider: found?.provider ?? null,
      has_error: error === null ? 0 : 1,
      cost_nanos: found?.cost_nanos ?? null,
      first_token_ms: found?.first_token_ms ?? null,
      latency_ms: found?.latency_ms ?? null,
      content: { text, is_shortened, error },
    }
  })
}

async function assertCeilings(
  tx: Db,
  ceilings: Parameters<typeof assertWithinCeiling>[1],
  { creator, organization_id }: ComparisonRow,
): Promise<void> {
  await assertWithinCeiling(tx, ceilings, 'comparisons', creator)
  await assertWithinCeiling(tx, ceilings, 'shared_comparisons', organization_id)
}

/** Only what others see is in the audit log. */
function recordVote(
  record: RecordEvent,
  { id, name, visibility, workspace_id: workspaceId }: ComparisonRow,
  action: string,
  details: Record<string, number>,
): void {
  if (visibility === 'private') return
  record({ action, target: { type: 'comparison', id, name }, workspaceId, details })
}

async function describeVotes(db: Db, row: ComparisonRow, voter: string) {
  const [figures, votes] = await Promise.all([listFigures(db, row.id), readVotes(db, row.id, voter)])
  return toVotes(row, figures, votes)
}

async function requireVisible(db: Db, caller: Caller, id: string): Promise<ComparisonRow> {
  const row = await findComparison(db, readerOf(caller), id)
  if (!row) throw notFoundError()
  return row
}

/** The comparison, if the caller sees it and may change it. */
async function requireChangeable(tx: Db, caller: Caller, id: string): Promise<ComparisonRow> {
  const row = await requireVisible(tx, caller, id)
  assertChangeable(caller, row, sharing)
  return row
}

function notFoundError() {
  return gatewayError('not_found', 'The comparison does not exist.')
}

function missingPromptError() {
  return gatewayError('not_found', 'The comparison has no such prompt.')
}
