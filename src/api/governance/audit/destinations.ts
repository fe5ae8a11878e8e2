import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import {
  type AuditDestination,
  deleteAuditDestination as deleteRow,
  findAuditDestination,
  insertAuditDestination,
  listAuditDestinations as listRows,
  updateAuditDestination as updateRow,
} from '../../../delivery/audit-destinations.ts'
import { encryptAuditSecrets, openAuditSecrets, sendAuditEntries } from '../../../delivery/audit-send.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { AuditEntry } from '../../../governance/audit/entry.ts'
import { findChain } from '../../../governance/audit/store.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { encodeList, toFlag } from '../../../platform/db/values.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import {
  auditDestinationRecord,
  type CreateBody,
  createBody,
  toDestinationRecord,
  updateBody,
  validateAddress,
} from './destination-record.ts'
import { resolveChain } from './filters.ts'

const tag = 'Audit log'
const idParam = z.object({ id: z.uuid().toLowerCase() })
const destinationResponse = z.strictObject({ data: auditDestinationRecord })

/** Maximum destinations of one organization. */
const maxDestinations = 50

const listAuditDestinations = defineOperation({
  id: 'listAuditDestinations',
  method: 'GET',
  path: '/audit/destinations',
  tag,
  summary: 'Lists where the audit log is sent to, and how the delivery goes.',
  permission: 'audit:read',
  response: z.strictObject({ data: z.array(auditDestinationRecord) }),
  handle: async ({ gateway, caller }) => {
    const rows = await listRows(gateway.db, caller.organizationId)
    return { data: await Promise.all(rows.map((row) => showDestination(gateway, row))) }
  },
})

const createAuditDestination = defineOperation({
  id: 'createAuditDestination',
  method: 'POST',
  path: '/audit/destinations',
  tag,
  summary: 'Sends the audit log to a webhook or a syslog server, as OCSF events.',
  description: 'An organization can have at most 50 destinations.',
  permission: 'audit:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: destinationResponse,
  handle: async (context) => {
    const { gateway, caller, body } = context
    validateAddress(body, gateway.settings.egress.allow_private)
    const chainId = await resolveChain(gateway, caller, body.chain)
    const row = await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      if ((await listRows(tx, caller.organizationId)).length >= maxDestinations)
        throw gatewayError('conflict', `An organization can have at most ${maxDestinations} destinations.`)
      const position = (body.from_seq ?? ((await findChain(tx, chainId))?.seq ?? 0) + 1) - 1
      const created = await insertAuditDestination(tx, {
        ...toColumns(gateway, body),
        organization_id: caller.organizationId,
        chain_id: chainId,
        position,
      })
      record({ action: 'audit_destination.create', target: targetOf(created), after: created })
      return created
    })
    return { data: await showDestination(gateway, row) }
  },
})

const getAuditDestination = defineOperation({
  id: 'getAuditDestination',
  method: 'GET',
  path: '/audit/destinations/{id}',
  tag,
  summary: 'Retrieves a destination of the audit log.',
  permission: 'audit:read',
  params: idParam,
  errors: [404],
  response: destinationResponse,
  handle: async ({ gateway, caller, params }) => ({
    data: await showDestination(gateway, await requireRow(gateway.db, caller.organizationId, params.id)),
  }),
})

const updateAuditDestination = defineOperation({
  id: 'updateAuditDestination',
  method: 'PATCH',
  path: '/audit/destinations/{id}',
  tag,
  summary: 'Updates a destination of the audit log. Fields that are not sent stay unchanged.',
  description: 'To send to another address, create another destination. What failed is retried at once.',
  permission: 'audit:write',
  params: idParam,
  body: updateBody,
  errors: [404],
  response: destinationResponse,
  handle: async (context) => {
    const { gateway, caller, params, body } = context
    const row = await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = await requireRow(tx, caller.organizationId, params.id)
      const { name, enabled, action_prefixes } = body
      const after = await updateRow(tx, before.id, {
        ...(name !== undefined && { name }),
        ...(enabled !== undefined && { enabled: toFlag(enabled) }),
        ...(action_prefixes !== undefined && { action_prefixes: encodeList(action_prefixes) }),
        retry_at: null,
        failures: 0,
        updated_at: isoNow(gateway.clock),
      })
      record({ action: 'audit_destination.update', target: targetOf(after), before, after })
      return after
    })
    return { data: await showDestination(gateway, row) }
  },
})

const deleteAuditDestination = defineOperation({
  id: 'deleteAuditDestination',
  method: 'DELETE',
  path: '/audit/destinations/{id}',
  tag,
  summary: 'Deletes a destination of the audit log.',
  permission: 'audit:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: async (context) => {
    const { caller, params } = context
    await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = await requireRow(tx, caller.organizationId, params.id)
      await deleteRow(tx, before.id)
      record({ action: 'audit_destination.delete', target: targetOf(before), before })
    })
    return { deleted: true as const }
  },
})

const testResult = z
  .strictObject({ delivered: z.boolean(), error: z.string().nullable(), duration_ms: z.number() })
  .meta({ id: 'AuditDestinationTestResult' })

const testAuditDestination = defineOperation({
  id: 'testAuditDestination',
  method: 'POST',
  path: '/audit/destinations/{id}/test',
  tag,
  summary: 'Sends a test event to a destination of the audit log and returns the outcome.',
  description: 'The event has the code `audit.test` and is not part of the audit log.',
  permission: 'audit:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ data: testResult }),
  handle: async ({ gateway, caller, params }) => {
    const row = await requireRow(gateway.db, caller.organizationId, params.id)
    const startedAt = performance.now()
    const { error } = await sendAuditEntries(gateway, row, [buildTestEntry(gateway, row)])
    const duration_ms = Math.round(performance.now() - startedAt)
    return { data: { delivered: error === null, error, duration_ms } }
  },
})

export const auditDestinationOperations = [
  listAuditDestinations,
  createAuditDestination,
  getAuditDestination,
  updateAuditDestination,
  deleteAuditDestination,
  testAuditDestination,
]

function toColumns({ vault, clock }: Gateway, body: CreateBody) {
  const id = newUuid()
  const { signing_secret, ...config } =
    body.type === 'webhook' ? body.config : { ...body.config, signing_secret: undefined }
  const now = isoNow(clock)
  return {
    id,
    name: body.name,
    type: body.type,
    config: JSON.stringify(config),
    sealed_secrets: encryptAuditSecrets(vault, id, { signing_secret }),
    action_prefixes: encodeList(body.action_prefixes),
    enabled: toFlag(body.enabled),
    created_at: now,
    updated_at: now,
  }
}

async function requireRow(db: Db, organizationId: string, id: string): Promise<AuditDestination> {
  const row = await findAuditDestination(db, id)
  if (row?.organization_id === organizationId) return row
  throw gatewayError('not_found', 'The destination does not exist.')
}

function targetOf({ id, name }: AuditDestination) {
  return { type: 'audit_destination', id, name }
}

async function showDestination({ db, vault }: Gateway, row: AuditDestination) {
  const head = (await findChain(db, row.chain_id))?.seq ?? 0
  const isSigned = openAuditSecrets(vault, row).signing_secret !== undefined
  return toDestinationRecord(row, head, isSigned)
}

function buildTestEntry({ clock }: Gateway, { id, chain_id, name }: AuditDestination): AuditEntry {
  const none = { actor_id: null, ip: null, user_agent: null, request_id: null, workspace_id: null }
  return {
    ...none,
    chain_id,
    seq: 0,
    id: newUuid(),
    created_at: isoNow(clock),
    action: 'audit.test',
    outcome: 'success',
    actor_type: 'job',
    actor_name: 'test',
    target_type: 'audit_destination',
    target_id: id,
    target_name: name,
    changes: null,
    previous_hash: '',
    hash: '',
  }
}
