import { z } from 'zod'
import { type DeclaredModel, dataPolicy, tagOf } from './declared-model.ts'
import type { Provider } from './provider.ts'
import { dataRegions, dialectNames, wireAbilities } from './vocabulary.ts'

const headerName = z.string().regex(/^[a-z0-9-]+$/, 'must be the name of a header, in lower case')

/** A provider as headgate.yaml declares it; one that is built in needs only what is to change. */
export const declaredProvider = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9._-]*$/, 'must be lower-case letters, digits, dots and dashes'),
  name: z.string().min(1).optional(),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  api_key: z.string().min(1).optional(),
  dialects: z.array(z.enum(dialectNames)).min(1).optional(),
  /** The header the key goes into, where it is not the one of the format; `authorization` means Bearer. */
  key_header: headerName.optional(),
  /** Sent with every request. */
  headers: z.record(headerName, z.string()).optional(),
  abilities: z.array(z.enum(wireAbilities)).optional(),
  /** Goes on, and bills all of it, when the client has left: its replies are read to the end. */
  bills_abandoned: z.boolean().optional(),
  regions: z.array(z.enum(dataRegions)).min(1).optional(),
  data_policy: dataPolicy.optional(),
  headquarters: z
    .string()
    .regex(/^[A-Z]{2}$/, 'must be two capital letters (ISO 3166-1)')
    .optional(),
  datacenters: z.array(z.string().regex(/^[A-Z]{2}$/, 'must be two capital letters (ISO 3166-1)')).optional(),
  privacy_policy_url: z.url().optional(),
  terms_of_service_url: z.url().optional(),
  status_page_url: z.url().optional(),
})

export type DeclaredProvider = z.output<typeof declaredProvider>

/** What stands over the snapshot and what is built in. */
export interface Declared {
  providers: DeclaredProvider[]
  models: DeclaredModel[]
}

export type Complain = (path: (string | number)[], message: string) => void

/** What one entry alone cannot show: names that lead nowhere, and names used twice. */
export function checkDeclared(builtIn: readonly Provider[]) {
  const known = new Set(builtIn.map((provider) => provider.slug))
  return ({ providers, models }: Declared, context: z.RefinementCtx) => {
    const complain: Complain = (path, message) => context.addIssue({ code: 'custom', path, message })
    checkProviders(providers, known, complain)
    const slugs = new Set([...known, ...providers.map((provider) => provider.slug)])
    checkModels(models, slugs, complain)
  }
}

function checkProviders(providers: DeclaredProvider[], known: ReadonlySet<string>, complain: Complain): void {
  const seen = new Set<string>()
  for (const [index, provider] of providers.entries()) {
    if (seen.has(provider.slug))
      complain(['providers', index, 'slug'], `"${provider.slug}" is declared twice`)
    seen.add(provider.slug)
    if (!known.has(provider.slug)) {
      checkNewProvider(provider, (path, message) => complain(['providers', index, ...path], message))
    }
  }
}

/** What one that is built in has already. */
export function checkNewProvider(provider: DeclaredProvider, complain: Complain): void {
  for (const field of ['name', 'base_url', 'dialects'] as const) {
    if (provider[field] === undefined) {
      complain([field], 'is required, because this provider is not built in')
    }
  }
}

function checkModels(models: DeclaredModel[], slugs: ReadonlySet<string>, complain: Complain): void {
  const names = new Set<string>()
  for (const [index, model] of models.entries()) {
    checkName(model.id, ['models', index, 'id'])
    for (const [at, alias] of model.aliases.entries()) checkName(alias, ['models', index, 'aliases', at])
    checkEndpoints(model, ['models', index, 'endpoints'], slugs, complain)
  }

  function checkName(name: string, path: (string | number)[]): void {
    if (names.has(name)) complain(path, `"${name}" is declared twice`)
    names.add(name)
  }
}

export function checkEndpoints(
  model: DeclaredModel,
  path: (string | number)[],
  slugs: ReadonlySet<string>,
  complain: Complain,
): void {
  const tags = new Set<string>()
  for (const [at, endpoint] of model.endpoints.entries()) {
    if (!slugs.has(endpoint.provider)) {
      complain([...path, at, 'provider'], `there is no provider "${endpoint.provider}"`)
    }
    const tag = tagOf(endpoint)
    if (tags.has(tag)) {
      complain([...path, at], `a second endpoint on "${endpoint.provider}" needs a variant of its own`)
    }
    tags.add(tag)
  }
}
