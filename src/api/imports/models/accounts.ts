import type { CatalogProvider } from '../../../catalog/model.ts'
import type { ProviderOverride } from '../../../catalog/override-schema.ts'
import { printablePattern } from '../../../catalog/provider-auth/credential-field.ts'
import type { WireFormatName } from '../../../formats/vocabulary.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import type { CatalogPlan } from '../import-plan.ts'
import { trimBase } from './base-address.ts'
import type { Vendor } from './vendors.ts'

export interface AccountRequest {
  vendor: Vendor
  apiKey: string | undefined
  apiBase: string | undefined
}

/** The provider that stands for an account, or why there is none. */
export type Account = { slug: string } | { problem: string }

/** The formats of a server that speaks the format of OpenAI. */
const serverFormats: readonly WireFormatName[] = ['chat', 'embeddings']

type Variables = Readonly<Record<string, string | undefined>>

/** Finds a provider for each account of the configuration: the built-in one, or one of its own. */
export class Accounts {
  readonly #providers: ReadonlyMap<string, CatalogProvider>
  readonly #variables: Variables
  readonly #planned = new Map<string, { fields: ProviderOverride; identity: string }>()

  constructor(providers: readonly CatalogProvider[], variables: Variables) {
    this.#providers = new Map(providers.map((provider) => [provider.slug, provider]))
    this.#variables = variables
  }

  isBuiltIn = (slug: string): boolean => this.#providers.has(slug)

  /** In the order in which the configuration names them, so that a second import finds the same. */
  listPlanned(): CatalogPlan['providers'] {
    return [...this.#planned].map(([slug, { fields }]) => ({ slug, fields }))
  }

  /** Lets requests name any model of an account that the pattern matches. */
  addWildcard(slug: string, pattern: string): void {
    const planned = this.#planned.get(slug) ?? { fields: {}, identity: '' }
    const wildcards = [...new Set([...(planned.fields.wildcards ?? []), pattern])]
    this.#planned.set(slug, { ...planned, fields: { ...planned.fields, wildcards } })
  }

  find({ vendor, apiKey, apiBase = vendor.defaultBase }: AccountRequest): Account {
    const builtIn = vendor.slug === null ? undefined : this.#providers.get(vendor.slug)
    if (apiKey !== undefined && !printablePattern.test(apiKey))
      return { problem: 'the API key has characters that a header cannot have' }
    const key = apiKey ?? (builtIn && this.#findKey(vendor, builtIn))
    const baseUrl = this.#resolveBase(vendor, builtIn, apiBase)
    if (builtIn && baseUrl === null) return this.#findBuiltIn(builtIn, key)
    if (baseUrl === null) return { problem: 'the address of the server is missing' }
    const url = URL.parse(baseUrl)
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search)
      return { problem: 'its address is not one with http or https and without a password' }
    const slug = `${vendor.slug ?? vendor.prefix.replaceAll('_', '-')}-${toLabel(url)}`
    return this.#plan(slug, `${builtIn?.name ?? vendor.prefix} (${url.host})`, baseUrl, key, builtIn)
  }

  /** A key that is not declared comes from a variable. */
  #findKey({ prefix }: Vendor, { enabled, keyVariable }: CatalogProvider): string | undefined {
    if (enabled) return undefined
    return this.#variables[`${prefix.toUpperCase()}_API_KEY`] ?? this.#variables[keyVariable ?? '']
  }

  /** Null: the address of the built-in provider. */
  #resolveBase(
    { prefix, toBaseUrl }: Vendor,
    builtIn: CatalogProvider | undefined,
    apiBase: string | undefined,
  ): string | null {
    const given = apiBase ?? (builtIn && this.#variables[`${prefix.toUpperCase()}_API_BASE`])
    if (given === undefined) return null
    const trimmed = trimBase(given)
    const baseUrl = toBaseUrl ? toBaseUrl(trimmed) : trimmed
    const own = builtIn && (builtIn.installation.address ?? builtIn.baseUrl)
    return baseUrl === own ? null : baseUrl
  }

  #findBuiltIn(builtIn: CatalogProvider, key: string | undefined): Account {
    const { slug, name, enabled, installation, baseUrl } = builtIn
    if (key === undefined && enabled) return { slug }
    if (key === undefined)
      return {
        problem: `${slug} has no key there or here: set ${builtIn.keyVariable ?? 'its credentials'} of the server`,
      }
    const { credential } = installation
    if (credential.kind === 'token' && credential.token === key) return { slug }
    const planned = this.#planned.get(slug)
    if (planned?.identity === key) return { slug }
    if (!enabled && !planned && !/[{}]/.test(baseUrl)) {
      this.#planned.set(slug, { fields: { api_key: key }, identity: key })
      return { slug }
    }
    if (/[{}]/.test(baseUrl))
      return { problem: `${slug} needs the address of its account: docs/providers/README.md` }
    return this.#plan(`${slug}-${sha256(key).slice(0, 6)}`, `${name} (second key)`, baseUrl, key, builtIn)
  }

  #plan(
    name: string,
    label: string,
    baseUrl: string,
    key: string | undefined,
    builtIn: CatalogProvider | undefined,
  ): Account {
    const identity = `${baseUrl} ${key}`
    const isTaken = (slug: string) => (this.#planned.get(slug)?.identity ?? identity) !== identity
    const slug = isTaken(name) ? `${name}-${sha256(identity).slice(0, 6)}` : name
    const wildcards = this.#planned.get(slug)?.fields.wildcards
    const fields: ProviderOverride = {
      name: label.slice(0, 200),
      base_url: baseUrl,
      ...(key !== undefined && { api_key: key }),
      dialects: builtIn?.wireFormats ?? [...serverFormats],
      ...(builtIn?.keyHeader && { key_header: builtIn.keyHeader }),
      ...(builtIn?.capabilities && { abilities: [...builtIn.capabilities] }),
      ...(builtIn && { data_policy: builtIn.dataPolicy }),
      ...(wildcards && { wildcards }),
    }
    this.#planned.set(slug, { fields, identity })
    return { slug }
  }
}

/** The part of a slug for an address: the first label of a name with a domain, the whole address otherwise. */
function toLabel({ hostname, port }: URL): string {
  const labels = hostname.replaceAll(/[[\]]/g, '').split('.')
  const isName = labels.length > 2 && /[a-z]/i.test(labels.at(-1) ?? '')
  const host = isName ? (labels[0] ?? hostname) : hostname
  return `${host}${port ? `-${port}` : ''}`.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-')
}
