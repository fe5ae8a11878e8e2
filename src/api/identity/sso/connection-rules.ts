import type { Caller } from '../../../access/caller.ts'
import { assertMayDelegate } from '../../../access/delegate.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { grantOfRole } from '../../../identity/permissions/grant.ts'
import { additionalRoles } from '../../../identity/permissions/roles.ts'
import { findAssignableRole } from '../../../identity/roles.ts'
import { isMasked } from '../../../platform/crypto/mask.ts'
import type { Db } from '../../../platform/db/db.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { findUrlProblem } from '../../../platform/http/egress-policy.ts'
import type { ConnectionInput } from './record.ts'
import { listWorkspaceIds } from './store.ts'

/** Rules that a schema cannot express. */
export async function validateConnection(
  gateway: Gateway,
  tx: Db,
  caller: Caller,
  { issuer, mappings = [], default_role }: ConnectionInput,
): Promise<void> {
  if (issuer !== undefined) validateIssuer(gateway, issuer)
  const workspaceIds = mappings.flatMap(({ workspace_id }) => workspace_id ?? [])
  const workspaces = new Set(await listWorkspaceIds(tx, caller.organizationId, workspaceIds))
  for (const [i, { workspace_id: workspaceId, role }] of mappings.entries()) {
    if (workspaceId !== null && !workspaces.has(workspaceId))
      throw invalidFieldError(`mappings.${i}.workspace_id`, 'is not a workspace of the organization')
    if (!isMembership(role))
      await assertAssignable(tx, caller, { field: `mappings.${i}.role`, role, workspaceId })
    else if (workspaceId === null)
      throw invalidFieldError(`mappings.${i}.workspace_id`, `is required with the role ${role}`)
  }
  if (default_role !== undefined && default_role !== 'org:member')
    await assertAssignable(tx, caller, { field: 'default_role', role: default_role, workspaceId: null })
}

/** Throws unless the role exists, and the caller could assign it. */
async function assertAssignable(
  tx: Db,
  caller: Caller,
  { field, role: id, workspaceId }: { field: string; role: string; workspaceId: string | null },
): Promise<void> {
  const role = await findAssignableRole(tx, caller.organizationId, id)
  if (!role) throw invalidFieldError(field, describeRoles(field))
  assertMayDelegate(caller, grantOfRole({ role, workspaceId }))
}

/** A masked secret is the one that is stored. */
export function validateNewSecret(secret: string): void {
  if (isMasked(secret)) throw invalidFieldError('client_secret', 'is masked; send the secret itself')
}

function validateIssuer({ settings }: Gateway, issuer: string): void {
  const url = URL.parse(issuer)
  const problem = findUrlProblem(url, settings.egress.allow_private)
  if (problem) throw invalidFieldError('issuer', problem)
  if (/[?#\s]|\/\.well-known\//.test(issuer))
    throw invalidFieldError('issuer', 'must be the issuer itself: no query, fragment or /.well-known/ path')
}

function isMembership(role: string): boolean {
  return role === 'member' || role === 'admin'
}

function describeRoles(field: string): string {
  const others = field === 'default_role' ? 'org:member' : 'member or admin of a workspace'
  const names = additionalRoles.map(({ id }) => id).join(', ')
  return `must be ${others}, ${names}, or the id of a role of the organization; admins of the organization are named by other admins`
}
