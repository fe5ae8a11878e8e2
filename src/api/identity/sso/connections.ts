import { z } from 'zod'
import { assertMayGrantAll } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { isSsoEnforced, type SsoConnection } from '../../../identity/sign-in-rules.ts'
import {
  encryptClientSecret,
  findOwnConnection,
  listMappings,
  type SsoMapping,
} from '../../../identity/sso-connections.ts'
import { applySsoGrants } from '../../../identity/sso-grants.ts'
import { endConnectionSessions } from '../../../identity/sso-sessions.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { isMasked } from '../../../platform/crypto/mask.ts'
import type { Db } from '../../../platform/db/db.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { validateConnection, validateNewSecret } from './connection-rules.ts'
import {
  type ConnectionInput,
  connectionRecord,
  createBody,
  idParam,
  tag,
  toConnectionRecord,
  updateBody,
} from './record.ts'
import {
  deleteConnection,
  hasConnection,
  insertConnection,
  listConnections,
  replaceMappings,
  updateConnection,
} from './store.ts'

const connectionResponse = z.strictObject({ data: connectionRecord })

const listSsoConnections = defineOperation({
  id: 'listSsoConnections',
  method: 'GET',
  path: '/organization/sso/connections',
  tag,
  summary: 'Lists the OpenID Connect providers of the organization, oldest first.',
  permission: 'sso:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(connectionRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listConnections(gateway.db, caller.organizationId, query)
    const ids = rows.map(({ id }) => id)
    const mappings = await listMappings(gateway.db, ids)
    return { data: rows.map((row) => toConnectionRecord(row, mappings)), total_count: total }
  },
})

const createSsoConnection = defineOperation({
  id: 'createSsoConnection',
  method: 'POST',
  path: '/organization/sso/connections',
  tag,
  summary: 'Adds an OpenID Connect provider that members sign in with.',
  description:
    'Register Headgate at the provider as a confidential web client with the authorization code flow and the redirect URI `https://<this server>/signin/oidc/callback`. People can sign in once a domain of the organization is verified.',
  permission: 'sso:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: connectionResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, body } = context
      const { organizationId } = caller
      assertMayGrantAll(caller)
      await lockOrganization(tx, organizationId)
      validateNewSecret(body.client_secret)
      await validateConnection(gateway, tx, caller, body)
      const id = newUuid()
      const row = await insertConnection(tx, {
        id,
        organization_id: organizationId,
        name: body.name,
        issuer: body.issuer,
        client_id: body.client_id,
        sealed_client_secret: encryptClientSecret(gateway.vault, id, body.client_secret),
        client_auth: body.client_auth,
        scopes: JSON.stringify(body.scopes),
        claims: JSON.stringify(body.claims),
        default_role: body.default_role,
        jit: toFlag(body.jit),
        created_at: isoNow(gateway.clock),
        updated_at: isoNow(gateway.clock),
      })
      await replaceMappings(tx, row, body.mappings)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'sso_connections', organizationId)
      const mappings = await listMappings(tx, [id])
      record({ action: 'sso_connection.create', target: targetOf(row), after: auditedRow(row, mappings) })
      return { data: toConnectionRecord(row, mappings) }
    }),
})

const getSsoConnection = defineOperation({
  id: 'getSsoConnection',
  method: 'GET',
  path: '/organization/sso/connections/{id}',
  tag,
  summary: 'Retrieves an OpenID Connect provider, without the secret.',
  permission: 'sso:read',
  params: idParam,
  errors: [404],
  response: connectionResponse,
  handle: async ({ gateway, caller, params }) => {
    const row = await requireConnection(gateway.db, caller.organizationId, params.id)
    return { data: toConnectionRecord(row, await listMappings(gateway.db, [row.id])) }
  },
})

const updateSsoConnection = defineOperation({
  id: 'updateSsoConnection',
  method: 'PATCH',
  path: '/organization/sso/connections/{id}',
  tag,
  summary: 'Updates an OpenID Connect provider. Fields that are not sent stay unchanged.',
  description:
    '`mappings` replaces the whole list: members lose at once what a mapping gave that is no longer in it, and get what a new one gives when they sign in. A new `issuer` needs a new `client_secret`, because the stored one belongs to the old issuer.',
  permission: 'sso:write',
  params: idParam,
  body: updateBody,
  errors: [404],
  response: connectionResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, params, body } = context
      assertMayGrantAll(caller)
      await lockOrganization(tx, caller.organizationId)
      const before = await requireConnection(tx, caller.organizationId, params.id)
      const mappingsBefore = await listMappings(tx, [before.id])
      await validateConnection(gateway, tx, caller, body)
      const after = await updateConnection(tx, gateway.clock, before.id, toColumns(gateway, before, body))
      if (body.mappings) await replaceMappings(tx, after, body.mappings)
      if (body.mappings || body.default_role !== undefined)
        await applySsoGrants(tx, gateway.clock, { organizationId: caller.organizationId })
      const mappings = await listMappings(tx, [after.id])
      record({
        action: 'sso_connection.update',
        target: targetOf(after),
        before: auditedRow(before, mappingsBefore),
        after: auditedRow(after, mappings),
      })
      return { data: toConnectionRecord(after, mappings) }
    }),
})

const deleteSsoConnection = defineOperation({
  id: 'deleteSsoConnection',
  method: 'DELETE',
  path: '/organization/sso/connections/{id}',
  tag,
  summary: 'Removes an OpenID Connect provider, with the sessions, roles and workspaces it gave to members.',
  description: 'The members stay. The last connection cannot be removed while single sign-on is enforced.',
  permission: 'sso:write',
  params: idParam,
  errors: [404, 409],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, params } = context
      const { organizationId } = caller
      await lockOrganization(tx, organizationId)
      const row = await requireConnection(tx, organizationId, params.id)
      if ((await isSsoEnforced(tx, organizationId)) && !(await hasConnection(tx, organizationId, row.id))) {
        throw gatewayError('conflict', 'Single sign-on is enforced: set enforced to false first.')
      }
      await endConnectionSessions(tx, row.id)
      await deleteConnection(tx, row.id)
      await applySsoGrants(tx, gateway.clock, { organizationId })
      record({ action: 'sso_connection.delete', target: targetOf(row), before: { ...row } })
      return { deleted: true as const }
    }),
})

export const connectionOperations = [
  listSsoConnections,
  createSsoConnection,
  getSsoConnection,
  updateSsoConnection,
  deleteSsoConnection,
]

export async function requireConnection(db: Db, organizationId: string, id: string): Promise<SsoConnection> {
  const row = await findOwnConnection(db, organizationId, id)
  if (!row) throw gatewayError('not_found', 'The connection does not exist.')
  return row
}

function toColumns({ vault }: Gateway, row: SsoConnection, body: ConnectionInput) {
  const { name, issuer, client_id, client_auth, scopes, claims, default_role, jit } = body
  const secret = isMasked(body.client_secret ?? '') ? undefined : body.client_secret
  if (secret === undefined && issuer !== undefined && issuer !== row.issuer) {
    throw invalidFieldError('client_secret', 'is required with a new issuer: the stored one is for the old')
  }
  return {
    ...(name !== undefined && { name }),
    ...(issuer !== undefined && { issuer }),
    ...(client_id !== undefined && { client_id }),
    ...(secret !== undefined && { sealed_client_secret: encryptClientSecret(vault, row.id, secret) }),
    ...(client_auth !== undefined && { client_auth }),
    ...(scopes !== undefined && { scopes: JSON.stringify(scopes) }),
    ...(claims !== undefined && { claims: JSON.stringify(claims) }),
    ...(default_role !== undefined && { default_role }),
    ...(jit !== undefined && { jit: toFlag(jit) }),
  }
}

function targetOf({ id, name }: SsoConnection) {
  return { type: 'sso_connection', id, name }
}

function auditedRow(row: SsoConnection, mappings: SsoMapping[]) {
  const list = mappings.map(({ claim, value, workspace_id, role }) => ({ claim, value, workspace_id, role }))
  return { ...row, mappings: JSON.stringify(list) }
}
