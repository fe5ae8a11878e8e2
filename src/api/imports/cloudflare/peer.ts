import { z } from 'zod'
import { nameLimit, toRateWindow } from '../amounts.ts'
import {
  type AccountPlan,
  type ImportPlan,
  noAccounts,
  noCatalog,
  type PlannedAlias,
  type SkippedItem,
} from '../import-plan.ts'
import { type JsonRecord, listRecords } from '../json-export.ts'
import type { Peer, PeerContext } from '../peer.ts'
import { assignSlugs } from '../slugs.ts'
import type { ImportDocument } from '../source.ts'
import { toGroupAlias, toSplitAlias } from '../split-alias.ts'
import { followRoute, routeRecord } from './route.ts'
import { authors, identity } from './vendors.ts'

const count = z.number().nullish().catch(null)
const gatewayRecord = z.object({
  id: z.string(),
  cache_ttl: count,
  collect_logs: z.boolean().nullish().catch(null),
  rate_limiting_limit: count,
  rate_limiting_interval: count,
  retry_max_attempts: count,
  logpush: z.boolean().nullish().catch(null),
  zdr: z.boolean().nullish().catch(null),
})
type GatewayRecord = z.output<typeof gatewayRecord>

const isGateway = (record: JsonRecord) => 'rate_limiting_limit' in record && 'collect_logs' in record
const isRoute = (record: JsonRecord) => Array.isArray(record.elements) && 'name' in record

export const cloudflare: Peer = {
  ...identity,
  reads: 'gateways and dynamic routes from saved responses of the API of Cloudflare AI Gateway',
  tables: {},
  recognizes: (document) =>
    [isGateway, isRoute].some((isWanted) => listRecords(document, isWanted).length > 0),
  translate: translateExport,
}

function translateExport(documents: readonly ImportDocument[], context: PeerContext): ImportPlan {
  const gateways = documents
    .flatMap((document) => listRecords(document, isGateway))
    .flatMap((record) => gatewayRecord.safeParse(record).data ?? [])
  const slugs = assignSlugs(
    gateways.map(({ id }) => ({ id, name: id })),
    'gateway',
  )
  const accounts: AccountPlan = { ...noAccounts, workspaces: [], limits: [] }
  const skipped: SkippedItem[] = []
  for (const gateway of gateways) translateGateway(gateway, slugs.get(gateway.id) ?? '', accounts, skipped)
  const aliases = documents
    .flatMap((document) => listRecords(document, isRoute))
    .flatMap((record) => translateRoute(record, context, skipped))
  return { catalog: { ...noCatalog, aliases }, accounts, skipped }
}

function translateGateway(
  gateway: GatewayRecord,
  slug: string,
  accounts: AccountPlan,
  skipped: SkippedItem[],
): void {
  const { id, rate_limiting_limit: limit, rate_limiting_interval: interval } = gateway
  if (slug !== 'default')
    accounts.workspaces.push({ slug, name: id.slice(0, 100), budget: null, spend: 0n, models: null })
  if (limit && interval) {
    const { window, isStricter } = toRateWindow(`${interval}s`)
    const name = nameLimit(id, `requests per ${window}`)
    accounts.limits.push({
      name,
      measure: 'requests',
      window,
      amount: limit,
      match: { workspace: slug },
      spend: 0n,
    })
    if (isStricter) {
      const reason = `there is no window of ${interval} seconds: the limit is per ${window}, which allows less`
      skipped.push({ kind: 'limit', name, reason })
    }
  }
  const settings: [boolean, string][] = [
    [
      Boolean(gateway.cache_ttl),
      'cache_ttl: set cache_enabled in requests or a preset, docs/response-cache.md',
    ],
    [Boolean(gateway.retry_max_attempts), 'retry_max_attempts: set `retry` of the model, docs/routing.md'],
    [Boolean(gateway.logpush), 'logpush: set up a destination, docs/observability.md'],
    [Boolean(gateway.zdr), 'zdr: set enforce_zdr of a guardrail, docs/guardrails.md'],
  ]
  for (const [isSet, reason] of settings) if (isSet) skipped.push({ kind: 'setting', name: id, reason })
}

/** Clients name a route `dynamic/<name>`. */
function translateRoute(record: JsonRecord, context: PeerContext, skipped: SkippedItem[]): PlannedAlias[] {
  const { data } = routeRecord.safeParse(record)
  const name = `dynamic/${data?.name ?? String(record.name)}`
  const skip = (reason: string) => skipped.push({ kind: 'route', name, reason })
  const plan = data ? followRoute(data) : 'has elements that cannot be read'
  if (typeof plan === 'string') {
    skip(plan)
    return []
  }
  for (const ignored of plan.ignored) skip(`${ignored} in the route: create limits, docs/limits.md`)
  const { models } = context.createModels(identity.name, context.variables)
  const found = plan.targets.map(({ provider, model, weight }) => {
    const named = `${authors[provider] ?? provider}/${model}`
    return { named, id: models.resolve(named) ?? models.findUpstream(provider, model)?.model.id, weight }
  })
  const missing = found.find(({ id }) => id === undefined)
  if (missing) {
    skip(`${missing.named} is not in the catalog: declare it, docs/catalog.md`)
    return []
  }
  const weighted = found.flatMap(({ id, weight }) => (id === undefined ? [] : [{ model: id, weight }]))
  const alias = plan.isSplit
    ? toSplitAlias(name, weighted)
    : toGroupAlias(
        name,
        weighted.map(({ model }) => model),
      )
  if (alias) return [alias]
  skip('has a name that an alias cannot have, or too many models')
  return []
}
