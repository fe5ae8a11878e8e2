import { parseHealthId } from '../../../catalog/health/health-id.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { findOperatorOrganization } from '../../../identity/organizations.ts'
import { type AlertSource, type Finding, openPeriod, quoteName } from '../alert.ts'
import {
  deleteStaleFailures,
  type FailingEndpoint,
  loadFailingEndpoints,
  replaceFailingEndpoints,
} from './store.ts'

const minuteMs = 60_000
/** A failure longer ago says nothing: no request has tried it since. */
const freshMs = 60 * minuteMs
/** Maximum endpoints of one node; more would not change what is notified. */
const maxEndpoints = 500

/** Each node stores the endpoints that it has not reached for a while, for the node that evaluates. */
export async function recordFailingEndpoints(gateway: Gateway): Promise<void> {
  const rows = listFailingEndpoints(gateway)
  await replaceFailingEndpoints(gateway.db, gateway.node.id, rows)
}

function listFailingEndpoints({ routing, catalog, clock, node }: Gateway): FailingEndpoint[] {
  const failing = routing.health
    .listFailing()
    .filter(({ lastAt }) => lastAt >= clock.now() - freshMs)
    .take(maxEndpoints)
    .toArray()
  if (failing.length === 0) return []
  const endpoints = new Map(catalog.models.flatMap((model) => model.endpoints.map((e) => [e.id, e] as const)))
  return failing.flatMap(({ id, since, lastAt }) => {
    const { endpointId, byokKeyId } = parseHealthId(id)
    const endpoint = endpoints.get(endpointId)
    if (!endpoint) return []
    return [
      {
        node_id: node.id,
        health_id: id,
        provider: endpoint.provider.slug,
        model: endpoint.model_id,
        byok_key_id: byokKeyId,
        since: new Date(since).toISOString(),
        last_failure_at: new Date(lastAt).toISOString(),
      },
    ]
  })
}

/** A failing BYOK key concerns its organization, a credential of the installation the one that operates it. */
export const providerFailure: AlertSource = {
  kind: 'provider_failing',
  async find({ db, clock }, rules) {
    const now = clock.now()
    await deleteStaleFailures(db, new Date(now - 24 * freshMs).toISOString())
    const rows = await loadFailingEndpoints(db, new Date(now - freshMs).toISOString())
    const operator = rows.length > 0 ? await findOperatorOrganization(db) : undefined
    const groups = Map.groupBy(rows, (row) => row.byok_key_id ?? row.provider)
    return [...groups.values()].flatMap((group): Finding[] => {
      const [first] = group
      if (!first) return []
      const organizationId = first.byok_key_id === null ? operator?.id : first.organization_id
      if (!organizationId) return []
      return rules.match(organizationId, null).flatMap((rule) => {
        const failing = group.filter((row) => durationOf(row) >= rule.threshold * minuteMs)
        return failing.length === 0
          ? []
          : [{ rule, alert: describe(organizationId, rule.threshold, failing) }]
      })
    })
  },
}

type FailingRow = Awaited<ReturnType<typeof loadFailingEndpoints>>[number]

/** Time for which the endpoint is known to have failed. */
function durationOf({ since, last_failure_at }: FailingRow): number {
  return Date.parse(last_failure_at) - Date.parse(since)
}

const maxModels = 10

function describe(organizationId: string, level: number, rows: readonly FailingRow[]) {
  const [first] = rows
  const provider = first?.provider ?? ''
  const models = [...new Set(rows.map(({ model }) => model))].sort()
  const shown = models.slice(0, maxModels).join(', ')
  const rest = models.length > maxModels ? ` and ${models.length - maxModels} more` : ''
  const byokKeyId = first?.byok_key_id ?? null
  const credential =
    byokKeyId === null
      ? "the installation's credential"
      : `the BYOK key ${quoteName(first?.byok_name ?? first?.byok_label ?? '')}`
  return {
    organizationId,
    workspaceId: null,
    subject: byokKeyId === null ? `provider:${provider}` : `byok:${byokKeyId}`,
    level,
    period: openPeriod,
    title: `The provider ${provider} is failing`,
    text: `Requests to ${provider} with ${credential} have failed since ${first?.since}, without a success: ${shown}${rest}. Requests go to other providers where the models have some. Check the credential and its quota at the provider, and the status page of the provider.`,
    data: {
      provider,
      models: models.slice(0, maxModels),
      since: first?.since ?? null,
      byok_key_id: byokKeyId,
    },
  }
}
