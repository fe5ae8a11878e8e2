import { z } from 'zod'
import { refuseBeyond } from '../../account/ceilings.ts'
import { knownHashes } from '../../account/keys.ts'
import { enterWorkspace, lockWorkspace, tryLockWorkspace } from '../../account/workspaces.ts'
import type { Db } from '../../db/db.ts'
import { destinationOf } from '../../destinations/all.ts'
import type { Config } from '../../destinations/destination.ts'
import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { newUuid } from '../../lib/ids.ts'
import { pageQuery } from '../../lib/page.ts'
import { operation } from '../../operation.ts'
import {
  mergeConfig,
  openConfig,
  originOf,
  refuseAddress,
  refuseMasks,
  sealConfig,
  secretsOf,
} from './config.ts'
import {
  createBody,
  type DestinationRow,
  destinationRecord,
  recordOf,
  settingsOf,
  updateBody,
} from './record.ts'
import {
  countDestinations,
  findDestination,
  insertDestination,
  listDestinations,
  lockDestination,
  removeDestination,
  updateDestination,
} from './store.ts'
import { testResult, tryDestination } from './try-destination.ts'

const tag = 'Observability'

/** Of one type in one workspace. */
const mostOfOneType = 5

const idParam = z.object({ id: z.uuid().toLowerCase() })
const answer = z.strictObject({ data: destinationRecord })

const listAll = operation({
  id: 'listObservabilityDestinations',
  method: 'GET',
  path: '/observability/destinations',
  tag,
  summary: 'List the destinations of a workspace, oldest first',
  access: 'management',
  query: pageQuery.extend({ workspace_id: z.uuid().optional().describe('Default: the default workspace') }),
  response: z.strictObject({ data: z.array(destinationRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const workspace = await enterWorkspace(gateway.db, caller.organizationId, query.workspace_id)
    const { rows, total } = await listDestinations(gateway.db, workspace.id, query)
    return { data: rows.map((row) => recordOf(gateway.vault, row)), total_count: total }
  },
})

const create = operation({
  id: 'createObservabilityDestination',
  method: 'POST',
  path: '/observability/destinations',
  tag,
  summary: 'Create a destination that finished calls are reported to',
  description: 'A workspace has at most five of each type.',
  access: 'management',
  body: createBody,
  status: 201,
  errors: [409],
  response: answer,
  handle: async ({ gateway, caller, body }) => {
    const kind = destinationOf(body.type)
    const config: Config = body.config
    refuseMasks(kind, config)
    refuseAddress(kind, config, gateway.settings.egress.allow_private)
    await refuseUnknownKeys(gateway.db, caller.organizationId, body.api_key_hashes)
    const { id: workspaceId } = await enterWorkspace(gateway.db, caller.organizationId, body.workspace_id)
    const id = newUuid()
    const row = await gateway.db.transaction().execute(async (tx) => {
      await lockWorkspace(tx, caller.organizationId, workspaceId)
      if ((await countDestinations(tx, workspaceId, kind.type)) >= mostOfOneType) throw tooMany(kind.type)
      const made = await insertDestination(tx, gateway.clock, {
        ...startSettings,
        ...settingsOf(body),
        ...sealConfig(gateway.vault, kind, id, config),
        id,
        organization_id: caller.organizationId,
        workspace_id: workspaceId,
        type: kind.type,
        secrets_origin: originOf(kind, config),
      })
      await refuseBeyond(tx, gateway.settings.ceilings, 'destinations', workspaceId)
      return made
    })
    return { data: recordOf(gateway.vault, row) }
  },
})

const get = operation({
  id: 'getObservabilityDestination',
  method: 'GET',
  path: '/observability/destinations/{id}',
  tag,
  summary: 'Read a destination',
  access: 'management',
  params: idParam,
  errors: [404],
  response: answer,
  handle: async ({ gateway, caller, params }) => ({
    data: recordOf(gateway.vault, await requireDestination(gateway.db, caller.organizationId, params.id)),
  }),
})

const update = operation({
  id: 'updateObservabilityDestination',
  method: 'PATCH',
  path: '/observability/destinations/{id}',
  tag,
  summary: 'Change a destination; only the fields sent change',
  description:
    'When the address moves to another origin, the secrets are kept but not sent there until all of them, header values included, are entered again in one request.',
  access: 'management',
  params: idParam,
  body: updateBody,
  errors: [404, 409],
  response: answer,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      const { organizationId } = caller
      const found = await requireDestination(tx, organizationId, params.id)
      // The workspace before the record, as when the workspace is deleted.
      if (body.enabled && !(await tryLockWorkspace(tx, organizationId, found.workspace_id)))
        throw fail('conflict', 'The workspace of this destination was deleted.')
      const row = await lockDestination(tx, organizationId, params.id)
      if (!row) throw missing()
      await refuseUnknownKeys(tx, organizationId, body.api_key_hashes)
      const changes = { ...settingsOf(body), ...(body.config && configChanges(gateway, row, body.config)) }
      if (Object.keys(changes).length === 0) return { data: recordOf(gateway.vault, row) }
      return { data: recordOf(gateway.vault, await updateDestination(tx, gateway.clock, row.id, changes)) }
    }),
})

const remove = operation({
  id: 'deleteObservabilityDestination',
  method: 'DELETE',
  path: '/observability/destinations/{id}',
  tag,
  summary: 'Delete a destination; its secrets are wiped',
  access: 'management',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: async ({ gateway, caller, params }) => {
    if (!(await removeDestination(gateway.db, gateway.clock, caller.organizationId, params.id)))
      throw missing()
    return { deleted: true as const }
  },
})

const test = operation({
  id: 'testObservabilityDestination',
  method: 'POST',
  path: '/observability/destinations/{id}/test',
  tag: 'Admin',
  summary: 'Send a test to a destination and say how it went',
  description: 'The request is marked with the header `X-Test-Connection: true`.',
  access: 'management',
  params: idParam,
  errors: [404],
  response: z.strictObject({ data: testResult }),
  handle: async ({ gateway, caller, params }) => ({
    data: await tryDestination(
      gateway,
      await requireDestination(gateway.db, caller.organizationId, params.id),
    ),
  }),
})

export const observabilityOperations = [listAll, create, get, update, remove, test]

const startSettings = {
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

/** The secrets belong to the new origin only when every one of them was entered for it. */
function configChanges(gateway: Gateway, row: DestinationRow, sent: Record<string, unknown>) {
  const kind = destinationOf(row.type)
  const { config, renewed } = mergeConfig(kind, openConfig(gateway.vault, row), sent)
  refuseAddress(kind, config, gateway.settings.egress.allow_private)
  const allRenewed = secretsOf(kind, config).every((name) => renewed.has(name))
  return {
    ...sealConfig(gateway.vault, kind, row.id, config),
    secrets_origin: allRenewed ? originOf(kind, config) : row.secrets_origin,
  }
}

async function refuseUnknownKeys(
  db: Db,
  organizationId: string,
  hashes: string[] | null | undefined,
): Promise<void> {
  if (!hashes) return
  const known = await knownHashes(db, organizationId, hashes)
  const unknown = hashes.findIndex((hash) => !known.has(hash))
  if (unknown >= 0)
    throw badField(`api_key_hashes.${unknown}`, `${hashes[unknown]} is not a key of the organization`)
}

async function requireDestination(db: Db, organizationId: string, id: string): Promise<DestinationRow> {
  const row = await findDestination(db, organizationId, id)
  if (!row) throw missing()
  return row
}

function missing() {
  return fail('not_found', 'The destination does not exist.')
}

function tooMany(type: string) {
  return fail(
    'conflict',
    `type: the workspace already has ${mostOfOneType} destinations of the type ${type}.`,
  )
}
