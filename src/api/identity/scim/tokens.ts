import { z } from 'zod'
import { assertMayGrantAll } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import {
  createScimToken,
  deleteScimToken,
  listScimTokens,
  type ScimToken,
} from '../../../identity/scim-tokens.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'

const tag = 'SCIM'

const tokenRecord = z
  .strictObject({ id: z.uuid(), name: z.string(), label: z.string(), created_at: z.string() })
  .meta({ id: 'ScimToken' })

const createScimTokenOperation = defineOperation({
  id: 'createScimToken',
  method: 'POST',
  path: '/scim/tokens',
  tag,
  summary: 'Creates a token for an identity provider. The token is shown only in this response.',
  permission: 'scim:write',
  body: z.strictObject({ name: nameField(100) }),
  status: 201,
  errors: [409],
  response: z.strictObject({ data: tokenRecord, token: z.string() }),
  handle: async (context) => {
    const { gateway, caller, body } = context
    // It decides who is in which group, and with that in which workspace.
    assertMayGrantAll(caller)
    const input = { organizationId: caller.organizationId, name: body.name }
    const { token, secret } = await transact(context, async (tx, record) => {
      const created = await createScimToken(tx, gateway.clock, input)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'scim_tokens', caller.organizationId)
      record({ action: 'scim_token.create', target: targetOf(created.token), after: created.token })
      return created
    })
    return { data: toTokenRecord(token), token: secret }
  },
})

const listScimTokensOperation = defineOperation({
  id: 'listScimTokens',
  method: 'GET',
  path: '/scim/tokens',
  tag,
  summary: 'Lists the tokens of identity providers, oldest first.',
  permission: 'scim:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(tokenRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listScimTokens(gateway.db, caller.organizationId, query)
    return { data: rows.map(toTokenRecord), total_count: total }
  },
})

const deleteScimTokenOperation = defineOperation({
  id: 'deleteScimToken',
  method: 'DELETE',
  path: '/scim/tokens/{id}',
  tag,
  summary: 'Revokes a token of an identity provider.',
  permission: 'scim:write',
  params: z.object({ id: z.uuid() }),
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { caller, params } = context
      const token = await deleteScimToken(tx, caller.organizationId, params.id.toLowerCase())
      if (!token) throw gatewayError('not_found', 'The SCIM token does not exist.')
      record({ action: 'scim_token.delete', target: targetOf(token), before: token })
      return { deleted: true as const }
    }),
})

export const tokenOperations = [createScimTokenOperation, listScimTokensOperation, deleteScimTokenOperation]

function targetOf({ id, name }: ScimToken) {
  return { type: 'scim_token', id, name }
}

function toTokenRecord(token: ScimToken): z.input<typeof tokenRecord> {
  return { id: token.id, name: token.name, label: token.label, created_at: token.created_at }
}
