import { z } from 'zod'
import { assertMayIssueTokens } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import { resolveTokenIssuer } from '../../../access/workload.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { isUniqueViolation } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { findUrlProblem } from '../../../platform/http/egress-policy.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import {
  algorithmsOf,
  deleteIssuer,
  findIssuer,
  hasPolicies,
  type Issuer,
  insertIssuer,
  listIssuers,
  lockIssuer,
  updateIssuer,
} from './store.ts'

const tag = 'Workload identity'
const path = '/workload-identity/issuers'
const params = z.object({ id: z.uuid() })
const errorNotFound = () => gatewayError('not_found', 'The issuer does not exist.')

const subjectAlgorithms = ['ES256', 'RS256'] as const

const issuerRecord = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    issuer: z.string(),
    jwks_uri: z.string().nullable(),
    algorithms: z.array(z.enum(subjectAlgorithms)),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'WorkloadIssuer' })

const name = nameField(100)
const address = z.url({ protocol: /^https?$/ }).max(512)
const jwksUri = address
  .nullable()
  .describe('Where its public keys are. Null: named by its `/.well-known/openid-configuration`.')
const algorithms = z
  .array(z.enum(subjectAlgorithms))
  .min(1)
  .max(subjectAlgorithms.length)
  .describe('The signatures that are accepted.')

const createBody = z.strictObject({
  name,
  issuer: address.describe('Exactly the `iss` of its tokens, such as `https://gitlab.example.com`.'),
  jwks_uri: jwksUri.default(null),
  algorithms: algorithms.default([...subjectAlgorithms]),
})

const updateBody = z.strictObject({
  name: name.optional(),
  jwks_uri: jwksUri.optional(),
  algorithms: algorithms.optional(),
})

const createWorkloadIssuer = defineOperation({
  id: 'createWorkloadIssuer',
  method: 'POST',
  path,
  tag,
  summary: 'Adds an issuer whose tokens workloads exchange, such as a CI system or a cluster.',
  permission: 'workload_identity:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: z.strictObject({ data: issuerRecord }),
  handle: async (context) => {
    const { gateway, caller, body } = context
    assertAddress(gateway, 'issuer', body.issuer)
    assertAddress(gateway, 'jwks_uri', body.jwks_uri)
    if (/[?#]/.test(body.issuer)) throw invalidFieldError('issuer', 'must have no query and no fragment')
    if (body.issuer.replace(/\/$/, '') === resolveTokenIssuer(gateway))
      throw invalidFieldError('issuer', 'must not be this gateway')
    const now = isoNow(gateway.clock)
    const issuer: Issuer = {
      ...body,
      id: newUuid(),
      organization_id: caller.organizationId,
      algorithms: JSON.stringify(body.algorithms),
      created_at: now,
      updated_at: now,
    }
    try {
      await transact(context, async (tx, record) => {
        await insertIssuer(tx, issuer)
        await assertWithinCeiling(tx, gateway.settings.ceilings, 'workload_issuers', caller.organizationId)
        record({ action: 'workload_issuer.create', target: targetOf(issuer), after: issuer })
      })
    } catch (error) {
      if (isUniqueViolation(error)) throw gatewayError('conflict', 'issuer: has already been added.')
      throw error
    }
    return { data: toIssuerRecord(issuer) }
  },
})

const listWorkloadIssuers = defineOperation({
  id: 'listWorkloadIssuers',
  method: 'GET',
  path,
  tag,
  summary: 'Lists the issuers of workload identity, oldest first.',
  permission: 'workload_identity:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(issuerRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listIssuers(gateway.db, caller.organizationId, query)
    return { data: rows.map(toIssuerRecord), total_count: total }
  },
})

const getWorkloadIssuer = defineOperation({
  id: 'getWorkloadIssuer',
  method: 'GET',
  path: `${path}/{id}`,
  tag,
  summary: 'Returns an issuer of workload identity.',
  permission: 'workload_identity:read',
  params,
  errors: [404],
  response: z.strictObject({ data: issuerRecord }),
  handle: async ({ gateway, caller, params }) => {
    const issuer = await findIssuer(gateway.db, caller.organizationId, params.id.toLowerCase())
    if (!issuer) throw errorNotFound()
    return { data: toIssuerRecord(issuer) }
  },
})

const updateWorkloadIssuer = defineOperation({
  id: 'updateWorkloadIssuer',
  method: 'PATCH',
  path: `${path}/{id}`,
  tag,
  summary: 'Changes an issuer of workload identity. Fields that are absent stay as they are.',
  permission: 'workload_identity:write',
  params,
  body: updateBody,
  errors: [404],
  response: z.strictObject({ data: issuerRecord }),
  handle: async (context) => {
    const { gateway, caller, params, body } = context
    assertMayIssueTokens(caller)
    assertAddress(gateway, 'jwks_uri', body.jwks_uri)
    const { algorithms, ...fields } = body
    const after = await transact(context, async (tx, record) => {
      const before = await lockIssuer(tx, caller.organizationId, params.id.toLowerCase())
      if (!before) throw errorNotFound()
      const changed = await updateIssuer(tx, before.id, {
        ...fields,
        ...(algorithms && { algorithms: JSON.stringify(algorithms) }),
        updated_at: isoNow(gateway.clock),
      })
      record({ action: 'workload_issuer.update', target: targetOf(changed), before, after: changed })
      return changed
    })
    return { data: toIssuerRecord(after) }
  },
})

const deleteWorkloadIssuer = defineOperation({
  id: 'deleteWorkloadIssuer',
  method: 'DELETE',
  path: `${path}/{id}`,
  tag,
  summary: 'Deletes an issuer of workload identity. Returns 409 while it has policies.',
  permission: 'workload_identity:write',
  params,
  errors: [404, 409],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: async (context) => {
    const { caller, params } = context
    await transact(context, async (tx, record) => {
      const issuer = await lockIssuer(tx, caller.organizationId, params.id.toLowerCase())
      if (!issuer) throw errorNotFound()
      if (await hasPolicies(tx, issuer.id))
        throw gatewayError('conflict', 'The issuer has policies. Delete them first.')
      await deleteIssuer(tx, issuer.id)
      record({ action: 'workload_issuer.delete', target: targetOf(issuer), before: issuer })
    })
    return { deleted: true as const }
  },
})

export const issuerOperations = [
  createWorkloadIssuer,
  listWorkloadIssuers,
  getWorkloadIssuer,
  updateWorkloadIssuer,
  deleteWorkloadIssuer,
]

/** Rejects a forbidden address; addresses are resolved and checked again on connection. */
function assertAddress(gateway: Gateway, field: string, url: string | null | undefined): void {
  if (url === null || url === undefined) return
  const problem = findUrlProblem(URL.parse(url), gateway.settings.egress.allow_private)
  if (problem !== null) throw invalidFieldError(field, problem)
}

function targetOf({ id, name }: Issuer) {
  return { type: 'workload_issuer', id, name }
}

function toIssuerRecord(issuer: Issuer): z.input<typeof issuerRecord> {
  const { id, name, jwks_uri, created_at, updated_at } = issuer
  const accepted = algorithmsOf(issuer)
  return {
    id,
    name,
    issuer: issuer.issuer,
    jwks_uri,
    algorithms: subjectAlgorithms.filter((algorithm) => accepted.includes(algorithm)),
    created_at,
    updated_at,
  }
}
