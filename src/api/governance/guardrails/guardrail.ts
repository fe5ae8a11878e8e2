import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import {
  buildOrganizationGuardrail,
  buildWorkspaceGuardrail,
  type DefaultGuardrail,
} from '../../../governance/policy/default-guardrail.ts'
import type { GuardrailRow } from '../../../governance/policy/guardrail.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { lockWorkspace, tryLockWorkspace } from '../../../identity/workspaces.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import type { Clock } from '../../../platform/time/clock.ts'
import { createGuardrailIfAbsent, findGuardrail, listWorkspaceIds, tryLockGuardrail } from './store.ts'

export const tag = 'Guardrails'

export const idParam = z.object({ id: z.uuid().toLowerCase() })

export function guardrailNotFoundError() {
  return gatewayError('not_found', 'The guardrail does not exist.')
}

/** A request that names a guardrail. */
export interface GuardrailRequest {
  caller: Caller
  scope: Scope
  params: { id: string }
}

export async function requireGuardrail(
  db: Db,
  { caller, scope, params }: GuardrailRequest,
): Promise<GuardrailRow> {
  const row = await findGuardrail(db, caller.organizationId, params.id)
  if (!row) throw guardrailNotFoundError()
  assertWithinScope(scope, { workspaceId: row.workspace_id })
  return row
}

/** The target of an event. */
export function describeGuardrail({ id, name, workspace_id: workspaceId }: GuardrailRow) {
  return { target: { type: 'guardrail', id, name }, workspaceId }
}

/** Locks the workspace before the guardrail, which serializes changes to the assignments of one workspace. */
export async function lockGuardrail(tx: Db, request: GuardrailRequest): Promise<GuardrailRow> {
  const { organizationId } = request.caller
  const { id, workspace_id } = await requireGuardrail(tx, request)
  if (workspace_id !== null && !(await tryLockWorkspace(tx, organizationId, workspace_id))) {
    throw guardrailNotFoundError()
  }
  const row = await tryLockGuardrail(tx, organizationId, id)
  if (!row) throw guardrailNotFoundError()
  return row
}

/** Creates the row of a default guardrail on its first change; concurrent first changes share one row. */
export async function lockOrCreateGuardrail(
  tx: Db,
  clock: Clock,
  organizationId: string,
  id: string,
): Promise<GuardrailRow> {
  const stored = await tryLockGuardrail(tx, organizationId, id)
  if (stored) return stored
  const defaultGuardrail = await findDefaultGuardrail(tx, organizationId, id)
  if (!defaultGuardrail) throw guardrailNotFoundError()
  const { workspaceId, name } = defaultGuardrail
  if (workspaceId !== null) await lockWorkspace(tx, organizationId, workspaceId)
  await createGuardrailIfAbsent(tx, clock, { id, organizationId, workspaceId, settings: { name } })
  const row = await tryLockGuardrail(tx, organizationId, id)
  if (!row) throw gatewayError('concurrent_change')
  return row
}

/** The id does not contain its workspace: it is found by deriving the id of each. */
async function findDefaultGuardrail(
  tx: Db,
  organizationId: string,
  id: string,
): Promise<DefaultGuardrail | undefined> {
  const organizationDefault = buildOrganizationGuardrail(organizationId)
  if (organizationDefault.id === id) return organizationDefault
  const ids = await listWorkspaceIds(tx, organizationId)
  return ids.map(buildWorkspaceGuardrail).find((defaultGuardrail) => defaultGuardrail.id === id)
}
