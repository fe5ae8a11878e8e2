import { z } from 'zod'
import { mayOperate } from '../../../access/authorize.ts'
import { healthSummaryFields, summarizeHealth } from '../../../catalog/health/health-summary.ts'
import { isKeyless } from '../../../catalog/model.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'

const providerRecord = z
  .strictObject({
    name: z.string(),
    slug: z.string(),
    headquarters: z.string().nullable().describe('The country of the headquarters (ISO 3166-1 alpha-2).'),
    datacenters: z
      .array(z.string())
      .nullable()
      .describe('The countries of the data centers (ISO 3166-1 alpha-2).'),
    privacy_policy_url: z.string().nullable(),
    terms_of_service_url: z.string().nullable(),
    status_page_url: z.string().nullable(),
  })
  .meta({ id: 'Provider' })

const listProviders = defineOperation({
  id: 'listProviders',
  method: 'GET',
  path: '/providers',
  tag: 'Providers',
  summary: 'Lists the providers.',
  permission: 'models:read',
  response: z.strictObject({ data: z.array(providerRecord) }),
  handle: async ({ gateway }) => ({
    data: gateway.catalog.providers.map((provider) => ({
      name: provider.name,
      slug: provider.slug,
      headquarters: provider.headquarters,
      datacenters: provider.datacenters,
      privacy_policy_url: provider.privacyPolicyUrl,
      terms_of_service_url: provider.termsOfServiceUrl,
      status_page_url: provider.statusPageUrl,
    })),
  }),
})

const providerHealth = z
  .strictObject({
    provider: z.string(),
    provider_name: z.string(),
    is_keyless: z.boolean().describe('It is called without a key, and accepts no BYOK keys.'),
    ...healthSummaryFields,
  })
  .meta({ id: 'ProviderHealth' })

const listProviderHealth = defineOperation({
  id: 'listProviderHealth',
  method: 'GET',
  path: '/providers/health',
  tag: 'Providers',
  summary: 'Lists the health of every provider: its state, errors by hour, and which endpoints are left out.',
  description:
    'Measured over the requests that this process sent with the keys of the installation; BYOK keys do not count. When a process starts, it takes over the attempts of the last 24 hours from the database. Numbers of requests are null without the permission `system:read`.',
  permission: 'models:read',
  response: z.strictObject({ data: z.array(providerHealth) }),
  handle: async ({ gateway, caller }) => {
    const showsCounts = await mayOperate(gateway, caller, 'system:read')
    const measured = Map.groupBy(listMeasured(gateway), ({ provider }) => provider)
    const now = gateway.clock.now()
    return {
      data: gateway.catalog.providers.map((provider) => ({
        provider: provider.slug,
        provider_name: provider.name,
        is_keyless: isKeyless(provider),
        ...summarizeHealth(measured.get(provider.slug) ?? [], now, showsCounts),
        ...(!provider.enabled && { state: 'no_credential' as const }),
      })),
    }
  },
})

/** The endpoints with traffic. */
function listMeasured({ catalog, routing }: Gateway) {
  return catalog.models
    .flatMap((model) => model.endpoints)
    .flatMap(({ id, model_id, tag, provider }) => {
      const health = routing.health.find(id)
      return health ? [{ provider: provider.slug, model_id, tag, health }] : []
    })
}

export const providerOperations = [listProviders, listProviderHealth]
