import { z } from 'zod'
import { assertMayGrantAll } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { defineOperation } from '../../../http/operation.ts'
import { findMembers } from '../../../identity/members.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { loadSsoPolicy, type SsoPolicy, saveSsoPolicy } from '../../../identity/sso-policy.ts'
import { endOtherSessions } from '../../../identity/sso-sessions.ts'
import type { Db } from '../../../platform/db/db.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { connectionOperations } from './connections.ts'
import { domainOperations } from './domains.ts'
import { identityOperations } from './identities.ts'
import { tag } from './record.ts'
import { hasConnection } from './store.ts'
import { testOperations } from './test-connection.ts'

const userIds = z.array(z.string().min(1).max(100)).max(20)

const policyRecord = z
  .strictObject({
    enforced: z.boolean().describe('Whether members sign in with a connection only.'),
    break_glass_user_ids: userIds.describe(
      'Admins who may use their other methods even so, for the time when the provider does not work.',
    ),
    managed_by: managedBy,
  })
  .meta({ id: 'SsoPolicy' })

const policyResponse = z.strictObject({ data: policyRecord })

const getSsoPolicy = defineOperation({
  id: 'getSsoPolicy',
  method: 'GET',
  path: '/organization/sso',
  tag,
  summary: 'Retrieves whether single sign-on is enforced.',
  permission: 'sso:read',
  response: policyResponse,
  handle: async ({ gateway, caller }) => ({
    data: toPolicyRecord(await loadSsoPolicy(gateway.db, caller.organizationId)),
  }),
})

const updateSsoPolicy = defineOperation({
  id: 'updateSsoPolicy',
  method: 'PATCH',
  path: '/organization/sso',
  tag,
  summary: 'Enforces single sign-on, or stops enforcing it. Fields that are not sent stay unchanged.',
  description:
    'Enforcing needs a connection and at least one break-glass admin, and ends the sessions that other members started with other methods. API keys keep working.',
  permission: 'sso:write',
  body: policyRecord.omit({ managed_by: true }).partial(),
  response: policyResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, body } = context
      const { organizationId } = caller
      // It decides with which credentials admins sign in.
      assertMayGrantAll(caller)
      await lockOrganization(tx, organizationId)
      const before = await loadSsoPolicy(tx, organizationId)
      const after = {
        enforced: body.enforced ?? before.enforced,
        breakGlassUserIds: [...new Set(body.break_glass_user_ids ?? before.breakGlassUserIds)].sort(),
      }
      await validatePolicy(tx, organizationId, after)
      await saveSsoPolicy(tx, gateway.clock, organizationId, after)
      if (after.enforced) await endOtherSessions(tx, organizationId)
      record({
        action: 'sso_policy.update',
        target: { type: 'sso_policy', id: organizationId },
        before: toPolicyRecord(before),
        after: toPolicyRecord(after),
      })
      return { data: toPolicyRecord(after) }
    }),
})

export const ssoOperations = [
  getSsoPolicy,
  updateSsoPolicy,
  ...connectionOperations,
  ...testOperations,
  ...domainOperations,
  ...identityOperations,
]

function toPolicyRecord({ enforced, breakGlassUserIds }: SsoPolicy) {
  return { enforced, break_glass_user_ids: breakGlassUserIds }
}

async function validatePolicy(
  tx: Db,
  organizationId: string,
  { enforced, breakGlassUserIds }: SsoPolicy,
): Promise<void> {
  const members =
    breakGlassUserIds.length === 0 ? [] : await findMembers(tx, organizationId, breakGlassUserIds)
  const admins = members.filter(({ role, active }) => role === 'org:admin' && active === 1)
  const others = breakGlassUserIds.filter((id) => !admins.some((admin) => admin.id === id))
  if (others.length > 0)
    throw invalidFieldError(
      'break_glass_user_ids',
      `must be active admins of the organization, unlike ${others.join(', ')}`,
    )
  if (!enforced) return
  if (breakGlassUserIds.length === 0)
    throw invalidFieldError(
      'break_glass_user_ids',
      'must name at least one admin while single sign-on is enforced',
    )
  if (!(await hasConnection(tx, organizationId)))
    throw invalidFieldError('enforced', 'needs a connection: create one first')
}
