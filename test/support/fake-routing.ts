import { pino } from 'pino'
import { Benchmarks } from '../../src/catalog/benchmarks/benchmarks.ts'
import type { ByokKey } from '../../src/catalog/byok-keys.ts'
import { buildCatalog, type Catalog } from '../../src/catalog/catalog.ts'
import { declaredProvider } from '../../src/catalog/declared.ts'
import { declaredModel, type ModelDeclaration } from '../../src/catalog/declared-model.ts'
import type { DataRegion } from '../../src/formats/vocabulary.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { ModelMetrics } from '../../src/gateway/model-metrics/model-metrics.ts'
import { computeEffectivePolicy } from '../../src/governance/policy/effective.ts'
import { ProviderRates } from '../../src/inference/rates/provider-rates.ts'
import { RequestContent } from '../../src/inference/request/content.ts'
import { formats } from '../../src/inference/request/formats.ts'
import type { InferenceRequest } from '../../src/inference/request/inference-request.ts'
import { parseOptions } from '../../src/inference/request/options.ts'
import { Routing } from '../../src/inference/routing/routing.ts'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import type { Clock } from '../../src/platform/time/clock.ts'
import { CoarseTimer } from '../../src/platform/time/coarse-timer.ts'

type EndpointDeclaration = ModelDeclaration['endpoints'][number]

/** An endpoint of a made-up catalog; the price is of a million tokens in and a million out, in USD. */
export type FakeEndpoint = Omit<Partial<EndpointDeclaration>, 'pricing' | 'provider'> & {
  provider: string
  /** Null: unknown. */
  price: number | null
  /** Reading from a cache costs a tenth. */
  caches?: boolean
}

export type FakeModel = Omit<Partial<ModelDeclaration>, 'endpoints'> & {
  id: string
  endpoints: readonly FakeEndpoint[]
}

/** A catalog of fictional providers and models; every provider has a key. */
export function buildFakeCatalog(models: readonly FakeModel[]): Catalog {
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
    declaredModel.parse({ name: model.id, ...model, endpoints: endpoints.map(toEndpointDeclaration) }),
  )
  return buildCatalog({ settings: { providers, models: declared }, providers: [], environment: {} })
}

function toEndpointDeclaration({ price, caches, ...endpoint }: FakeEndpoint): EndpointDeclaration {
  const half = (part: number) => (((price ?? 0) / 2 / 1e6) * part).toFixed(15)
  const pricing = {
    prompt: half(1),
    completion: half(1),
    ...(caches && { input_cache_read: half(0.1) }),
  }
  return { upstream_model: 'model', ...endpoint, ...(price !== null && { pricing }) }
}

export interface FakeGateway extends Gateway {
  routing: Routing
}

/** The parts of a gateway that a routing decision needs. */
export function buildFakeGateway(catalog: Catalog, clock: Clock, random: () => number): FakeGateway {
  const routing = Object.assign(new Routing(), { random })
  const log = pino({ level: 'silent' })
  const settings = { limits: { total: 3_600_000, cooldown: 300_000 } }
  const benchmarks = new Benchmarks()
  const timer = new CoarseTimer()
  const gateway = {
    catalog,
    clock,
    timer,
    log,
    routing,
    benchmarks,
    settings,
    metrics: { models: new ModelMetrics() },
    upstreams: { exchanges: new Set(), rates: new ProviderRates() },
  }
  return gateway as unknown as FakeGateway
}

const policy = computeEffectivePolicy({})

export interface FakeRequestOptions {
  headers?: Record<string, string>
  byokKeys?: readonly ByokKey[]
  region?: DataRegion
  organizationId?: string
  at?: number
}

/** A parsed chat request, ready for routing. */
export function buildFakeRequest(fields: JsonObject, options: FakeRequestOptions = {}): InferenceRequest {
  const { byokKeys = [], region = 'global', organizationId = 'organization', at = 0 } = options
  const body: JsonObject = { messages: [{ role: 'user', content: 'Hello' }], ...fields }
  const headers = new Headers(options.headers)
  const request = {
    caller: { organizationId },
    region,
    httpRequest: { headers, signal: new AbortController().signal },
    format: formats.chat,
    content: RequestContent.parse(formats.chat, body, { text: JSON.stringify(body), body, values: 1 }),
    keyContext: { policy, byokKeys, defaultSort: null },
    options: parseOptions(body, headers, {
      defaultModel: null,
      tagRules: null,
      priority: 'normal',
      maxPriority: 'normal',
    }),
    presetId: null,
    logsContent: false,
    exportTargets: null,
    id: 'gen-0',
    at,
    startedAt: at,
    work: null,
    hits: null,
    placeholders: null,
    plan: null,
    hold: null,
    attempts: { failed: [], lastStartedAt: at, isOpen: false, candidate: null, translation: null },
    replyTransforms: [],
    replyFilters: [],
    replyObservers: [],
    restoreReply: null,
    onSettled: [],
    replyHeaders: {},
  }
  return request as unknown as InferenceRequest
}

/** A BYOK credential. */
export function buildFakeByokKey(id: string, provider: string, changes: Partial<ByokKey> = {}): ByokKey {
  const key = {
    id,
    provider,
    encrypted: '',
    isFallback: false,
    isRequired: false,
    isByokOnly: false,
    declaredZdr: null,
    allowedModels: null,
  }
  return { ...key, ...changes } as ByokKey
}
