import { afterAll, beforeAll, beforeEach, describe } from 'bun:test'
import {
  type DatabaseKind,
  databaseKinds,
  resetRouting,
  startTestServer,
  type TestServer,
} from '../support/harness.ts'
import { type ReceivedRequest, startUpstream, type Upstream } from '../support/upstream.ts'

export interface Bench {
  server: TestServer
  /** Two providers that can fail independently; the first is the cheaper one. */
  first: Upstream
  second: Upstream
}

const wireFormats = ['chat', 'messages', 'responses', 'gemini'] as const

function provider(slug: string, url: string, wireFormat: string): string {
  return `  - { slug: ${slug}, name: ${slug}, base_url: "${url}", dialects: [${wireFormat}], api_key: vendor-secret }\n`
}

const promises = 'data_policy: { training: false, retains: false, publishes: false }'

/** `test/<dialect>` is on the first upstream; `test/both-<dialect>` on both. */
function model(id: string, slugs: string[]): string {
  const prices = ['0.000001', '0.000002']
  const capabilities = ['', 'quantization: fp8, supported_parameters: [max_tokens, temperature, top_k], ']
  const endpoints = slugs.map(
    (slug, index) =>
      `      - { provider: ${slug}, upstream_model: vendor-model, ${capabilities[index]}pricing: { prompt: "${prices[index]}", completion: "0.000004" } }\n`,
  )
  return `  - id: test/${id}\n    name: ${id}\n    endpoints:\n${endpoints.join('')}`
}

/** Fixed costs: a cent, nothing, or unknown. */
const plainPrices = {
  cent: 'pricing: { prompt: "0", completion: "0", request: "0.01" }',
  'gift:free': 'pricing: { prompt: "0", completion: "0" }',
  unpriced: '',
}

function plainModel([id, pricing]: [string, string]): string {
  const endpoint = `{ provider: one-chat, upstream_model: vendor-model, ${pricing} }`
  return `  - id: test/${id}\n    name: ${id}\n    endpoints:\n      - ${endpoint}\n`
}

export function buildSettings(first: string, second: string, extra = ''): string {
  const providers = wireFormats.flatMap((wireFormat) => [
    provider(`one-${wireFormat}`, first, wireFormat),
    // The one with a data policy.
    provider(`two-${wireFormat}`, second, wireFormat).replace(' }\n', `, ${promises} }\n`),
  ])
  const models = wireFormats.flatMap((wireFormat) => [
    model(wireFormat, [`one-${wireFormat}`]),
    model(`both-${wireFormat}`, [`one-${wireFormat}`, `two-${wireFormat}`]),
  ])
  const stubborn = provider('stubborn', first, 'chat').replace(' }\n', ', bills_abandoned: true }\n')
  const plain = Object.entries(plainPrices).map(plainModel)
  const all = [...models, model('stubborn', ['stubborn']), ...plain]
  return `${extra}\nproviders:\n${providers.join('')}${stubborn}models:\n${all.join('')}`
}

/** Added to the default settings, or all of them as a function of the two upstream URLs. */
export type BenchSettings = string | ((first: string, second: string) => string)

type BenchTests = (bench: () => Bench, kind: DatabaseKind) => void

export function describeWithUpstreams(
  name: string,
  tests: BenchTests,
  extra: BenchSettings = '',
  kinds: readonly DatabaseKind[] = databaseKinds,
  environment: Record<string, string> = {},
): void {
  for (const kind of kinds) {
    describe(`${name} (${kind})`, () => {
      let bench: Bench
      beforeAll(async () => {
        bench = await openBench(kind, extra, environment)
      })
      beforeEach(() => resetRouting(bench.server))
      afterAll(async () => {
        await bench.server.stop()
        await Promise.all([bench.first.stop(), bench.second.stop()])
      })
      tests(() => bench, kind)
    })
  }
}

/** Describes tests of what is between a client and a provider: of the database they need only the record of a request. */
export function describeWithUpstreamsOnSqlite(name: string, tests: BenchTests, extra?: BenchSettings): void {
  describeWithUpstreams(name, tests, extra, ['sqlite'])
}

export async function openBench(
  kind: DatabaseKind,
  extra: BenchSettings = '',
  environment: Record<string, string> = {},
): Promise<Bench> {
  const [first, second] = await Promise.all([startUpstream(), startUpstream()])
  const settings =
    typeof extra === 'string' ? buildSettings(first.url, second.url, extra) : extra(first.url, second.url)
  const server = await startTestServer(kind, { settings, environment })
  return { server, first, second }
}

/** Path and minimal body of each format. */
export const formats = {
  chat: { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'Hello' }] } },
  messages: {
    path: '/v1/messages',
    body: { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
  },
  responses: { path: '/v1/responses', body: { input: 'Hello' } },
} as const

export type FormatName = keyof typeof formats
export const formatNames = Object.keys(formats) as FormatName[]

export function sendRequest(
  { server }: Bench,
  format: FormatName,
  body: Record<string, unknown>,
  init: RequestInit & { key?: string } = {},
): Promise<Response> {
  const { key = server.own.inferenceKey, ...rest } = init
  return fetch(server.url + formats[format].path, {
    method: 'POST',
    ...rest,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...rest.headers },
    body: JSON.stringify({ ...formats[format].body, ...body }),
  })
}

/** Sends a request, like `sendRequest`, while time passes: a tenth of a second in each turn of the event loop. */
export function sendPassingTime(
  bench: Bench,
  format: FormatName,
  body: Record<string, unknown>,
): Promise<Response> {
  return bench.server.timer.passUntil(sendRequest(bench, format, body))
}

/** The body of the reply, while time passes until its end. */
export function readPassingTime(...[bench, format, body]: Parameters<typeof sendPassingTime>) {
  const reply = sendRequest(bench, format, body).then((response) => response.text())
  return bench.server.timer.passUntil(reply)
}

export async function listGenerations({ server }: Bench) {
  return server.gateway.db.selectFrom('generations').selectAll().orderBy('created_at').orderBy('id').execute()
}

/** The rows, once there are so many: an abandoned request is settled after its client has disconnected. */
export async function waitForGenerations(bench: Bench, count: number) {
  for (const deadline = Date.now() + 30_000; ; await Bun.sleep(5)) {
    const rows = await listGenerations(bench)
    if (rows.length >= count || Date.now() > deadline) return rows
  }
}

export async function clearGenerations({ server, first, second }: Bench): Promise<void> {
  await server.gateway.db.deleteFrom('generations').execute()
  for (const { requests } of [first, second]) requests.length = 0
}

export function lastRequest(journal: ReceivedRequest[]): ReceivedRequest {
  const last = journal.at(-1)
  if (!last) throw new Error('the upstream received no request')
  return last
}

// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
export async function readJson(response: Response | Promise<Response>): Promise<any> {
  return (await response).json()
}
