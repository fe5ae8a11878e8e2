import type { OwnKey } from '../../src/account/own-keys.ts'
import { buildCatalog, type Catalog } from '../../src/catalog/catalog.ts'
import { declaredProvider } from '../../src/catalog/declared.ts'
import { declaredModel, type ModelDeclaration } from '../../src/catalog/declared-model.ts'
import type { DataRegion } from '../../src/catalog/vocabulary.ts'
import type { Gateway } from '../../src/gateway.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { JsonObject } from '../../src/lib/loose.ts'
import type { Asked } from '../../src/pipeline/asked.ts'
import { formats } from '../../src/pipeline/formats.ts'
import { readWishes } from '../../src/pipeline/wishes.ts'
import { effectivePolicy } from '../../src/policy/effective.ts'
import { Routing } from '../../src/routing/routing.ts'

type EndpointDeclaration = ModelDeclaration['endpoints'][number]

/** An endpoint of a made-up catalogue; the price is of a million tokens in and a million out, in USD. */
export type MadeEndpoint = Omit<Partial<EndpointDeclaration>, 'pricing' | 'provider'> & {
  provider: string
  /** Null: nobody knows. */
  price: number | null
  /** Reading from a cache costs a tenth. */
  caches?: boolean
}

export type MadeModel = Omit<Partial<ModelDeclaration>, 'endpoints'> & {
  id: string
  endpoints: readonly MadeEndpoint[]
}

/** A catalogue of providers and models that exist nowhere; every provider has a key. */
export function madeCatalog(models: readonly MadeModel[]): Catalog {
  const slugs = new Set(models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)))
  const providers = [...slugs].map((slug) =>
    declaredProvider.parse({
      slug,
      name: slug,
      base_url: 'http://127.0.0.1:9',
      dialects: ['chat'],
      api_key: 'key',
    }),
  )
  const declared = models.map(({ endpoints, ...model }) =>
    declaredModel.parse({ name: model.id, ...model, endpoints: endpoints.map(declaredEndpoint) }),
  )
  return buildCatalog({ settings: { providers, models: declared }, providers: [], environment: {} })
}

function declaredEndpoint({ price, caches, ...endpoint }: MadeEndpoint): EndpointDeclaration {
  const half = (part: number) => (((price ?? 0) / 2 / 1e6) * part).toFixed(15)
  const pricing = {
    prompt: half(1),
    completion: half(1),
    ...(caches && { input_cache_read: half(0.1) }),
  }
  return { upstream_model: 'model', ...endpoint, ...(price !== null && { pricing }) }
}

export interface MadeGateway extends Gateway {
  routing: Routing
}

/** As much of a gateway as a decision needs. */
export function madeGateway(catalog: Catalog, clock: Clock, random: () => number): MadeGateway {
  const routing = Object.assign(new Routing(), { random })
  const log = { warn: () => undefined }
  const settings = { limits: { total: 3_600_000, cooldown: 300_000 } }
  return { catalog, clock, log, routing, settings, exchanges: new Set() } as unknown as MadeGateway
}

const policy = effectivePolicy({})

export interface MadeQuestion {
  headers?: Record<string, string>
  ownKeys?: readonly OwnKey[]
  region?: DataRegion
  organizationId?: string
  at?: number
}

/** A chat request as it arrives at `route`. */
export function madeAsked(given: JsonObject, question: MadeQuestion = {}): Asked {
  const { ownKeys = [], region = 'global', organizationId = 'organization', at = 0 } = question
  const body: JsonObject = { messages: [{ role: 'user', content: 'Hello' }], ...given }
  const headers = new Headers(question.headers)
  const asked = {
    caller: { organizationId },
    region,
    request: { headers, signal: new AbortController().signal },
    body,
    source: { text: JSON.stringify(body), body },
    format: formats.chat,
    standing: { policy, ownKeys },
    call: formats.chat.reads.decodeRequest(body),
    wishes: readWishes(body, headers, null),
    presetId: null,
    keepsContent: false,
    id: 'gen-0',
    at,
    startedAt: at,
  }
  return asked as unknown as Asked
}

/** A credential of the caller's own. */
export function madeOwnKey(id: string, provider: string, more: Partial<OwnKey> = {}): OwnKey {
  const key = {
    id,
    provider,
    sealed: '',
    isFallback: false,
    isRequired: false,
    isOnly: false,
    declaredZdr: null,
    allowedModels: null,
  }
  return { ...key, ...more } as OwnKey
}
