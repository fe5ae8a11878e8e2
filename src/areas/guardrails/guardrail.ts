import { z } from 'zod'
import { tryLockWorkspace } from '../../account/workspaces.ts'
import type { Db } from '../../db/db.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import type { GuardrailRow } from '../../policy/guardrail.ts'
import { findGuardrail, tryLockGuardrail } from './store.ts'

export const tag = 'Guardrails'

export const idParam = z.object({ id: z.uuid().toLowerCase() })

export function guardrailNotFoundError() {
  return gatewayError('not_found', 'The guardrail does not exist.')
}

export async function requireGuardrail(db: Db, organizationId: string, id: string): Promise<GuardrailRow> {
  const row = await findGuardrail(db, organizationId, id)
  if (!row) throw guardrailNotFoundError()
  return row
}

/** Locks the workspace before the guardrail, which serializes changes to the assignments of one workspace. */
export async function lockGuardrail(tx: Db, organizationId: string, id: string): Promise<GuardrailRow> {
  const { workspace_id } = await requireGuardrail(tx, organizationId, id)
  if (workspace_id !== null && !(await tryLockWorkspace(tx, organizationId, workspace_id))) {
    throw guardrailNotFoundError()
  }
  const row = await tryLockGuardrail(tx, organizationId, id)
  if (!row) throw guardrailNotFoundError()
  return row
}
