import { z } from 'zod'
import { resolveReachableWorkspace } from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockWorkspace } from '../../../identity/workspaces.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { byokRecord, describeKey, toByokRecord } from './record.ts'
import { resolveProviderSlug } from './resolve-provider.ts'
import { byokKeys, lockKeysOf } from './store.ts'

export const orderByokKeys = defineOperation({
  id: 'orderByokKeys',
  method: 'PUT',
  path: '/byok/order',
  tag: 'BYOK',
  summary: 'Sets the order in which the BYOK keys of a provider are tried.',
  description:
    'Names every key of the provider in the workspace, first to last. 409 if the keys have changed in the meantime.',
  permission: 'byok:write',
  body: z.strictObject({
    provider: z.string().min(1).max(100),
    workspace_id: z.uuid().optional().describe('Defaults to the default workspace.'),
    ids: z.array(z.uuid().toLowerCase()).min(1).max(50),
  }),
  errors: [409],
  response: z.strictObject({ data: z.array(byokRecord) }),
  handle: async (context) => {
    const { gateway, caller, body } = context
    const provider = resolveProviderSlug(gateway, body.provider)
    const { id: workspaceId } = await resolveReachableWorkspace(gateway.db, context, body.workspace_id)
    const rows = await transact(context, async (tx, record) => {
      await lockWorkspace(tx, caller.organizationId, workspaceId)
      const existing = await lockKeysOf(tx, workspaceId, provider)
      const ordered = body.ids.flatMap((id) => existing.find((row) => row.id === id) ?? [])
      if (new Set(ordered).size !== existing.length || body.ids.length !== existing.length)
        throw gatewayError(
          'conflict',
          `ids must name each of the ${existing.length} BYOK keys for ${provider} in the workspace once: list them again.`,
        )
      return Promise.all(
        ordered.map(async (row, sortOrder) => {
          if (row.sort_order === sortOrder) return row
          const changed = await byokKeys.update(tx, gateway.clock, row.id, { sort_order: sortOrder })
          record({ action: 'byok_key.update', ...describeKey(row), before: row, after: changed })
          return changed
        }),
      )
    })
    return { data: rows.map(toByokRecord) }
  },
})
