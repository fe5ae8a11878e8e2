import type { Gateway } from '../../app/gateway.ts'
import type { Db } from '../../db/db.ts'
import { invalidFieldError } from '../../errors/gateway-error.ts'
import { findUrlProblem } from '../../lib/egress-policy.ts'
import { isMasked } from '../../lib/mask.ts'
import { additionalRoles } from '../../permissions/roles.ts'
import type { ConnectionInput } from './record.ts'
import { listCustomRoles, listWorkspaceIds } from './store.ts'

/** Rules that a schema cannot express. */
export async function validateConnection(
  gateway: Gateway,
  tx: Db,
  organizationId: string,
  { issuer, mappings = [], default_role }: ConnectionInput,
): Promise<void> {
  if (issuer !== undefined) validateIssuer(gateway, issuer)
  const workspaceIds = mappings.flatMap(({ workspace_id }) => workspace_id ?? [])
  const workspaces = new Set(await listWorkspaceIds(tx, organizationId, workspaceIds))
  const roles = await loadRoles(tx, organizationId, [default_role ?? '', ...mappings.map(({ role }) => role)])
  for (const [i, { workspace_id, role }] of mappings.entries()) {
    if (workspace_id !== null && !workspaces.has(workspace_id))
      throw invalidFieldError(`mappings.${i}.workspace_id`, 'is not a workspace of the organization')
    if (!isMembership(role) && !roles.has(role))
      throw invalidFieldError(`mappings.${i}.role`, describeRoles('member and admin of a workspace'))
    if (isMembership(role) && workspace_id === null)
      throw invalidFieldError(`mappings.${i}.workspace_id`, `is required with the role ${role}`)
  }
  if (default_role !== undefined && default_role !== 'org:member' && !roles.has(default_role))
    throw invalidFieldError('default_role', describeRoles('org:member'))
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

async function loadRoles(tx: Db, organizationId: string, ids: string[]): Promise<Set<string>> {
  const custom = await listCustomRoles(tx, organizationId, [...new Set(ids)])
  return new Set([...additionalRoles.map(({ id }) => id), ...custom])
}

function describeRoles(others: string): string {
  const names = additionalRoles.map(({ id }) => id).join(', ')
  return `must be ${others}, ${names}, or the id of a role of the organization; admins of the organization are named by other admins`
}
