import { afterAll, beforeAll, beforeEach, describe } from 'bun:test'
import { Routing } from '../../src/inference/routing/routing.ts'
import { databaseKinds, startTestServer, type TestServer } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { type FormatName, formats } from './two-upstreams.ts'

export interface RoutingFixture {
  server: TestServer
  upstream: Upstream
}

/** One of many providers, all on one upstream: the requested model identifies the endpoint. */
const providers = {
  alpha: { name: 'Alpha Cloud' },
  beta: { data_policy: { training: false, retains: true } },
  gamma: { data_policy: { training: false, retains: false } },
  delta: {},
  epsilon: {},
  zeta: {},
  brussels: { regions: ['europe'] },
  denver: { regions: ['us', 'global'] },
  openai: {},
}

type Slug = keyof typeof providers
type Endpoint = Record<string, unknown> & { provider: Slug }

/** Dollars for a million tokens in, and out. */
export function pricedAt(prompt: number, completion = prompt, more: object = {}) {
  const perToken = (price: number) => (price / 1e6).toFixed(12)
  return { pricing: { prompt: perToken(prompt), completion: perToken(completion), ...more } }
}

const withCacheReads = (price: number) => pricedAt(price, price, { input_cache_read: '0.000000001' })

function endpointOn(provider: Slug, more: object = {}): Endpoint {
  return { provider, ...more }
}

const models: Record<string, { endpoints: Endpoint[] } & Record<string, unknown>> = {
  plain: {
    aliases: ['test/nickname'],
    endpoints: [
      endpointOn('gamma', pricedAt(3)),
      endpointOn('alpha', pricedAt(1)),
      endpointOn('beta', pricedAt(2)),
    ],
  },
  regions: {
    endpoints: [
      endpointOn('alpha', pricedAt(1)),
      endpointOn('brussels', pricedAt(2)),
      endpointOn('denver', pricedAt(3)),
    ],
  },
  tagged: {
    endpoints: [
      endpointOn('alpha', pricedAt(1)),
      endpointOn('alpha', { variant: 'turbo', ...pricedAt(2) }),
      endpointOn('openai', { dialects: ['chat'], ...pricedAt(3) }),
    ],
  },
  dear: {
    endpoints: [
      endpointOn('alpha', pricedAt(1, 5)),
      endpointOn('beta', pricedAt(2, 4.5)),
      endpointOn('gamma', pricedAt(3, 4, { request: '0.01' })),
      endpointOn('delta', pricedAt(0.5, 0.5, { image: '0.02', audio: '0.0001' })),
      endpointOn('epsilon'),
    ],
  },
  able: {
    endpoints: [
      endpointOn('alpha', { ...pricedAt(1), supported_parameters: ['max_tokens', 'temperature'] }),
      endpointOn('beta', {
        ...pricedAt(2),
        supported_parameters: ['max_tokens', 'temperature', 'top_k', 'tools'],
      }),
      endpointOn('gamma', {
        ...pricedAt(3),
        supported_parameters: ['max_tokens', 'response_format', 'verbosity'],
      }),
      endpointOn('delta', {
        ...pricedAt(4),
        supported_parameters: ['max_completion_tokens', 'structured_outputs'],
      }),
    ],
  },
  data: {
    distillable: true,
    endpoints: [
      endpointOn('alpha', pricedAt(1)),
      endpointOn('beta', pricedAt(2)),
      endpointOn('gamma', pricedAt(3)),
    ],
  },
  quantized: {
    endpoints: [
      endpointOn('alpha', { ...pricedAt(1), quantization: 'fp4' }),
      endpointOn('beta', { ...pricedAt(2), quantization: 'mxfp4' }),
      endpointOn('gamma', { ...pricedAt(3), quantization: 'nvfp4' }),
      endpointOn('delta', { ...pricedAt(4), quantization: 'fp8' }),
      endpointOn('epsilon', { ...pricedAt(5), quantization: 'mxfp8' }),
      endpointOn('zeta', pricedAt(6)),
    ],
  },
  tiers: {
    endpoints: [
      endpointOn('alpha', pricedAt(1)),
      endpointOn('alpha', { ...pricedAt(4), service_tier: 'priority' }),
      endpointOn('beta', pricedAt(2)),
      endpointOn('beta', { ...pricedAt(0.5), service_tier: 'flex' }),
    ],
  },
  context: {
    endpoints: [
      endpointOn('alpha', { ...pricedAt(1), context_length: 1000 }),
      endpointOn('beta', { ...pricedAt(2), context_length: 100_000, max_completion_tokens: 500 }),
      endpointOn('gamma', { ...pricedAt(3), context_length: 100_000 }),
    ],
  },
  cached: {
    endpoints: [
      endpointOn('alpha', withCacheReads(1)),
      endpointOn('beta', withCacheReads(2)),
      endpointOn('gamma', withCacheReads(3)),
    ],
  },
  blind: { endpoints: [endpointOn('alpha', pricedAt(1))] },
  eyes: { input_modalities: ['text', 'image'], endpoints: [endpointOn('beta', pricedAt(2))] },
  'gift:free': { endpoints: [endpointOn('alpha', pricedAt(0))] },
  gift: { endpoints: [endpointOn('alpha', pricedAt(7))] },
  'line-1': { endpoints: [endpointOn('alpha', pricedAt(1))] },
  'line-2': { endpoints: [endpointOn('beta', pricedAt(1))] },
}

/** The upstream model of each endpoint: the model, the provider, and the variant if any. */
function declaredModel([name, { endpoints, ...model }]: (typeof entries)[number]) {
  const declared = endpoints.map((endpoint) => {
    const variant = endpoint.variant ?? endpoint.service_tier
    const tag = variant ? `${endpoint.provider}/${variant}` : endpoint.provider
    return { ...endpoint, upstream_model: `${name} ${tag}` }
  })
  return { id: `test/${name}`, name, ...model, endpoints: declared }
}
const entries = Object.entries(models)

function buildSettings(url: string): string {
  const declared = Object.entries(providers).map(([slug, more]) => ({
    slug,
    name: slug,
    base_url: url,
    dialects: ['chat'],
    api_key: 'shared-secret',
    ...more,
  }))
  const regions = { hosts: { 'eu.example.com': 'europe', 'us.example.com': 'us' } }
  // JSON is YAML.
  return JSON.stringify({ regions, providers: declared, models: entries.map(declaredModel) })
}

export function describeRouting(name: string, tests: (routed: () => RoutingFixture) => void): void {
  for (const kind of databaseKinds) {
    describe(`${name} (${kind})`, () => {
      let routed: RoutingFixture
      beforeAll(async () => {
        const upstream = await startUpstream()
        const server = await startTestServer(kind, { settings: buildSettings(upstream.url) })
        routed = { server, upstream }
      })
      beforeEach(() => resetFixture(routed))
      afterAll(async () => {
        await routed.server.stop()
        await routed.upstream.stop()
      })
      tests(() => routed)
    })
  }
}

/** Resets health and sticky sessions, and makes the draw always pick the cheapest endpoint. */
export function resetFixture({ server, upstream }: RoutingFixture): void {
  Object.assign(server.gateway, { routing: Object.assign(new Routing(), { random: () => 0 }) })
  upstream.requests.length = 0
  upstream.setDefault(null)
}

interface SendOptions {
  key?: string
  headers?: Record<string, string>
  format?: FormatName
}

export async function sendRouted(
  { server }: RoutingFixture,
  body: Record<string, unknown>,
  init: SendOptions = {},
) {
  const { key = server.own.inferenceKey, headers, format = 'chat' } = init
  const response = await fetch(server.url + formats[format].path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...formats[format].body, model: 'test/plain', ...body }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}

/** The endpoint that serves the request: `alpha`, `alpha/priority`; with the model where there are several. */
export function endpointNameOf(upstreamModel: string): string {
  return upstreamModel.split(' ')[1] ?? upstreamModel
}

/** Every endpoint that may serve the request, in order: each of them fails. */
export async function collectAttempts(
  routed: RoutingFixture,
  body: Record<string, unknown>,
  init: SendOptions = {},
) {
  resetFixture(routed)
  routed.upstream.setDefault({ status: 500, json: { error: { message: 'out of order' } } })
  const response = await sendRouted(routed, body, init)
  const attempts = routed.upstream.requests.map(({ json, headers }) => ({
    endpoint: json.model as string,
    credential: (headers.authorization ?? '').replace('Bearer ', ''),
  }))
  return { ...response, attempts, tried: attempts.map(({ endpoint }) => endpointNameOf(endpoint)) }
}

/** Collects the reasons why there was no candidate. */
export async function collectRefusal(
  routed: RoutingFixture,
  body: Record<string, unknown>,
  init: SendOptions = {},
) {
  const { tried, body: responseBody } = await collectAttempts(routed, body, init)
  return {
    tried,
    code: responseBody.error.availability?.code,
    excluded: responseBody.error.availability?.excluded_by,
  }
}
