import { z } from 'zod'
import { toRateWindow } from '../amounts.ts'
import {
  type ImportPlan,
  noAccounts,
  noCatalog,
  type PlannedLimit,
  type SkippedItem,
} from '../import-plan.ts'
import { type JsonRecord, listRecords } from '../json-export.ts'
import { findVendor } from '../models/vendors.ts'
import type { Peer, PeerContext } from '../peer.ts'
import type { ImportDocument } from '../source.ts'
import { providerNames } from './vendors.ts'

const providerKey = z.object({
  provider_name: z.string(),
  provider_key: z.string().nullish().catch(null),
  provider_key_name: z.string().nullish().catch(null),
  provider_secret_key: z.string().nullish().catch(null),
})
const rateLimit = z.object({
  name: z.string(),
  quota: z.number().positive(),
  window_seconds: z.number().positive(),
  unit: z.enum(['request', 'cents']),
  segment: z.string().nullish().catch(null),
})
const apiKey = z.object({ api_key_name: z.string().catch('') })

const isProviderKey = (record: JsonRecord) => 'provider_name' in record && 'provider_key_name' in record
const isRateLimit = (record: JsonRecord) => 'window_seconds' in record && 'quota' in record
const isApiKey = (record: JsonRecord) => 'api_key_hash' in record && 'api_key_name' in record

export const helicone: Peer = {
  name: 'helicone',
  title: 'Helicone',
  reads:
    'provider keys, rate limits and names of keys from saved responses of GET /v1/vault/keys, rate limits and keys of Helicone',
  tables: {},
  recognizes: (document) =>
    [isProviderKey, isRateLimit, isApiKey].some((isWanted) => listRecords(document, isWanted).length > 0),
  translate: translateExport,
}

function translateExport(documents: readonly ImportDocument[], context: PeerContext): ImportPlan {
  const list = (isWanted: (record: JsonRecord) => boolean) =>
    documents.flatMap((document) => listRecords(document, isWanted))
  const { accounts } = context.createModels('helicone', context.variables)
  const skipped: SkippedItem[] = []
  for (const record of list(isProviderKey)) {
    const { data } = providerKey.safeParse(record)
    if (!data) continue
    const name = data.provider_key_name || data.provider_name
    const slug = data.provider_name.toLowerCase().replaceAll(' ', '-')
    const vendor = findVendor(providerNames[slug] ?? slug, accounts.isBuiltIn)
    const skip = (reason: string) => skipped.push({ kind: 'provider key', name, reason })
    if (!vendor) skip(`there is no provider ${data.provider_name}`)
    else if (!data.provider_key) skip('its secret is not in the file: GET /v1/vault/keys has it')
    else if (data.provider_secret_key)
      skip('has a second secret: configure the provider, docs/providers/README.md')
    else {
      const found = accounts.find({ vendor, apiKey: data.provider_key, apiBase: undefined })
      if ('problem' in found) skip(found.problem)
    }
  }
  for (const record of list(isApiKey))
    skipped.push({
      kind: 'key',
      name: apiKey.parse(record).api_key_name,
      reason: 'its hash is not that of the secret alone: import it with the secret, docs/coming-from/keys.md',
    })
  return {
    catalog: { ...noCatalog, providers: accounts.listPlanned() },
    accounts: {
      ...noAccounts,
      limits: list(isRateLimit).flatMap((record) => translateLimit(record, skipped)),
    },
    skipped,
  }
}

function translateLimit(record: JsonRecord, skipped: SkippedItem[]): PlannedLimit[] {
  const { data } = rateLimit.safeParse(record)
  if (!data) {
    skipped.push({ kind: 'limit', name: String(record.name), reason: 'has a unit that is not known' })
    return []
  }
  const { name, quota, window_seconds, unit, segment } = data
  const { window, isStricter } = toRateWindow(`${Math.ceil(window_seconds)}s`)
  const isUsd = unit === 'cents'
  // Dollars are counted in windows of the calendar.
  const ledgerWindow = isUsd && ['second', 'minute', 'hour'].includes(window) ? 'day' : window
  if (isStricter || ledgerWindow !== window)
    skipped.push({
      kind: 'limit',
      name,
      reason: `there is no window of ${window_seconds} seconds: the limit is per ${ledgerWindow}, which allows less`,
    })
  return [
    {
      name: name.slice(0, 100),
      measure: isUsd ? 'usd' : 'requests',
      window: ledgerWindow,
      amount: isUsd ? quota / 100 : Math.floor(quota),
      match: {},
      ...(segment &&
        segment !== 'global' && {
          per: segment === 'user' ? ['end_user' as const] : [`tag:${segment.toLowerCase()}` as const],
        }),
      spend: 0n,
    },
  ]
}
