import { z } from 'zod'
import { listedWorkspace, resolveListedWorkspaces } from '../../../access/reachable-workspace.ts'
import { healthSummaryFields, summarizeHealth } from '../../../catalog/health/health-summary.ts'
import { defineOperation } from '../../../http/operation.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { resolveProviderSlug } from './resolve-provider.ts'
import { byokKeys } from './store.ts'

const keyHealth = z
  .strictObject({ id: z.uuid(), provider: z.string(), ...healthSummaryFields })
  .meta({ id: 'ByokKeyHealth' })

export const listByokHealth = defineOperation({
  id: 'listByokHealth',
  method: 'GET',
  path: '/byok/health',
  tag: 'BYOK',
  summary: 'Lists the health of BYOK keys: errors by hour, and with which endpoints a key is left out.',
  description:
    'In the order of `GET /byok`. Measured over the requests that this process sent with them. When a process starts, it takes over the attempts of the last 24 hours from the database.',
  permission: 'byok:read',
  query: pageQuery.extend({
    workspace_id: listedWorkspace,
    provider: z.string().min(1).max(100).optional(),
  }),
  response: z.strictObject({ data: z.array(keyHealth), total_count: z.int() }),
  handle: async (context) => {
    const { gateway, query } = context
    const provider = query.provider === undefined ? undefined : resolveProviderSlug(gateway, query.provider)
    const workspaceIds = await resolveListedWorkspaces(gateway.db, context, query.workspace_id)
    const { rows, total } = await byokKeys.list(gateway.db, { workspaceIds, filters: { provider } }, query)
    const ids = new Set(rows.map(({ id }) => id))
    const measured = Map.groupBy(gateway.routing.health.listByok(ids), ({ keyId }) => keyId)
    const now = gateway.clock.now()
    return {
      data: rows.map((row) => ({
        id: row.id,
        provider: row.provider,
        ...summarizeHealth((measured.get(row.id) ?? []).map(toMeasured), now, true),
      })),
      total_count: total,
    }
  },
})

/** The id of an endpoint has its model and its tag. */
function toMeasured<T extends { endpointId: string }>({ endpointId, ...rest }: T) {
  const [model_id = '', tag = ''] = endpointId.split(' ')
  return { model_id, tag, ...rest }
}
