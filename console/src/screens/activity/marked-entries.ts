import { listChanges } from '../../components/audit-changes.ts'
import type { Entry } from '../../components/audit-sentence.ts'

/** Changes that can explain a step in a chart: of prices, guardrails, limits, and keys that ended. */
export const markedActions = [
  ...['create', 'update', 'delete'].flatMap((verb) =>
    ['catalogue_endpoint', 'guardrail', 'limit', 'budget'].map((type) => `${type}.${verb}`),
  ),
  ...['guardrail.assign', 'guardrail.unassign', 'key.update', 'key.delete'],
]

/** Other fields of a key, such as its name, explain nothing. */
const keyFields = new Set(['limit_nanos', 'limit_reset', 'disabled', 'tier', 'expires_at'])

/** Marks that a chart has room for. */
export const maxAnnotations = 20

/** A change of another workspace than the one that is shown explains nothing. */
export function selectEntries(entries: readonly Entry[], workspaceId: string | undefined): Entry[] {
  return entries
    .filter((entry) => workspaceId === undefined || (entry.workspace_id ?? workspaceId) === workspaceId)
    .filter(
      ({ action, changes }) =>
        action !== 'key.update' ||
        listChanges(changes?.before, changes?.after).some(({ field }) => keyFields.has(field)),
    )
    .slice(0, maxAnnotations)
}
