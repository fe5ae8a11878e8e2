import { z } from 'zod'
import { maxUsd } from '../../../platform/money/money.ts'
import { nameLimit } from '../amounts.ts'
import {
  type ImportPlan,
  noAccounts,
  type PlannedAlias,
  type PlannedLimit,
  type SkippedItem,
} from '../import-plan.ts'
import { isRecord, type JsonRecord, listRecords } from '../json-export.ts'
import type { Deployment, DeploymentContext } from '../models/deployment.ts'
import { groupDeployments, type ModelGroups, toCatalogPlan } from '../models/model-groups.ts'
import { findVendor } from '../models/vendors.ts'
import type { Peer, PeerContext } from '../peer.ts'
import { toSlug } from '../slugs.ts'
import type { ImportDocument } from '../source.ts'
import { toGroupAlias, toSplitAlias } from '../split-alias.ts'
import { type Config, type FlatTarget, flattenTargets, readConfig } from './config.ts'
import { providerNames } from './vendors.ts'

const isStored = (record: JsonRecord) => 'slug' in record && 'config' in record
const isConfig = (record: JsonRecord) =>
  (isRecord(record.strategy) && Array.isArray(record.targets)) ||
  ('provider' in record && ('api_key' in record || 'virtual_key' in record || 'override_params' in record))
const isVirtualKey = (record: JsonRecord) =>
  record.object === 'virtual-key' || ('slug' in record && 'usage_limits' in record && 'rate_limits' in record)

export const portkey: Peer = {
  name: 'portkey',
  title: 'Portkey',
  reads: 'configs of Portkey as JSON, and saved responses of GET /configs/{slug} and GET /virtual-keys',
  tables: {},
  recognizes: (document) =>
    [isStored, isConfig, isVirtualKey].some((isWanted) => listRecords(document, isWanted).length > 0),
  translate: translateExport,
}

interface NamedConfig {
  name: string
  config: Config
}

function listConfigs(document: ImportDocument): NamedConfig[] {
  const stored = listRecords(document, isStored)
  const entries =
    stored.length > 0
      ? stored.map((record) => ({ name: String(record.slug), value: parseNested(record.config) }))
      : listRecords(document, isConfig).map((value, index) => ({
          name: toSlug(document.name.replace(/\.\w+$/, '')) + (index === 0 ? '' : `-${index + 1}`),
          value,
        }))
  return entries.flatMap(({ name, value }) => {
    const config = readConfig(value)
    return config ? [{ name, config }] : []
  })
}

/** A stored config may be JSON in a text. */
function parseNested(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return null
  }
}

interface PlannedTarget {
  /** The name of the deployment. */
  model: string
  share: number
}

interface Route {
  name: string
  mode: string
  targets: PlannedTarget[]
}

function translateExport(documents: readonly ImportDocument[], context: PeerContext): ImportPlan {
  const models = context.createModels('portkey', context.variables)
  const skipped: SkippedItem[] = []
  const deployments: Deployment[] = []
  const routes = documents.flatMap(listConfigs).flatMap(({ name, config }) => {
    const skip = (reason: string) => skipped.push({ kind: 'config', name, reason })
    const flat = flattenTargets(config)
    listUnread(config, skip)
    if (!flat) {
      skip('chooses by conditions: create routing rules, docs/routing-rules.md')
      return []
    }
    const targets = flat.flatMap((target) => {
      const read = readTarget(target, models)
      if ('problem' in read) skip(read.problem)
      else if ('deployment' in read) deployments.push(read.deployment)
      return 'problem' in read ? [] : [{ model: read.name, share: target.share }]
    })
    return targets.length > 0 ? [{ name, mode: config.strategy?.mode ?? 'single', targets }] : []
  })
  const groups = groupDeployments(deployments, models)
  const aliases = toAliases(routes, groups, models, skipped)
  const { limits, skipped: unread } = translateVirtualKeys(documents)
  return {
    catalog: toCatalogPlan(models, groups, aliases),
    accounts: { ...noAccounts, limits },
    skipped: [...skipped, ...groups.skipped, ...unread],
  }
}

type ReadTarget = { problem: string } | { name: string } | { name: string; deployment: Deployment }

/** With an API key a target is a deployment; without one it is the model of the catalog. */
function readTarget({ config }: FlatTarget, { accounts }: DeploymentContext): ReadTarget {
  const named = config.override_params?.model ?? undefined
  const [, catalogProvider, catalogModel] = /^@([^/]+)\/(.+)$/.exec(named ?? '') ?? []
  const provider = (config.provider ?? catalogProvider ?? '').replace(/^@/, '')
  const upstreamModel = catalogModel ?? named
  const where = config.name ?? (provider || config.virtual_key || 'a target')
  if (upstreamModel === undefined)
    return { problem: `${where}: names no model, so requests name one: name it in override_params` }
  if (provider === '')
    return {
      problem: `${where}: its provider is known by a virtual key only: name the provider in the target`,
    }
  const vendor = findVendor(providerNames[provider] ?? provider, accounts.isBuiltIn)
  if (!vendor) return { problem: `${where}: there is no provider ${provider}` }
  const name = `${vendor.slug ?? vendor.prefix}/${upstreamModel}`
  return {
    name,
    deployment: {
      name,
      vendor,
      upstreamModel,
      apiKey: config.api_key ?? undefined,
      apiBase: config.custom_host ?? undefined,
      settings: {
        timeout: config.request_timeout ? config.request_timeout / 1000 : undefined,
        maxRetries: config.retry?.attempts ?? undefined,
      },
      pricing: undefined,
      info: {},
    },
  }
}

function listUnread(config: Config, skip: (reason: string) => void): void {
  if (config.cache !== undefined)
    skip('cache: set cache_enabled in requests or a preset, docs/response-cache.md')
  const hooks = [
    'input_guardrails',
    'output_guardrails',
    'before_request_hooks',
    'after_request_hooks',
  ] as const
  const used = hooks.filter((name) => config[name] !== undefined)
  if (used.length > 0) skip(`${used.join(', ')}: create guardrails, docs/guardrails.md`)
}

function toAliases(
  routes: readonly Route[],
  { idOf }: ModelGroups,
  { models }: DeploymentContext,
  skipped: SkippedItem[],
): PlannedAlias[] {
  return routes.flatMap(({ name, mode, targets }) => {
    const found = targets.flatMap(({ model, share }) => {
      const id = idOf.get(model) ?? models.resolve(model)
      return id === undefined ? [] : [{ model: id, weight: share }]
    })
    const alias =
      mode === 'loadbalance'
        ? toSplitAlias(name, found)
        : toGroupAlias(
            name,
            found.map(({ model }) => model),
          )
    if (alias && found.length === targets.length) return [alias]
    const reason =
      found.length < targets.length ? 'not all of its models are imported' : 'cannot be a model alias'
    skipped.push({ kind: 'config', name, reason })
    return []
  })
}

const virtualKey = z.object({
  name: z.string(),
  slug: z.string(),
  ai_provider_name: z.string().nullish().catch(null),
  usage_limits: z
    .object({ credit_limit: z.number().nullish(), periodic_reset: z.string().nullish() })
    .nullish()
    .catch(null),
})

/** The secrets are masked there, so that only limits are left. */
function translateVirtualKeys(documents: readonly ImportDocument[]): {
  limits: PlannedLimit[]
  skipped: SkippedItem[]
} {
  const limits: PlannedLimit[] = []
  const skipped: SkippedItem[] = []
  for (const record of documents.flatMap((document) => listRecords(document, isVirtualKey))) {
    const { data } = virtualKey.safeParse(record)
    if (!data) continue
    const reason =
      'its secret is masked there: set the key of the provider, docs/providers/README.md, or docs/byok.md'
    skipped.push({ kind: 'virtual key', name: data.name, reason })
    const amount = data.usage_limits?.credit_limit
    const provider = providerNames[data.ai_provider_name ?? ''] ?? data.ai_provider_name
    if (amount == null || !provider) continue
    limits.push({
      name: nameLimit(data.name, 'budget'),
      measure: 'usd',
      window: windows[data.usage_limits?.periodic_reset ?? ''] ?? 'lifetime',
      amount: Math.min(amount, maxUsd),
      match: { providers: [provider] },
      spend: 0n,
    })
  }
  return { limits, skipped }
}

const windows: Readonly<Record<string, 'week' | 'month'>> = { weekly: 'week', monthly: 'month' }
