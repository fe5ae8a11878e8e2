import { z } from 'zod'
import { assertMayGrantAll } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { setDomainVerified, verificationRecordOf } from '../../../identity/sso-domains.ts'
import { newToken, newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { subsystemLog } from '../../../platform/logging/subsystem-log.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { requireConnection } from './connections.ts'
import { domainName, domainRecord, idParam, tag, toDomainRecord } from './record.ts'
import { deleteDomain, findDomain, insertDomain, listDomains, type SsoDomain } from './store.ts'

const domainResponse = z.strictObject({ data: domainRecord })

const listSsoDomains = defineOperation({
  id: 'listSsoDomains',
  method: 'GET',
  path: '/organization/sso/domains',
  tag,
  summary: 'Lists the e-mail domains of the organization, oldest first.',
  permission: 'sso:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(domainRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listDomains(gateway.db, caller.organizationId, query)
    return { data: rows.map(toDomainRecord), total_count: total }
  },
})

const createSsoDomain = defineOperation({
  id: 'createSsoDomain',
  method: 'POST',
  path: '/organization/sso/domains',
  tag,
  summary: 'Adds an e-mail domain. It has no effect until it is verified.',
  permission: 'sso:write',
  body: z.strictObject({
    domain: domainName.describe('Such as example.com. Subdomains are separate domains.'),
    connection_id: z
      .uuid()
      .toLowerCase()
      .nullable()
      .default(null)
      .describe('The connection that addresses of the domain sign in with. Null: the oldest one.'),
  }),
  status: 201,
  errors: [404, 409],
  response: domainResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, body } = context
      const { organizationId } = caller
      // People with an address of the domain can become any member who has it.
      assertMayGrantAll(caller)
      await lockOrganization(tx, organizationId)
      if (body.connection_id) await requireConnection(tx, organizationId, body.connection_id)
      const row = await insertDomain(tx, {
        id: newUuid(),
        organization_id: organizationId,
        domain: body.domain,
        connection_id: body.connection_id,
        verification_token: newToken(),
        verified_by: null,
        verified_at: null,
        created_at: isoNow(gateway.clock),
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'sso_domains', organizationId)
      record({ action: 'sso_domain.create', target: targetOf(row), after: { ...row } })
      return { data: toDomainRecord(row) }
    }),
})

const verifySsoDomain = defineOperation({
  id: 'verifySsoDomain',
  method: 'POST',
  path: '/organization/sso/domains/{id}/verify',
  tag,
  summary: 'Verifies an e-mail domain by its TXT record.',
  description:
    'Returns 400 while the record is missing. A domain belongs to one organization of the installation: the first that verifies it. The operator can confirm a domain without DNS, with `headgate sso verify-domain`.',
  permission: 'sso:write',
  params: idParam,
  errors: [404, 409, 503],
  response: domainResponse,
  handle: async (context) => {
    const { gateway, caller, params } = context
    assertMayGrantAll(caller)
    const found = await requireDomain(gateway.db, caller.organizationId, params.id)
    if (found.verified_at !== null) return { data: toDomainRecord(found) }
    await assertRecordPresent(gateway, found)
    return transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = await requireDomain(tx, caller.organizationId, params.id)
      const after = await setDomainVerified(tx, gateway.clock, before.id, 'dns')
      record({
        action: 'sso_domain.verify',
        target: targetOf(after),
        before: { ...before },
        after: { ...after },
      })
      return { data: toDomainRecord(after) }
    })
  },
})

const deleteSsoDomain = defineOperation({
  id: 'deleteSsoDomain',
  method: 'DELETE',
  path: '/organization/sso/domains/{id}',
  tag,
  summary: 'Removes an e-mail domain. People who signed in before still can.',
  permission: 'sso:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { caller, params } = context
      await lockOrganization(tx, caller.organizationId)
      const row = await requireDomain(tx, caller.organizationId, params.id)
      await deleteDomain(tx, row.id)
      record({ action: 'sso_domain.delete', target: targetOf(row), before: { ...row } })
      return { deleted: true as const }
    }),
})

export const domainOperations = [listSsoDomains, createSsoDomain, verifySsoDomain, deleteSsoDomain]

async function requireDomain(db: Db, organizationId: string, id: string): Promise<SsoDomain> {
  const row = await findDomain(db, organizationId, id)
  if (!row) throw gatewayError('not_found', 'The domain does not exist.')
  return row
}

async function assertRecordPresent({ identity, log }: Gateway, row: SsoDomain): Promise<void> {
  const { name, value } = verificationRecordOf(row)
  const records = await identity.resolveTxt(name).catch((error: unknown) => {
    subsystemLog(log, 'identity').warn({ err: error, domain: row.domain }, 'TXT records not resolved')
    throw gatewayError('unavailable', `The TXT records of ${name} could not be looked up. Retry later.`)
  })
  if (!records.includes(value))
    throw invalidFieldError('domain', `is not verified: ${name} has no TXT record "${value}"`)
}

function targetOf({ id, domain }: SsoDomain) {
  return { type: 'sso_domain', id, name: domain }
}
