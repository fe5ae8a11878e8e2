import { afterAll, beforeAll, beforeEach, expect } from 'bun:test'
import { resetRouting, startTestServer, type TestServer } from '../support/harness.ts'
import {
  longScenario,
  type Scenario,
  type ScenarioName,
  scenarios,
  type TextDialect,
  textDialects,
  vendorReplies,
} from '../support/replies.ts'
import {
  type ReceivedRequest,
  type ResponseSource,
  startUpstream,
  type Upstream,
} from '../support/upstream.ts'

export type { TextDialect }
export { scenarios, textDialects }

/** Libraries fetch things on their own account: nothing may leave this machine. */
const realFetch = globalThis.fetch
globalThis.fetch = Object.assign(
  async (...[input, init]: Parameters<typeof fetch>) => {
    const { hostname } = new URL(input instanceof Request ? input.url : String(input))
    if (hostname !== '127.0.0.1' && hostname !== 'localhost')
      throw new TypeError(`not on loopback: ${hostname}`)
    return realFetch(input, init)
  },
  { preconnect: realFetch.preconnect },
)

/** A gateway with one provider for each format, all of them the same recorded upstream. */
export interface Lab {
  server: TestServer
  upstream: Upstream
  /** What the upstream answers next; without anything, a short text. */
  next: ResponseSource[]
  url: string
  key: string
  managementKey: string
  /** Of an account without credits. */
  poorKey: string
}

export function useLab(): () => Lab {
  let lab: Lab
  beforeAll(async () => {
    lab = await openLab()
  })
  beforeEach(() => {
    lab.next.length = 0
    resetRouting(lab.server)
  })
  afterAll(async () => {
    await lab.server.stop()
    await lab.upstream.stop()
  })
  return () => lab
}

export async function openLab(): Promise<Lab> {
  const upstream = await startUpstream()
  const next: ResponseSource[] = []
  upstream.setDefault((request) => {
    const source = next.shift() ?? replyOf(dialectOf(request), scenarios.text)
    return typeof source === 'function' ? source(request) : source
  })
  const server = await startTestServer('sqlite', { settings: settingsFor(upstream.url) })
  const { own, foreign } = server
  return {
    server,
    upstream,
    next,
    url: server.url,
    key: own.inferenceKey,
    managementKey: own.managementKey,
    poorKey: foreign.inferenceKey,
  }
}

export function modelOf(dialect: TextDialect): string {
  return `lab/${dialect}`
}

/** The upstream's models are named after the format they are reached by. */
function dialectOf({ path, json }: ReceivedRequest): TextDialect {
  const named = `${path} ${json?.model}`
  return textDialects.find((dialect) => named.includes(`vendor-${dialect}`)) ?? 'chat'
}

/** Vendors whose formats sign reasoning are known here by name: signatures are for the one who made them. */
const slugs: Record<TextDialect, string> = {
  chat: 'chat-lab',
  messages: 'anthropic',
  responses: 'openai',
  gemini: 'google',
}

function settingsFor(upstreamUrl: string): string {
  const providers = textDialects.map((dialect) => ({
    slug: slugs[dialect],
    name: `The ${dialect} lab`,
    base_url: `${upstreamUrl}/v1`,
    api_key: 'sk-upstream',
    dialects: [dialect] as string[],
  }))
  const models = textDialects.map((dialect) => ({
    id: modelOf(dialect),
    aliases: [`${dialect}-deployment`],
    name: `Lab ${dialect}`,
    description: 'A model for tests',
    context_length: 200_000,
    input_modalities: ['text', 'image'],
    supported_parameters: ['max_tokens', 'tools', 'tool_choice', 'reasoning', 'structured_outputs'],
    endpoints: [
      {
        provider: slugs[dialect],
        upstream_model: `vendor-${dialect}`,
        pricing: { prompt: '0.000001', completion: '0.000002' },
      },
    ],
  }))
  const proxy = { slug: 'proxy', name: 'A proxy', base_url: `${upstreamUrl}/v1`, dialects: ['messages'] }
  const behind = { provider: proxy.slug, upstream_model: 'vendor-messages' }
  providers.push({ ...proxy, api_key: 'sk-upstream' })
  models.push({
    ...models[0]!,
    id: 'lab/proxy',
    aliases: [],
    endpoints: [{ ...models[0]!.endpoints[0]!, ...behind }],
  })
  // JSON is YAML.
  return JSON.stringify({ providers, models, limits: { heartbeat: 1 } })
}

/** The upstream answers with this next, streamed when that is asked for. */
export function replies({ next }: Lab, dialect: TextDialect, ...names: (ScenarioName | Scenario)[]): void {
  next.push(...names.map((name) => replyOf(dialect, typeof name === 'string' ? scenarios[name] : name)))
}

export function replyOf(dialect: TextDialect, scenario: Scenario): ResponseSource {
  const { frames, body } = vendorReplies[dialect](scenario)
  return ({ path, json }) => {
    const streams = json?.stream === true || path.endsWith(':streamGenerateContent')
    return streams ? { sse: frames } : { json: body }
  }
}

const slowDown = 'Slow down, please.'
const rateErrors: Record<TextDialect, object> = {
  chat: { error: { message: slowDown, type: 'requests', param: null, code: 'rate_limit_exceeded' } },
  responses: { error: { message: slowDown, type: 'requests', param: null, code: 'rate_limit_exceeded' } },
  messages: { type: 'error', error: { type: 'rate_limit_error', message: slowDown } },
  gemini: { error: { code: 429, message: slowDown, status: 'RESOURCE_EXHAUSTED' } },
}

/** The upstream is asked for too much; it says when to come back. */
export function limitsRate({ next }: Lab, dialect: TextDialect, retryAfter = '1'): void {
  next.push({ status: 429, headers: { 'retry-after': retryAfter }, json: rateErrors[dialect] })
}

/** The upstream is silent before and within a stream, for longer than a client is left without a sign of life. */
export function dawdles({ next }: Lab, dialect: TextDialect): void {
  const { frames } = vendorReplies[dialect](scenarios.text)
  const bytes = frames.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0)
  next.push({ sse: frames, waitMs: 1500, splitBytes: Math.ceil(bytes / 2), delayMs: 1500 })
}

/** The upstream begins a stream and then says nothing more. */
export function stalls({ next }: Lab, dialect: TextDialect): void {
  const { frames } = vendorReplies[dialect](longScenario(200))
  next.push({ sse: frames.slice(0, 20), hang: true })
}

/** The last request the upstream was sent. */
export function lastAsked({ upstream }: Lab): ReceivedRequest {
  const last = upstream.requests.at(-1)
  if (!last) throw new Error('the upstream was asked nothing')
  return last
}

/** How many requests the upstream was sent while something was done. */
export async function askedDuring(
  { upstream }: Lab,
  work: () => Promise<unknown>,
): Promise<ReceivedRequest[]> {
  const before = upstream.requests.length
  await work()
  return upstream.requests.slice(before)
}

/** What a client that leaves must lead to: the upstream's connection is closed, soon. */
export async function expectClosedSoon(lab: Lab, leftAt: number): Promise<void> {
  const { closedByPeerAt } = await lastAsked(lab).done
  expect(closedByPeerAt).not.toBeNull()
  expect((closedByPeerAt ?? 0) - leftAt).toBeLessThanOrEqual(250)
}

/** What a promise was rejected with. */
export async function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it was not rejected')
}

/** Arguments may be written with other spaces where a format carries them as an object. */
export function argumentsOf(name: ScenarioName): unknown[] {
  return scenarios[name].toolCalls.map((call) => JSON.parse(call.arguments))
}

export const incoming = 'What is the weather in Oslo and in Kyoto?'

export const weatherParameters = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
    days: { type: 'array', items: { type: 'integer' } },
    note: { type: 'string' },
  },
  required: ['city'],
} as const

/** What a tool says about a city. */
export const weatherIn = (city: string) => `It is snowing in ${city}.`
