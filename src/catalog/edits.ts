import type { z } from 'zod'
import { badField, GatewayError } from '../errors.ts'
import { problemsOf } from '../lib/problems.ts'
import type { Vault } from '../lib/secret.ts'
import { type CatalogSources, catalogProviders, declaredModels } from './catalog.ts'
import { checkEndpoints, checkNewProvider, type Declared, type DeclaredProvider } from './declared.ts'
import { endpointEdit, modelEdit, providerEdit } from './declared-edit.ts'
import { type DeclaredModel, declaredEndpoint, declaredModel, tagOf } from './declared-model.ts'
import { openSecrets, secretFields } from './edit-secrets.ts'
import type { CatalogProvider } from './model.ts'
import type { EditName, EditRow } from './store.ts'

/** What operators changed at run time, and what came of it. */
export interface Edits {
  version: number
  rows: readonly EditRow[]
  /** headgate.yaml, with the edits over it. */
  declared: Declared
  /** Edits that are not in force, and why. */
  problems: ReadonlyMap<string, GatewayError>
}

export function editKey({ kind, name, tag }: EditName): string {
  return `${kind} ${name} ${tag}`
}

/** Lays edits over what there is without them. One that does not fit is left out, and the others are not. */
export function layEdits(
  sources: CatalogSources,
  rows: readonly EditRow[],
  vault: Vault,
): Pick<Edits, 'declared' | 'problems'> {
  const problems = new Map<string, GatewayError>()
  const each = (kind: EditRow['kind'], lay: (row: EditRow) => void) => {
    for (const row of rows.filter((candidate) => candidate.kind === kind)) {
      try {
        lay(row)
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        problems.set(editKey(row), error)
      }
    }
  }
  const providers = new ProviderLayers(sources, vault)
  each('provider', (row) => providers.lay(row))
  const models = new ModelLayers(sources, providers.slugs())
  each('model', (row) => models.layModel(row))
  each('endpoint', (row) => models.layEndpoint(row))
  const declared = {
    providers: providers.declared(),
    models: models.declared(),
    declaredAt: models.declaredAt,
  }
  return { declared, problems }
}

class ProviderLayers {
  readonly #vault: Vault
  readonly #builtIn: ReadonlySet<string>
  readonly #beneath: ReadonlyMap<string, CatalogProvider>
  readonly #declared: Map<string, DeclaredProvider>

  constructor(sources: CatalogSources, vault: Vault) {
    this.#vault = vault
    this.#builtIn = new Set(sources.providers.map(({ slug }) => slug))
    this.#beneath = new Map(catalogProviders(sources).map((provider) => [provider.slug, provider]))
    this.#declared = new Map(sources.settings.providers.map((provider) => [provider.slug, provider]))
  }

  declared(): DeclaredProvider[] {
    return [...this.#declared.values()]
  }

  slugs(): Set<string> {
    return new Set([...this.#builtIn, ...this.#declared.keys()])
  }

  lay(row: EditRow): void {
    const beneath = this.#declared.get(row.name)
    const fields = fieldsOf(providerEdit, row)
    const held = openSecrets(this.#vault, row)
    const secrets = held?.secrets ?? {}
    refuseAddress(fields.base_url)
    const merged = { ...beneath, ...fields, ...secrets, slug: row.name }
    if (!this.#builtIn.has(row.name)) checkNewProvider(merged, complain)
    const known = this.#beneath.get(row.name)
    const origin = editedOrigin(known, fields.base_url)
    if (held && held.origin !== origin) {
      throw badField(Object.keys(secrets)[0] ?? 'api_key', 'was entered for another address; enter it again')
    }
    if (known && origin !== originOf(addressFor(known))) refuseInherited(known, beneath, secrets)
    this.#declared.set(row.name, merged)
  }
}

/** Where requests to a provider go once an edit is laid over it. */
export function editedOrigin(
  beneath: CatalogProvider | undefined,
  baseUrl: string | undefined,
): string | null {
  return originOf(baseUrl ?? (beneath ? addressFor(beneath) : ''))
}

/** With its gaps filled, where they can be. */
function addressFor({ baseUrl, installed }: CatalogProvider): string {
  return installed.address ?? baseUrl
}

function originOf(url: string): string | null {
  return URL.parse(url)?.origin ?? null
}

/** It is shown in answers, and an environment variable in it would be sent wherever it leads. */
function refuseAddress(baseUrl: string | undefined): void {
  const url = URL.parse(baseUrl ?? '')
  if (!url) return
  if (url.username || url.password) throw badField('base_url', 'must not hold a user name or a password')
  if (/[{}]/.test(baseUrl ?? '')) throw badField('base_url', 'must not hold braces')
}

/** S6: whoever may edit the catalogue may not have the secrets of the environment and headgate.yaml sent elsewhere. */
function refuseInherited(
  known: CatalogProvider,
  beneath: DeclaredProvider | undefined,
  secrets: Partial<Record<(typeof secretFields)[number], unknown>>,
): void {
  for (const field of secretFields) {
    const isKept = field === 'api_key' && (known.keyVariable !== null || beneath?.credentials !== undefined)
    const needed = isKept || beneath?.[field] !== undefined
    if (needed && secrets[field] === undefined) {
      throw badField(
        field,
        'is required with this base_url: what is there already belongs to another address',
      )
    }
  }
}

class ModelLayers {
  readonly #slugs: ReadonlySet<string>
  readonly #known: ReadonlyMap<string, { model: DeclaredModel }>
  readonly #declared: Map<string, DeclaredModel>
  readonly declaredAt: Map<string, number>

  constructor(sources: CatalogSources, slugs: ReadonlySet<string>) {
    this.#slugs = slugs
    this.declaredAt = new Map(sources.settings.declaredAt)
    this.#known = declaredModels(sources)
    this.#declared = new Map(sources.settings.models.map((model) => [model.id, model]))
  }

  declared(): DeclaredModel[] {
    return [...this.#declared.values()]
  }

  layModel(row: EditRow): void {
    const fields = fieldsOf(modelEdit, row)
    const beneath = this.#known.get(row.name)?.model
    const model = parse(declaredModel, { ...beneath, ...fields, id: row.name })
    // What a snapshot says of providers that are not here is no mistake of the operator's.
    if (fields.endpoints) checkEndpoints(model, ['endpoints'], this.#slugs, complain)
    this.#checkNames(model.id, fields.aliases ?? [])
    this.#declared.set(model.id, model)
    if (!beneath) this.declaredAt.set(model.id, Math.floor(Date.parse(row.updated_at) / 1000))
  }

  layEndpoint(row: EditRow): void {
    const fields = fieldsOf(endpointEdit, row)
    const model = this.#declared.get(row.name) ?? this.#known.get(row.name)?.model
    if (!model) throw badField('model', `there is no model "${row.name}"`)
    const [provider = '', ...rest] = row.tag.split('/')
    if (!this.#slugs.has(provider)) throw badField('tag', `there is no provider "${provider}"`)
    const known = model.endpoints.find((endpoint) => tagOf(endpoint) === row.tag)
    const variant = rest.length > 0 ? { variant: rest.join('/') } : {}
    const endpoint = parse(declaredEndpoint, { ...known, ...fields, provider, ...variant })
    // A lane is named by its variant: without one it would be another endpoint.
    if (tagOf(endpoint) !== row.tag)
      throw badField('service_tier', `needs a tag such as "${tagOf(endpoint)}"`)
    const endpoints = known
      ? model.endpoints.map((other) => (other === known ? endpoint : other))
      : [...model.endpoints, endpoint]
    this.#declared.set(model.id, { ...model, endpoints })
  }

  /** A name leads to one model; an alias that is the id of another would lead nowhere. */
  #checkNames(id: string, aliases: readonly string[]): void {
    const others = [...this.#declared.values()].filter((model) => model.id !== id)
    const taken = new Set(others.flatMap((model) => model.aliases))
    if (taken.has(id)) throw badField('slug', `"${id}" is declared twice`)
    for (const [at, alias] of aliases.entries()) {
      if (taken.has(alias)) throw badField(`aliases.${at}`, `"${alias}" is declared twice`)
      if (this.#known.has(alias) || this.#declared.has(alias)) {
        throw badField(`aliases.${at}`, `"${alias}" is the id of a model`)
      }
    }
  }
}

/** Written by this version or another, by hand even: it is believed only when the schema does. */
export function fieldsOf<Shape extends z.ZodType>(schema: Shape, { fields }: EditRow): z.output<Shape> {
  let value: unknown
  try {
    value = JSON.parse(fields)
  } catch {
    throw badField('fields', 'is not JSON')
  }
  return parse(schema, value)
}

function parse<Shape extends z.ZodType>(schema: Shape, value: unknown): z.output<Shape> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [problem] = problemsOf(result.error)
  throw badField(problem?.path.join('.') || 'fields', problem?.message ?? 'is not valid')
}

function complain(path: (string | number)[], message: string): never {
  throw badField(path.join('.'), message)
}
