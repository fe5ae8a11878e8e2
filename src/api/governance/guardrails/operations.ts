import { z } from 'zod'
import {
  listedWorkspace,
  resolveListedWorkspaces,
  resolveReachableWorkspace,
} from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { buildWorkspaceGuardrail, isDefaultGuardrail } from '../../../governance/policy/default-guardrail.ts'
import { type GuardrailRow, parseGuardrail } from '../../../governance/policy/guardrail.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import { lockWorkspace, requireDefaultWorkspace } from '../../../identity/workspaces.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { pageQuery, searchText } from '../../../platform/validation/query-params.ts'
import { allowedPhraseOperations } from './allowed-phrases.ts'
import { assignmentOperations } from './assignments.ts'
import { createBody, rejectUnknownAliases, toChanges, updateBody, validateBudget } from './body.ts'
import { builtinFilterOperations } from './builtin-filters.ts'
import { encodeChecks } from './external-checks.ts'
import {
  describeGuardrail,
  idParam,
  lockGuardrail,
  lockOrCreateGuardrail,
  requireGuardrail,
  tag,
} from './guardrail.ts'
import { hitOperations } from './hits.ts'
import { policyOperations } from './policy.ts'
import { previewOperations } from './preview.ts'
import { privacyOperations } from './privacy.ts'
import { assertPrivacyChangeAllowed, assertPrivacyResetAllowed } from './privacy-change.ts'
import { guardrailRecord, toGuardrailRecord } from './record.ts'
import { createGuardrail, deleteGuardrail, listGuardrails, updateGuardrail } from './store.ts'

const guardrailResponse = z.strictObject({ data: guardrailRecord })

async function toGuardrailResponse(db: Db, row: GuardrailRow) {
  const workspaceId = row.workspace_id ?? (await requireDefaultWorkspace(db, row.organization_id)).id
  return { data: toGuardrailRecord(parseGuardrail(row), workspaceId) }
}

const listGuardrailsOperation = defineOperation({
  id: 'listGuardrails',
  method: 'GET',
  path: '/guardrails',
  tag,
  summary: 'Lists the guardrails of a workspace, oldest first.',
  permission: 'guardrails:read',
  query: pageQuery.extend({
    workspace_id: listedWorkspace,
    q: searchText.optional().describe('An extension: those with this text in their name or description.'),
  }),
  response: z.strictObject({ data: z.array(guardrailRecord), total_count: z.int() }),
  handle: async (context) => {
    const { gateway, query } = context
    const workspaceIds = await resolveListedWorkspaces(gateway.db, context, query.workspace_id)
    const { rows, total } = await listGuardrails(gateway.db, { workspaceIds, text: query.q }, query)
    return {
      data: rows.map((row) => toGuardrailRecord(parseGuardrail(row), row.workspace_id ?? '')),
      total_count: total,
    }
  },
})

const createGuardrailOperation = defineOperation({
  id: 'createGuardrail',
  method: 'POST',
  path: '/guardrails',
  tag,
  summary: 'Creates a guardrail, which applies to the keys and members it is assigned to.',
  permission: 'guardrails:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: guardrailResponse,
  handle: (context) => {
    const { gateway, caller, body } = context
    const id = newUuid()
    const settings = {
      ...toChanges(body, gateway),
      ...(body.external_checks && encodeChecks(gateway, id, null, body.external_checks)),
      name: body.name,
    }
    validateBudget({ limit_nanos: null, reset_interval: null, ...settings })
    return transact(context, async (tx, record) => {
      const { id: workspaceId } = await resolveReachableWorkspace(tx, context, body.workspace_id)
      await lockWorkspace(tx, caller.organizationId, workspaceId)
      rejectDefaultName(workspaceId, body.name)
      await rejectUnknownAliases(
        tx,
        { organization_id: caller.organizationId, workspace_id: workspaceId },
        body,
      )
      const input = { id, organizationId: caller.organizationId, workspaceId, settings }
      const created = await createGuardrail(tx, gateway.clock, input)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'guardrails', workspaceId)
      record({ action: 'guardrail.create', ...describeGuardrail(created), after: created })
      return toGuardrailResponse(tx, created)
    })
  },
})

const getGuardrailOperation = defineOperation({
  id: 'getGuardrail',
  method: 'GET',
  path: '/guardrails/{id}',
  tag,
  summary: 'Retrieves a guardrail. A default guardrail that was never updated returns 404.',
  permission: 'guardrails:read',
  params: idParam,
  errors: [404],
  response: guardrailResponse,
  handle: async (context) =>
    toGuardrailResponse(context.gateway.db, await requireGuardrail(context.gateway.db, context)),
})

const updateGuardrailOperation = defineOperation({
  id: 'updateGuardrail',
  method: 'PATCH',
  path: '/guardrails/{id}',
  tag,
  summary: 'Updates a guardrail. Fields that are not sent stay unchanged; a list replaces the whole list.',
  description:
    'The default guardrails of a workspace and of the organization are stored on their first update.',
  permission: 'guardrails:write',
  params: idParam,
  body: updateBody,
  errors: [404, 409],
  response: guardrailResponse,
  handle: (context) => {
    const { gateway, caller, scope, params, body } = context
    const settings = toChanges(body, gateway)
    return transact(context, async (tx, record) => {
      const row = await lockOrCreateGuardrail(tx, gateway.clock, caller.organizationId, params.id)
      assertWithinScope(scope, { workspaceId: row.workspace_id })
      const { external_checks: checks } = body
      const changes = {
        ...settings,
        ...(checks !== undefined && encodeChecks(gateway, row.id, row, checks)),
      }
      validateRename(row, changes.name)
      await rejectUnknownAliases(tx, row, context.body)
      await assertPrivacyChangeAllowed(tx, row, changes)
      if (Object.keys(changes).length === 0) return toGuardrailResponse(tx, row)
      const changed = await updateGuardrail(tx, gateway.clock, row.id, changes)
      record({ action: 'guardrail.update', ...describeGuardrail(changed), before: row, after: changed })
      return toGuardrailResponse(tx, changed)
    })
  },
})

const deleteGuardrailOperation = defineOperation({
  id: 'deleteGuardrail',
  method: 'DELETE',
  path: '/guardrails/{id}',
  tag,
  summary: 'Deletes a guardrail and its assignments. A default guardrail is reset.',
  permission: 'guardrails:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const row = await lockGuardrail(tx, context)
      await assertPrivacyResetAllowed(tx, row)
      await deleteGuardrail(tx, row.id)
      record({ action: 'guardrail.delete', ...describeGuardrail(row), before: row })
      return { deleted: true as const }
    }),
})

export const guardrailOperations = [
  listGuardrailsOperation,
  createGuardrailOperation,
  getGuardrailOperation,
  updateGuardrailOperation,
  deleteGuardrailOperation,
  ...assignmentOperations,
  ...policyOperations,
  ...builtinFilterOperations,
  ...hitOperations,
  ...allowedPhraseOperations,
  ...privacyOperations,
  ...previewOperations,
]

function validateRename(row: GuardrailRow, name: string | undefined): void {
  if (name === undefined || name === row.name) return
  if (isDefaultGuardrail(row)) throw invalidFieldError('name', 'cannot be changed for a default guardrail')
  if (row.workspace_id !== null) rejectDefaultName(row.workspace_id, name)
}

/** The default guardrail's name is reserved, even while it is not stored. */
function rejectDefaultName(workspaceId: string, name: string): void {
  if (name === buildWorkspaceGuardrail(workspaceId).name) {
    throw gatewayError('conflict', `name: "${name}" is the name of the default guardrail of the workspace.`)
  }
}
