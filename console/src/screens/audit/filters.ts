import { readText } from '../../app/search-params.ts'
import { workspaceField } from '../../components/filter-fields.ts'
import { isTimeFilter, resolveTimeFilter } from '../../components/filter-time.ts'

const actorTypes = ['member', 'key', 'workload', 'scim', 'job', 'command', 'anonymous'] as const
const outcomes = ['success', 'refused'] as const
const texts = ['id', 'action', 'actor_id', 'target_type', 'target_id', 'workspace_id', 'request_id'] as const
const times = ['from', 'to'] as const

export { actorTypes, outcomes }

/** Filters of the log: the query of the API, stored in the address. */
export interface AuditFilters
  extends Partial<Record<(typeof texts)[number] | (typeof times)[number], string>> {
  actor_type?: (typeof actorTypes)[number]
  outcome?: (typeof outcomes)[number]
}

function isUuid(text: string): boolean {
  return workspaceField.idPattern.test(text)
}

/** Reads the address; values that the API would reject are omitted. */
export function readFilters(search: Record<string, unknown>): AuditFilters {
  const filters: AuditFilters = {}
  for (const name of texts) {
    const text = readText(search[name])?.slice(0, 256)
    if (text && ((name !== 'id' && name !== 'workspace_id') || isUuid(text))) filters[name] = text
  }
  for (const name of times) {
    const time = readText(search[name])
    if (time && isTimeFilter(time)) filters[name] = time
    else if (time && !Number.isNaN(Date.parse(time))) filters[name] = new Date(time).toISOString()
  }
  const actorType = actorTypes.find((type) => type === search.actor_type)
  const outcome = outcomes.find((known) => known === search.outcome)
  return { ...filters, ...(actorType && { actor_type: actorType }), ...(outcome && { outcome }) }
}

/** The query of `GET /audit`, in which times are absolute. */
export function queryOf({ from, to, ...filters }: AuditFilters, now: number): AuditFilters {
  return {
    ...filters,
    ...(from !== undefined && { from: resolveTimeFilter(from, now) }),
    ...(to !== undefined && { to: resolveTimeFilter(to, now) }),
  }
}
