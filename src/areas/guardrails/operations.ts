import { z } from 'zod'
import { refuseBeyond } from '../../account/ceilings.ts'
import { defaultWorkspace, enterWorkspace, lockWorkspace } from '../../account/workspaces.ts'
import type { Db } from '../../db/db.ts'
import { badField, fail } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { newUuid } from '../../lib/ids.ts'
import { pageQuery } from '../../lib/page.ts'
import { operation } from '../../operation.ts'
import {
  isStanding,
  organizationGuardrail,
  type StandingGuardrail,
  workspaceGuardrail,
} from '../../policy/default-guardrail.ts'
import { type GuardrailRow, guardrailOf } from '../../policy/guardrail.ts'
import { assignmentOperations } from './assignments.ts'
import { changesOf, createBody, refuseHalfBudget, updateBody } from './body.ts'
import { enterGuardrail, guardrailMissing, idParam, requireGuardrail, tag } from './guardrail.ts'
import { policyOperations } from './policy.ts'
import { guardrailRecord, recordOf } from './record.ts'
import {
  createGuardrail,
  createGuardrailOnce,
  deleteGuardrail,
  listGuardrails,
  tryLockGuardrail,
  updateGuardrail,
  workspaceIds,
} from './store.ts'

const guardrailAnswer = z.strictObject({ data: guardrailRecord })

async function answerOf(db: Db, row: GuardrailRow) {
  const workspaceId = row.workspace_id ?? (await defaultWorkspace(db, row.organization_id)).id
  return { data: recordOf(guardrailOf(row), workspaceId) }
}

const list = operation({
  id: 'listGuardrails',
  method: 'GET',
  path: '/guardrails',
  tag,
  summary: 'List the guardrails of a workspace, oldest first',
  access: 'management',
  query: pageQuery.extend({
    workspace_id: z.uuid().optional().describe('Default: the default workspace'),
  }),
  response: z.strictObject({ data: z.array(guardrailRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const workspace = await enterWorkspace(gateway.db, caller.organizationId, query.workspace_id)
    const { rows, total } = await listGuardrails(gateway.db, workspace.id, query)
    return { data: rows.map((row) => recordOf(guardrailOf(row), workspace.id)), total_count: total }
  },
})

const create = operation({
  id: 'createGuardrail',
  method: 'POST',
  path: '/guardrails',
  tag,
  summary: 'Create a guardrail; it applies to the keys and members it is assigned to',
  access: 'management',
  body: createBody,
  status: 201,
  errors: [409],
  response: guardrailAnswer,
  handle: ({ gateway, caller, body }) => {
    const settings = { ...changesOf(body, gateway.catalog), name: body.name }
    refuseHalfBudget({ limit_nanos: null, reset_interval: null, ...settings })
    return gateway.db.transaction().execute(async (tx) => {
      const { id: workspaceId } = await enterWorkspace(tx, caller.organizationId, body.workspace_id)
      await lockWorkspace(tx, caller.organizationId, workspaceId)
      refuseStandingName(workspaceId, body.name)
      const wanted = { id: newUuid(), organizationId: caller.organizationId, workspaceId, settings }
      const made = await createGuardrail(tx, gateway.clock, wanted)
      await refuseBeyond(tx, gateway.settings.ceilings, 'guardrails', workspaceId)
      return answerOf(tx, made)
    })
  },
})

const get = operation({
  id: 'getGuardrail',
  method: 'GET',
  path: '/guardrails/{id}',
  tag,
  summary: 'Read a guardrail; a default one that was never changed is 404',
  access: 'management',
  params: idParam,
  errors: [404],
  response: guardrailAnswer,
  handle: async ({ gateway, caller, params }) =>
    answerOf(gateway.db, await requireGuardrail(gateway.db, caller.organizationId, params.id)),
})

const update = operation({
  id: 'updateGuardrail',
  method: 'PATCH',
  path: '/guardrails/{id}',
  tag,
  summary: 'Change a guardrail; only the fields sent change, and a list replaces the whole list',
  description:
    'The default guardrail of a workspace and the one of the organization are stored when they are first changed here.',
  access: 'management',
  params: idParam,
  body: updateBody,
  errors: [404, 409],
  response: guardrailAnswer,
  handle: ({ gateway, caller, params, body }) => {
    const changes = changesOf(body, gateway.catalog)
    return gateway.db.transaction().execute(async (tx) => {
      const row = await lockOrStore(tx, gateway.clock, caller.organizationId, params.id)
      refuseRename(row, changes.name)
      if (Object.keys(changes).length === 0) return answerOf(tx, row)
      return answerOf(tx, await updateGuardrail(tx, gateway.clock, row.id, changes))
    })
  },
})

const remove = operation({
  id: 'deleteGuardrail',
  method: 'DELETE',
  path: '/guardrails/{id}',
  tag,
  summary: 'Delete a guardrail and its assignments; a default one is reset',
  access: 'management',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: ({ gateway, caller, params }) =>
    gateway.db.transaction().execute(async (tx) => {
      const { id } = await enterGuardrail(tx, caller.organizationId, params.id)
      await deleteGuardrail(tx, id)
      return { deleted: true as const }
    }),
})

export const guardrailOperations = [
  list,
  create,
  get,
  update,
  remove,
  ...assignmentOperations,
  ...policyOperations,
]

/** Two first changes may come at once: both find one row, one after the other. */
async function lockOrStore(tx: Db, clock: Clock, organizationId: string, id: string): Promise<GuardrailRow> {
  const stored = await tryLockGuardrail(tx, organizationId, id)
  if (stored) return stored
  const standing = await findStanding(tx, organizationId, id)
  if (!standing) throw guardrailMissing()
  const { workspaceId, name } = standing
  if (workspaceId !== null) await lockWorkspace(tx, organizationId, workspaceId)
  await createGuardrailOnce(tx, clock, { id, organizationId, workspaceId, settings: { name } })
  const row = await tryLockGuardrail(tx, organizationId, id)
  if (!row) throw fail('concurrent_change')
  return row
}

/** The id says nothing of its workspace: it is found by deriving it again. */
async function findStanding(
  tx: Db,
  organizationId: string,
  id: string,
): Promise<StandingGuardrail | undefined> {
  const ofOrganization = organizationGuardrail(organizationId)
  if (ofOrganization.id === id) return ofOrganization
  const ids = await workspaceIds(tx, organizationId)
  return ids.map(workspaceGuardrail).find((standing) => standing.id === id)
}

function refuseRename(row: GuardrailRow, name: string | undefined): void {
  if (name === undefined || name === row.name) return
  if (isStanding(row)) throw badField('name', 'a default guardrail keeps its name')
  if (row.workspace_id !== null) refuseStandingName(row.workspace_id, name)
}

/** The default guardrail has its name already, though it may not be stored yet. */
function refuseStandingName(workspaceId: string, name: string): void {
  if (name === workspaceGuardrail(workspaceId).name) {
    throw fail('conflict', `name: "${name}" is the name of the default guardrail of the workspace.`)
  }
}
