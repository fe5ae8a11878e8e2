import type { z } from 'zod'
import type { Vault } from '../platform/crypto/crypto.ts'
import { GatewayError, invalidFieldError } from '../platform/errors/gateway-error.ts'
import { flattenIssues } from '../platform/validation/validation-issues.ts'
import { buildProviders, type CatalogSources, mergeDeclaredModels } from './catalog.ts'
import {
  checkAuthor,
  checkEndpoints,
  checkNewProvider,
  type DeclaredCatalog,
  type DeclaredProvider,
} from './declared.ts'
import { type DeclaredModel, declaredEndpoint, declaredModel, tagOf } from './declared-model.ts'
import type { CatalogProvider } from './model.ts'
import { endpointOverride, modelOverride, providerOverride } from './override-schema.ts'
import { openSecrets, secretFields } from './override-secrets.ts'
import type { OverrideKey, OverrideRow } from './store.ts'

/** The overrides that operators set at run time, and the resulting declarations. */
export interface CatalogOverrides {
  version: number
  rows: readonly OverrideRow[]
  /** headgate.yaml with the overrides applied. */
  declared: DeclaredCatalog
  /** Overrides that could not be applied, and why. */
  problems: ReadonlyMap<string, GatewayError>
}

export function formatOverrideKey({ kind, name, tag }: OverrideKey): string {
  return `${kind} ${name} ${tag}`
}

/** Applies overrides to the other sources. An invalid one is skipped and reported; the others apply. */
export function applyOverrides(
  sources: CatalogSources,
  rows: readonly OverrideRow[],
  vault: Vault,
): Pick<CatalogOverrides, 'declared' | 'problems'> {
  const problems = new Map<string, GatewayError>()
  if (rows.length === 0) return { declared: sources.settings, problems }
  const applyEach = (kind: OverrideRow['kind'], apply: (row: OverrideRow) => void) => {
    for (const row of rows.filter((candidate) => candidate.kind === kind)) {
      try {
        apply(row)
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        problems.set(formatOverrideKey(row), error)
      }
    }
  }
  const providers = new ProviderOverrides(sources, vault)
  applyEach('provider', (row) => providers.apply(row))
  const models = new ModelOverrides(sources, providers.listSlugs())
  applyEach('model', (row) => models.applyModel(row))
  applyEach('endpoint', (row) => models.applyEndpoint(row))
  const declared = {
    providers: providers.toDeclared(),
    models: models.toDeclared(),
    declaredAt: models.declaredAt,
  }
  return { declared, problems }
}

class ProviderOverrides {
  readonly #vault: Vault
  readonly #builtIn: ReadonlySet<string>
  readonly #base: ReadonlyMap<string, CatalogProvider>
  readonly #declared: Map<string, DeclaredProvider>

  constructor(sources: CatalogSources, vault: Vault) {
    this.#vault = vault
    this.#builtIn = new Set(sources.providers.map(({ slug }) => slug))
    this.#base = new Map(buildProviders(sources).map((provider) => [provider.slug, provider]))
    this.#declared = new Map(sources.settings.providers.map((provider) => [provider.slug, provider]))
  }

  toDeclared(): DeclaredProvider[] {
    return [...this.#declared.values()]
  }

  listSlugs(): Set<string> {
    return new Set([...this.#builtIn, ...this.#declared.keys()])
  }

  apply(row: OverrideRow): void {
    const base = this.#declared.get(row.name)
    const fields = parseFields(providerOverride, row)
    const encrypted = openSecrets(this.#vault, row)
    const secrets = encrypted?.secrets ?? {}
    validateBaseUrl(fields.base_url)
    const merged = { ...base, ...fields, ...secrets, slug: row.name }
    if (!this.#builtIn.has(row.name)) checkNewProvider(merged, throwFieldError)
    const known = this.#base.get(row.name)
    const origin = resolveOrigin(known, fields.base_url)
    if (encrypted && encrypted.origin !== origin) {
      throw invalidFieldError(
        Object.keys(secrets)[0] ?? 'api_key',
        'was entered for another origin; enter it again',
      )
    }
    if (known && origin !== originOf(addressOf(known))) rejectInheritedSecrets(known, base, secrets)
    this.#declared.set(row.name, merged)
  }
}

/** The origin of requests to a provider after an override. */
export function resolveOrigin(base: CatalogProvider | undefined, baseUrl: string | undefined): string | null {
  return originOf(baseUrl ?? (base ? addressOf(base) : ''))
}

/** The base URL, with placeholders filled in if possible. */
function addressOf({ baseUrl, installation }: CatalogProvider): string {
  return installation.address ?? baseUrl
}

function originOf(url: string): string | null {
  return URL.parse(url)?.origin ?? null
}

/**
 * Rejects credentials and placeholders: the URL is shown in responses, and a variable in it would be sent to its host.
 */
function validateBaseUrl(baseUrl: string | undefined): void {
  const url = URL.parse(baseUrl ?? '')
  if (!url) return
  if (url.username || url.password)
    throw invalidFieldError('base_url', 'must not contain a user name or a password')
  if (/[{}]/.test(baseUrl ?? '')) throw invalidFieldError('base_url', 'must not contain braces')
}

/** S6: an override must not send secrets of the environment or headgate.yaml to another address. */
function rejectInheritedSecrets(
  known: CatalogProvider,
  base: DeclaredProvider | undefined,
  secrets: Partial<Record<(typeof secretFields)[number], unknown>>,
): void {
  for (const field of secretFields) {
    const hasInheritedKey =
      field === 'api_key' && (known.keyVariable !== null || base?.credentials !== undefined)
    const needed = hasInheritedKey || base?.[field] !== undefined
    if (needed && secrets[field] === undefined) {
      throw invalidFieldError(
        field,
        'is required with this base_url: the configured value is for another origin',
      )
    }
  }
}

class ModelOverrides {
  readonly #slugs: ReadonlySet<string>
  readonly #known: ReadonlyMap<string, { model: DeclaredModel }>
  readonly #declared: Map<string, DeclaredModel>
  readonly declaredAt: Map<string, number>

  constructor(sources: CatalogSources, slugs: ReadonlySet<string>) {
    this.#slugs = slugs
    this.declaredAt = new Map(sources.settings.declaredAt)
    this.#known = mergeDeclaredModels(sources)
    this.#declared = new Map(sources.settings.models.map((model) => [model.id, model]))
  }

  toDeclared(): DeclaredModel[] {
    return [...this.#declared.values()]
  }

  applyModel(row: OverrideRow): void {
    const fields = parseFields(modelOverride, row)
    const base = this.#known.get(row.name)?.model
    const model = parseSchema(declaredModel, { ...base, ...fields, id: row.name })
    checkAuthor(model, throwFieldError)
    // The snapshot may name providers that are disabled here; only the operator's endpoints are checked.
    if (fields.endpoints) checkEndpoints(model, ['endpoints'], this.#slugs, throwFieldError)
    this.#checkNames(model.id, fields.aliases ?? [])
    this.#declared.set(model.id, model)
    if (!base) this.declaredAt.set(model.id, Math.floor(Date.parse(row.updated_at) / 1000))
  }

  applyEndpoint(row: OverrideRow): void {
    const fields = parseFields(endpointOverride, row)
    const model = this.#declared.get(row.name) ?? this.#known.get(row.name)?.model
    if (!model) throw invalidFieldError('model', `there is no model "${row.name}"`)
    const [provider = '', ...rest] = row.tag.split('/')
    if (!this.#slugs.has(provider)) throw invalidFieldError('tag', `there is no provider "${provider}"`)
    const known = model.endpoints.find((endpoint) => tagOf(endpoint) === row.tag)
    const variant = rest.length > 0 ? { variant: rest.join('/') } : {}
    const endpoint = parseSchema(declaredEndpoint, { ...known, ...fields, provider, ...variant })
    // A service tier is part of the tag: without it this would be another endpoint.
    if (tagOf(endpoint) !== row.tag)
      throw invalidFieldError('service_tier', `needs a tag such as "${tagOf(endpoint)}"`)
    const endpoints = known
      ? model.endpoints.map((other) => (other === known ? endpoint : other))
      : [...model.endpoints, endpoint]
    this.#declared.set(model.id, { ...model, endpoints })
  }

  /** Each name resolves to one model; an alias that is another model's id would never resolve. */
  #checkNames(id: string, aliases: readonly string[]): void {
    const others = [...this.#declared.values()].filter((model) => model.id !== id)
    const usedAliases = new Set(others.flatMap((model) => model.aliases))
    if (usedAliases.has(id)) throw invalidFieldError('slug', `"${id}" is declared twice`)
    for (const [index, alias] of aliases.entries()) {
      if (usedAliases.has(alias)) throw invalidFieldError(`aliases.${index}`, `"${alias}" is declared twice`)
      if (this.#known.has(alias) || this.#declared.has(alias)) {
        throw invalidFieldError(`aliases.${index}`, `"${alias}" is the id of a model`)
      }
    }
  }
}

/** Rows may come from another version: they are validated when read. */
export function parseFields<Shape extends z.ZodType>(
  schema: Shape,
  { fields }: OverrideRow,
): z.output<Shape> {
  let value: unknown
  try {
    value = JSON.parse(fields)
  } catch {
    throw invalidFieldError('fields', 'is not JSON')
  }
  return parseSchema(schema, value)
}

function parseSchema<Shape extends z.ZodType>(schema: Shape, value: unknown): z.output<Shape> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [problem] = flattenIssues(result.error)
  throw invalidFieldError(problem?.path.join('.') || 'fields', problem?.message ?? 'is not valid')
}

function throwFieldError(path: (string | number)[], message: string): never {
  throw invalidFieldError(path.join('.'), message)
}
