import { z } from 'zod'
import { resolveCoveredWorkspaces, type ScopedRequest } from '../../../access/reachable-workspace.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { HitRow, HitScope } from '../../../governance/guardrail-hits.ts'
import { layerNames } from '../../../governance/policy/effective.ts'
import { filterActions } from '../../../governance/policy/guardrail.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { queryBoolean } from '../../../platform/validation/query-params.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'
import { requireKey } from './draft.ts'

/** Filters that select hits. */
export const hitFilters = z.strictObject({
  layer: z.enum(layerNames).optional().describe('Hits of a rule that the guardrail of this layer has.'),
  rule: z.string().min(1).max(256).optional(),
  action: z.enum(filterActions).optional(),
  enforced: queryBoolean().optional().describe('false for hits of a dry run.'),
  direction: z.enum(['input', 'output']).optional(),
  workspace_id: z.uuid().optional().describe('Defaults to all workspaces of the caller.'),
  api_key_hash: z.string().min(1).max(128).optional(),
  from: utcTimestamp.optional(),
  to: utcTimestamp.optional().describe('Exclusive.'),
})

type HitFilters = z.output<typeof hitFilters>

export interface ResolvedFilters
  extends Pick<HitFilters, 'layer' | 'rule' | 'action' | 'enforced' | 'direction'> {
  scope: HitScope
  /** Null: all. */
  workspaceIds: ReadonlySet<string> | null
}

export async function resolveFilters(
  request: ScopedRequest & { gateway: Gateway },
  filters: HitFilters,
): Promise<ResolvedFilters> {
  const { gateway, caller } = request
  const { layer, rule, action, enforced, direction, workspace_id, api_key_hash } = filters
  const [from, to] = [toStoredTime(filters.from), toStoredTime(filters.to)]
  if (from !== null && to !== null && from >= to) throw invalidFieldError('to', 'must be later than from')
  const workspaceIds = await resolveCoveredWorkspaces(gateway.db, request, workspace_id)
  const key = api_key_hash === undefined ? null : await requireKey(gateway, request, api_key_hash)
  const scope = { organizationId: caller.organizationId, keyId: key?.id ?? null, from, to }
  return { layer, rule, action, enforced, direction, workspaceIds, scope }
}

/** Converts to the precision of the records, so that texts compare as times do. */
function toStoredTime(text: string | undefined): string | null {
  return text === undefined ? null : new Date(text).toISOString()
}

export function isInScope({ keyId, from, to }: HitScope, row: HitRow): boolean {
  return (
    (keyId === null || row.key_id === keyId) &&
    (from === null || row.created_at >= from) &&
    (to === null || row.created_at < to)
  )
}

export function matchesFilters(filters: ResolvedFilters, row: HitRow): boolean {
  const { layer, rule, action, enforced, direction, workspaceIds } = filters
  return (
    (rule === undefined || row.rule === rule) &&
    (action === undefined || row.action === action) &&
    (enforced === undefined || (row.enforced === 1) === enforced) &&
    (direction === undefined || row.direction === direction) &&
    (workspaceIds === null || workspaceIds.has(row.workspace_id)) &&
    (layer === undefined || (JSON.parse(row.layers) as string[]).includes(layer))
  )
}
