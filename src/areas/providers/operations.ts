import { z } from 'zod'
import { defineOperation } from '../../http/operation.ts'

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
    data: gateway.catalogue.providers.map((provider) => ({
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

export const providerOperations = [listProviders]
