import { z } from 'zod'
import type { SkippedItem } from '../import-plan.ts'
import { trimBase } from '../models/base-address.ts'
import type { Deployment, DeploymentContext } from '../models/deployment.ts'
import { toDecimal } from '../models/deployment.ts'
import { findVendor, type Vendor } from '../models/vendors.ts'
import { SourceError } from '../source.ts'
import type { ApiDatabase, Channel } from './rows.ts'
import type { ChannelVendor } from './vendors.ts'

export interface ReadChannels {
  deployments: Deployment[]
  /** The models of each group. */
  modelsOf: Map<string, Set<string>>
  skipped: SkippedItem[]
}

const enabled = 1
/** A deployment for each key and model of a channel, and a model of each of its groups. */
const maxPairs = 200_000
const numbers = z.record(z.string(), z.number()).catch({})
const mapping = z.record(z.string(), z.string()).catch({})

/** Each model of a channel is a deployment: once for each of its keys. */
export function readChannels(
  { channels, options }: ApiDatabase,
  vendors: Readonly<Record<number, ChannelVendor>>,
  { accounts }: DeploymentContext,
): ReadChannels {
  const read: ReadChannels = { deployments: [], modelsOf: new Map(), skipped: [] }
  const prices = readPrices(options)
  let pairs = 0
  for (const channel of channels) {
    const name = channel.name || `channel ${channel.id}`
    const skip = (reason: string) => read.skipped.push({ kind: 'channel', name, reason })
    const target = vendors[channel.type]
    const vendor = target && findVendor(target.vendor, accounts.isBuiltIn)
    if (channel.status !== enabled) skip('is disabled there')
    else if (!target || !vendor) skip(`there is no provider for channels of type ${channel.type}`)
    else {
      const models = listModels(channel)
      const groups = splitList(channel.group || 'default')
      pairs += models.length * (groups.length + listKeys(channel.key).length)
      if (pairs > maxPairs) throw new SourceError(`channels have more than ${maxPairs} keys and models.`)
      for (const group of groups) {
        const known = read.modelsOf.get(group) ?? new Set()
        read.modelsOf.set(group, known)
        for (const model of models) known.add(model)
      }
      for (const deployment of toDeployments(channel, models, { target, vendor, prices }))
        read.deployments.push(deployment)
      read.skipped.push(...listDropped(channel, name))
    }
  }
  return read
}

export function splitList(text: string | null | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function listModels({ models }: Channel): string[] {
  return [...new Set(splitList(models))]
}

interface ChannelTarget {
  target: ChannelVendor
  vendor: Vendor
  prices: ReadonlyMap<string, Deployment['pricing']>
}

function toDeployments(
  channel: Channel,
  models: readonly string[],
  { target, vendor, prices }: ChannelTarget,
): Deployment[] {
  const upstream = mapping.parse(parseJson(channel.model_mapping))
  const given = channel.base_url && trimBase(channel.base_url.trim())
  const base = !given || given === target.base ? undefined : given
  return listKeys(channel.key).flatMap((apiKey) =>
    models.map((name) => ({
      name,
      vendor: base === undefined ? vendor : { ...vendor, ...(target.path && { toBaseUrl: keepBase }) },
      upstreamModel: upstream[name] ?? name,
      apiKey,
      apiBase: base === undefined ? undefined : base + (target.path ?? ''),
      settings: {},
      pricing: undefined,
      otherwisePricing: prices.get(name),
      info: {},
    })),
  )
}

const keepBase = (base: string) => base

/** A channel may have several keys, one in each line. */
function listKeys(text: string): string[] {
  const key = text.trim()
  return key.startsWith('{') || key.startsWith('[') ? [key] : key.split('\n').map((line) => line.trim())
}

function parseJson(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text || '{}')
  } catch {
    return {}
  }
}

/** A ratio of 1 is $2 for a million tokens. */
const usdOfRatio = 2e-6

/** The prices that were set there, for models whose price the catalog does not know. */
function readPrices(options: ApiDatabase['options']): Map<string, Deployment['pricing']> {
  const ratios = numbers.parse(parseJson(options.get('ModelRatio')))
  const completions = numbers.parse(parseJson(options.get('CompletionRatio')))
  return new Map(
    Object.entries(ratios).map(([name, ratio]) => {
      const prompt = Number((ratio * usdOfRatio).toPrecision(12))
      const completion = Number((prompt * (completions[name] ?? 1)).toPrecision(12))
      return [name, { prompt: toDecimal(prompt), completion: toDecimal(completion) }]
    }),
  )
}

function listDropped({ weight, priority }: Channel, name: string): SkippedItem[] {
  const reasons = [
    ...(weight
      ? ['weight: weights divide requests among models, as `targets` of a model alias: docs/model-aliases.md']
      : []),
    ...(priority ? ['priority: set `provider.order` in requests or presets: docs/routing.md'] : []),
  ]
  return reasons.map((reason) => ({ kind: 'setting', name, reason }))
}

/** What the ratios of groups mean for those who pay. */
export function listGroupRatios({ options }: ApiDatabase): SkippedItem[] {
  const ratios = numbers.parse(parseJson(options.get('GroupRatio')))
  return Object.entries(ratios)
    .filter(([, ratio]) => ratio !== 1)
    .map(([group, ratio]) => ({
      kind: 'setting',
      name: `GroupRatio ${group}`,
      reason: `prices are not multiplied by ${ratio}: requests cost the price of the endpoint, docs/billing.md`,
    }))
}
