import { z } from 'zod'
import { assertMayGrantAll } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { applySsoGrants } from '../../../identity/sso-grants.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { idParam, tag } from './record.ts'
import { deleteIdentity, deleteIdentitySessions, listIdentities } from './store.ts'

const identityRecord = z
  .strictObject({
    id: z.uuid(),
    user_id: z.string(),
    connection_id: z.uuid(),
    issuer: z.string(),
    subject: z.string(),
    created_at: z.string(),
    last_signed_in_at: z.string(),
  })
  .meta({ id: 'SsoIdentity' })

const listSsoIdentities = defineOperation({
  id: 'listSsoIdentities',
  method: 'GET',
  path: '/organization/sso/identities',
  tag,
  summary: 'Lists which person of an identity provider is which member.',
  permission: 'sso:read',
  query: pageQuery.extend({ user_id: z.string().min(1).max(100).optional() }),
  response: z.strictObject({ data: z.array(identityRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listIdentities(gateway.db, caller.organizationId, query.user_id, query)
    const data = rows.map(({ organization_id: _, ...identity }) => identity)
    return { data, total_count: total }
  },
})

const deleteSsoIdentity = defineOperation({
  id: 'deleteSsoIdentity',
  method: 'DELETE',
  path: '/organization/sso/identities/{id}',
  tag,
  summary: 'Removes the link between a person of an identity provider and a member, and ends its sessions.',
  permission: 'sso:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, params } = context
      const { organizationId } = caller
      // Another person with the address can then become the member.
      assertMayGrantAll(caller)
      await lockOrganization(tx, organizationId)
      const row = await deleteIdentity(tx, organizationId, params.id)
      if (!row) throw gatewayError('not_found', 'The identity does not exist.')
      await deleteIdentitySessions(tx, row)
      await applySsoGrants(tx, gateway.clock, { organizationId, userIds: [row.user_id] })
      const target = { type: 'sso_identity', id: row.id, name: row.subject }
      record({ action: 'sso_identity.delete', target, before: { ...row } })
      return { deleted: true as const }
    }),
})

export const identityOperations = [listSsoIdentities, deleteSsoIdentity]
