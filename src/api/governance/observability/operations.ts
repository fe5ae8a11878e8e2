import { z } from 'zod'
import {
  listedWorkspace,
  resolveListedWorkspaces,
  resolveReachableWorkspace,
} from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { retryAtOnce } from '../../../delivery/destination-states.ts'
import { getDestination } from '../../../delivery/destinations/all.ts'
import {
  encryptConfig,
  listSecrets,
  mergeConfig,
  openConfig,
  originOf,
  rejectMaskedValues,
  validateAddress,
} from '../../../delivery/destinations/config.ts'
import type { DestinationConfig } from '../../../delivery/destinations/destination.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { assertPrivacyUnlocked } from '../../../governance/privacy-lock.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { requireWorkspaceKeys } from '../../../identity/key-lists.ts'
import { lockWorkspace, tryLockWorkspace } from '../../../identity/workspaces.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { deliveryOperations } from './delivery-operations.ts'
import {
  createBody,
  type DestinationRow,
  destinationRecord,
  toDestinationRecord,
  toSettingColumns,
  updateBody,
} from './record.ts'
import {
  countDestinations,
  describeDestination,
  destinations,
  lockDestination,
  requireDestination,
} from './store.ts'
import { testDestination, testResult } from './test-destination.ts'
import { findSharing, findWeakening } from './weakening.ts'

const tag = 'Observability'

/** Maximum destinations of one type in one workspace. */
const maxPerType = 5

const idParam = z.object({ id: z.uuid().toLowerCase() })
const destinationResponse = z.strictObject({ data: destinationRecord })

const listObservabilityDestinations = defineOperation({
  id: 'listObservabilityDestinations',
  method: 'GET',
  path: '/observability/destinations',
  tag,
  summary: 'Lists the destinations of a workspace, oldest first.',
  permission: 'destinations:read',
  query: pageQuery.extend({ workspace_id: listedWorkspace }),
  response: z.strictObject({ data: z.array(destinationRecord), total_count: z.int() }),
  handle: async (context) => {
    const { gateway, query } = context
    const workspaceIds = await resolveListedWorkspaces(gateway.db, context, query.workspace_id)
    const { rows, total } = await destinations.list(gateway.db, { workspaceIds }, query)
    return { data: rows.map((row) => toDestinationRecord(gateway.vault, row)), total_count: total }
  },
})

const createObservabilityDestination = defineOperation({
  id: 'createObservabilityDestination',
  method: 'POST',
  path: '/observability/destinations',
  tag,
  summary: 'Creates a destination that finished requests are reported to.',
  description: 'A workspace can have at most five destinations of each type.',
  permission: 'destinations:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: destinationResponse,
  handle: async (context) => {
    const { gateway, caller, body } = context
    const kind = getDestination(body.type)
    const config: DestinationConfig = body.config
    rejectMaskedValues(kind, config)
    validateAddress(kind, config, gateway.settings.egress.allow_private)
    const { id: workspaceId } = await resolveReachableWorkspace(gateway.db, context, body.workspace_id)
    const id = newUuid()
    const row = await transact(context, async (tx, record) => {
      await lockWorkspace(tx, caller.organizationId, workspaceId)
      await requireWorkspaceKeys(tx, workspaceId, 'api_key_hashes', body.api_key_hashes)
      const settings = { ...defaultSettings, ...toSettingColumns(body) }
      await assertPrivacyUnlocked(tx, caller.organizationId, findSharing(settings))
      if ((await countDestinations(tx, workspaceId, kind.type)) >= maxPerType)
        throw tooManyDestinationsError(kind.type)
      const created = await destinations.insert(tx, gateway.clock, {
        ...settings,
        ...encryptConfig(gateway.vault, kind, id, config),
        id,
        organization_id: caller.organizationId,
        workspace_id: workspaceId,
        type: kind.type,
        secrets_origin: originOf(kind, config),
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'destinations', workspaceId)
      record({ action: 'destination.create', ...describeDestination(created), after: created })
      return created
    })
    return { data: toDestinationRecord(gateway.vault, row) }
  },
})

const getObservabilityDestination = defineOperation({
  id: 'getObservabilityDestination',
  method: 'GET',
  path: '/observability/destinations/{id}',
  tag,
  summary: 'Retrieves a destination.',
  permission: 'destinations:read',
  params: idParam,
  errors: [404],
  response: destinationResponse,
  handle: async (context) => ({
    data: toDestinationRecord(context.gateway.vault, await requireDestination(context.gateway.db, context)),
  }),
})

const updateObservabilityDestination = defineOperation({
  id: 'updateObservabilityDestination',
  method: 'PATCH',
  path: '/observability/destinations/{id}',
  tag,
  summary: 'Updates a destination. Fields that are not sent stay unchanged.',
  description:
    'If the address changes to another origin, the secrets stay stored but are not sent until all of them, including header values, are entered again in one request.',
  permission: 'destinations:write',
  params: idParam,
  body: updateBody,
  errors: [404, 409],
  response: destinationResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, body } = context
      const { organizationId } = context.caller
      const existing = await requireDestination(tx, context)
      // Locks the workspace before the record, in the same order as deleting a workspace.
      if (body.enabled && !(await tryLockWorkspace(tx, organizationId, existing.workspace_id)))
        throw gatewayError('conflict', 'The workspace of this destination was deleted.')
      const row = await lockDestination(tx, context)
      await requireWorkspaceKeys(tx, row.workspace_id, 'api_key_hashes', body.api_key_hashes)
      const config = body.config && mergeStoredConfig(gateway, row, body.config)
      const changes = { ...toSettingColumns(body), ...config?.columns }
      const weakening = findWeakening(row, { ...row, ...changes }, config?.isOtherOrigin ?? false)
      await assertPrivacyUnlocked(tx, organizationId, weakening)
      if (Object.keys(changes).length === 0) return { data: toDestinationRecord(gateway.vault, row) }
      await retryAtOnce(tx, row.id, body.enabled === true)
      const changed = await destinations.update(tx, gateway.clock, row.id, changes)
      record({ action: 'destination.update', ...describeDestination(changed), before: row, after: changed })
      return { data: toDestinationRecord(gateway.vault, changed) }
    }),
})

const deleteObservabilityDestination = defineOperation({
  id: 'deleteObservabilityDestination',
  method: 'DELETE',
  path: '/observability/destinations/{id}',
  tag,
  summary: 'Deletes a destination and wipes its secrets.',
  permission: 'destinations:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const row = await lockDestination(tx, context)
      await destinations.remove(tx, context.gateway.clock, row.id)
      record({ action: 'destination.delete', ...describeDestination(row), before: row })
      return { deleted: true as const }
    }),
})

const testObservabilityDestination = defineOperation({
  id: 'testObservabilityDestination',
  method: 'POST',
  path: '/observability/destinations/{id}/test',
  tag: 'Observability',
  summary: 'Sends a test request to a destination and returns the outcome.',
  description: 'The request carries the header `X-Test-Connection: true`.',
  permission: 'destinations:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ data: testResult }),
  handle: async (context) => {
    const { gateway } = context
    const row = await requireDestination(gateway.db, context)
    const data = await testDestination(gateway, row)
    await transact(context, async (_tx, record) =>
      record({
        action: 'destination.test',
        ...describeDestination(row),
        details: { delivered: data.delivered },
      }),
    )
    return { data }
  },
})

export const observabilityOperations = [
  listObservabilityDestinations,
  createObservabilityDestination,
  getObservabilityDestination,
  updateObservabilityDestination,
  deleteObservabilityDestination,
  testObservabilityDestination,
  ...deliveryOperations,
]

const defaultSettings = {
  name: null,
  enabled: 1,
  privacy_mode: 0,
  broadcast_generation_cost: 0,
  broadcast_generation_identity: 0,
  broadcast_generation_request_context: 0,
  sampling_rate: 1,
  regions: '["global"]',
  api_key_hashes: null,
  filter_rules: null,
} as const

/** The secrets move to the new origin only if all of them were entered again. */
function mergeStoredConfig(gateway: Gateway, row: DestinationRow, sent: Record<string, unknown>) {
  const kind = getDestination(row.type)
  const stored = openConfig(gateway.vault, row)
  const { config, renewed } = mergeConfig(kind, stored, sent)
  validateAddress(kind, config, gateway.settings.egress.allow_private)
  const allRenewed = listSecrets(kind, config).every((name) => renewed.has(name))
  const origin = originOf(kind, config)
  const columns = {
    ...encryptConfig(gateway.vault, kind, row.id, config),
    secrets_origin: allRenewed ? origin : row.secrets_origin,
  }
  return { columns, isOtherOrigin: origin !== originOf(kind, stored) }
}

function tooManyDestinationsError(type: string) {
  return gatewayError(
    'conflict',
    `type: the workspace already has ${maxPerType} destinations of the type ${type}.`,
  )
}
