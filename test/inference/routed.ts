import { afterAll, beforeAll, beforeEach, describe } from 'bun:test'
import { Routing } from '../../src/routing/routing.ts'
import { databaseKinds, startTestServer, type TestServer } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { type FormatName, formats } from './support.ts'

export interface Routed {
  server: TestServer
  upstream: Upstream
}

/** One of many providers, all on one upstream: which endpoint was asked is told by the model it was asked for. */
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
export function priced(prompt: number, completion = prompt, more: object = {}) {
  const perToken = (price: number) => (price / 1e6).toFixed(12)
  return { pricing: { prompt: perToken(prompt), completion: perToken(completion), ...more } }
}

const caching = (price: number) => priced(price, price, { input_cache_read: '0.000000001' })

function on(provider: Slug, more: object = {}): Endpoint {
  return { provider, ...more }
}

const models: Record<string, { endpoints: Endpoint[] } & Record<string, unknown>> = {
  plain: {
    aliases: ['test/nickname'],
    endpoints: [on('gamma', priced(3)), on('alpha', priced(1)), on('beta', priced(2))],
  },
  regions: {
    endpoints: [on('alpha', priced(1)), on('brussels', priced(2)), on('denver', priced(3))],
  },
  tagged: {
    endpoints: [
      on('alpha', priced(1)),
      on('alpha', { variant: 'turbo', ...priced(2) }),
      on('openai', { dialects: ['chat'], ...priced(3) }),
    ],
  },
  dear: {
    endpoints: [
      on('alpha', priced(1, 5)),
      on('beta', priced(2, 4.5)),
      on('gamma', priced(3, 4, { request: '0.01' })),
      on('delta', priced(0.5, 0.5, { image: '0.02', audio: '0.0001' })),
      on('epsilon'),
    ],
  },
  able: {
    endpoints: [
      on('alpha', { ...priced(1), supported_parameters: ['max_tokens', 'temperature'] }),
      on('beta', { ...priced(2), supported_parameters: ['max_tokens', 'temperature', 'top_k', 'tools'] }),
      on('gamma', { ...priced(3), supported_parameters: ['max_tokens', 'response_format', 'verbosity'] }),
      on('delta', { ...priced(4), supported_parameters: ['max_completion_tokens', 'structured_outputs'] }),
    ],
  },
  data: {
    distillable: true,
    endpoints: [on('alpha', priced(1)), on('beta', priced(2)), on('gamma', priced(3))],
  },
  quantized: {
    endpoints: [
      on('alpha', { ...priced(1), quantization: 'fp4' }),
      on('beta', { ...priced(2), quantization: 'mxfp4' }),
      on('gamma', { ...priced(3), quantization: 'nvfp4' }),
      on('delta', { ...priced(4), quantization: 'fp8' }),
      on('epsilon', { ...priced(5), quantization: 'mxfp8' }),
      on('zeta', priced(6)),
    ],
  },
  tiers: {
    endpoints: [
      on('alpha', priced(1)),
      on('alpha', { ...priced(4), service_tier: 'priority' }),
      on('beta', priced(2)),
      on('beta', { ...priced(0.5), service_tier: 'flex' }),
    ],
  },
  context: {
    endpoints: [
      on('alpha', { ...priced(1), context_length: 1000 }),
      on('beta', { ...priced(2), context_length: 100_000, max_completion_tokens: 500 }),
      on('gamma', { ...priced(3), context_length: 100_000 }),
    ],
  },
  cached: {
    endpoints: [on('alpha', caching(1)), on('beta', caching(2)), on('gamma', caching(3))],
  },
  blind: { endpoints: [on('alpha', priced(1))] },
  eyes: { input_modalities: ['text', 'image'], endpoints: [on('beta', priced(2))] },
  'gift:free': { endpoints: [on('alpha', priced(0))] },
  gift: { endpoints: [on('alpha', priced(7))] },
  'line-1': { endpoints: [on('alpha', priced(1))] },
  'line-2': { endpoints: [on('beta', priced(1))] },
}

/** What each endpoint is asked for: the model, the provider, and the variant where there is one. */
function declaredModel([name, { endpoints, ...model }]: (typeof entries)[number]) {
  const made = endpoints.map((endpoint) => {
    const variant = endpoint.variant ?? endpoint.service_tier
    const tag = variant ? `${endpoint.provider}/${variant}` : endpoint.provider
    return { ...endpoint, upstream_model: `${name} ${tag}` }
  })
  return { id: `test/${name}`, name, ...model, endpoints: made }
}
const entries = Object.entries(models)

function settingsFor(url: string): string {
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

export function describeRouted(name: string, tests: (routed: () => Routed) => void): void {
  for (const kind of databaseKinds) {
    describe(`${name} (${kind})`, () => {
      let routed: Routed
      beforeAll(async () => {
        const upstream = await startUpstream()
        const server = await startTestServer(kind, { settings: settingsFor(upstream.url) })
        routed = { server, upstream }
      })
      beforeEach(() => forget(routed))
      afterAll(async () => {
        await routed.server.stop()
        await routed.upstream.stop()
      })
      tests(() => routed)
    })
  }
}

/** As after a start, and with the cheapest endpoint drawn always. */
export function forget({ server, upstream }: Routed): void {
  Object.assign(server.gateway, { routing: Object.assign(new Routing(), { random: () => 0 }) })
  upstream.journal.length = 0
  upstream.otherwise(null)
}

interface Init {
  key?: string
  headers?: Record<string, string>
  format?: FormatName
}

export async function askRouted({ server }: Routed, body: Record<string, unknown>, init: Init = {}) {
  const { key = server.own.inferenceKey, headers, format = 'chat' } = init
  const response = await fetch(server.url + formats[format].path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...formats[format].body, model: 'test/plain', ...body }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}

/** Who answers, by what it was asked for: `alpha`, `alpha/priority`; with the model where several are asked. */
export function nameOf(upstreamModel: string): string {
  return upstreamModel.split(' ')[1] ?? upstreamModel
}

/** Every endpoint that may serve the request, in order: each of them fails. */
export async function triedFor(routed: Routed, body: Record<string, unknown>, init: Init = {}) {
  forget(routed)
  routed.upstream.otherwise({ status: 500, json: { error: { message: 'out of order' } } })
  const answer = await askRouted(routed, body, init)
  const asked = routed.upstream.journal.map(({ json, headers }) => ({
    endpoint: json.model as string,
    credential: (headers.authorization ?? '').replace('Bearer ', ''),
  }))
  return { ...answer, asked, tried: asked.map(({ endpoint }) => nameOf(endpoint)) }
}

/** Why nobody could be asked. */
export async function refusalOf(routed: Routed, body: Record<string, unknown>, init: Init = {}) {
  const { tried, body: told } = await triedFor(routed, body, init)
  return {
    tried,
    code: told.error.availability?.code,
    excluded: told.error.availability?.excluded_by,
  }
}
