import { afterAll, beforeAll, beforeEach, expect } from 'bun:test'
import { z } from 'zod'
import './loopback-only.ts'
import { resetRouting, startTestServer, type TestServer } from '../support/harness.ts'
import {
  longScenario,
  type Scenario,
  type ScenarioName,
  scenarios,
  type TextWireFormat,
  textWireFormats,
  vendorReplies,
} from '../support/replies.ts'
import {
  type ReceivedRequest,
  type ResponseSource,
  startUpstream,
  type Upstream,
} from '../support/upstream.ts'

export type { TextWireFormat }
export { scenarios, textWireFormats }

/** A gateway with one provider per format, all of them the same scripted upstream. */
export class Lab {
  readonly url: string
  readonly key: string
  readonly managementKey: string
  /** Key of an account without credits. */
  readonly poorKey: string

  constructor(
    readonly server: TestServer,
    readonly upstream: Upstream,
    /** The upstream's next responses; without any it replies with a short text. */
    readonly next: ResponseSource[],
  ) {
    this.url = server.url
    this.key = server.own.inferenceKey
    this.managementKey = server.own.managementKey
    this.poorKey = server.foreign.inferenceKey
  }

  /** Scripts the next replies of the upstream: streamed where the request asks for a stream. */
  reply(wireFormat: TextWireFormat, ...names: (ScenarioName | Scenario)[]): void {
    const sources = names.map((name) =>
      replyOf(wireFormat, typeof name === 'string' ? scenarios[name] : name),
    )
    this.next.push(...sources)
  }

  /** The upstream rejects the next request with 429. */
  rateLimit(wireFormat: TextWireFormat, retryAfter = '1'): void {
    this.next.push({ status: 429, headers: { 'retry-after': retryAfter }, json: rateErrors[wireFormat] })
  }

  /** The upstream pauses before and within the next stream, for longer than the heartbeat interval. */
  replySlowly(wireFormat: TextWireFormat): void {
    const { frames } = vendorReplies[wireFormat](scenarios.text)
    const bytes = frames.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0)
    this.next.push({ sse: frames, waitMs: 700, splitBytes: Math.ceil(bytes / 2), delayMs: 700 })
  }

  /** The upstream begins the next stream and then sends nothing more. */
  stall(wireFormat: TextWireFormat): void {
    const { frames } = vendorReplies[wireFormat](longScenario(200))
    this.next.push({ sse: frames.slice(0, 20), hang: true })
  }

  /** The last request the upstream received. */
  lastRequest(): ReceivedRequest {
    const last = this.upstream.requests.at(-1)
    if (!last) throw new Error('the upstream received no request')
    return last
  }

  /** The requests the upstream received during `work`. */
  async requestsDuring(work: () => Promise<unknown>): Promise<ReceivedRequest[]> {
    const before = this.upstream.requests.length
    await work()
    return this.upstream.requests.slice(before)
  }

  /** Charges of the key so far, in USD. */
  async spent(): Promise<number> {
    const response = await fetch(`${this.url}/api/v1/key`, {
      headers: { authorization: `Bearer ${this.key}` },
    })
    return ((await response.json()) as { data: { usage: number } }).data.usage
  }

  /** Expects that the connection to the upstream is closed soon after a client disconnects. */
  async expectClosedSoon(leftAt: number): Promise<void> {
    const { closedByPeerAt } = await this.lastRequest().done
    expect(closedByPeerAt).not.toBeNull()
    expect((closedByPeerAt ?? 0) - leftAt).toBeLessThanOrEqual(250)
  }

  async stop(): Promise<void> {
    await this.server.stop()
    await this.upstream.stop()
  }
}

/** Starts a lab for the tests of one file, and resets it before each of them. `settings`: more of headgate.yaml. */
export function useLab(settings: object = {}): () => Lab {
  let lab: Lab
  beforeAll(async () => {
    lab = await openLab(settings)
  })
  beforeEach(() => {
    lab.next.length = 0
    resetRouting(lab.server)
  })
  afterAll(() => lab.stop())
  return () => lab
}

export async function openLab(settings: object = {}): Promise<Lab> {
  const upstream = await startUpstream()
  const next: ResponseSource[] = []
  upstream.setDefault((request) => {
    const source = next.shift() ?? replyOf(wireFormatOf(request), scenarios.text)
    return typeof source === 'function' ? source(request) : source
  })
  // JSON is YAML.
  const text = JSON.stringify({ ...settingsFor(upstream.url), ...settings })
  return new Lab(await startTestServer('sqlite', { settings: text }), upstream, next)
}

export function modelOf(wireFormat: TextWireFormat): string {
  return `lab/${wireFormat}`
}

/** The upstream's models are named after the format they are reached by. */
function wireFormatOf({ path, json }: ReceivedRequest): TextWireFormat {
  const named = `${path} ${json?.model}`
  return textWireFormats.find((wireFormat) => named.includes(`vendor-${wireFormat}`)) ?? 'chat'
}

/** Signed reasoning goes back only to the vendor that signed it, so these have the vendors' slugs. */
const slugs: Record<TextWireFormat, string> = {
  chat: 'chat-lab',
  messages: 'anthropic',
  responses: 'openai',
  gemini: 'google',
}

function settingsFor(upstreamUrl: string): object {
  const providers = textWireFormats.map((wireFormat) => ({
    slug: slugs[wireFormat],
    name: `The ${wireFormat} lab`,
    base_url: `${upstreamUrl}/v1`,
    api_key: 'sk-upstream',
    dialects: [wireFormat] as string[],
  }))
  const models = textWireFormats.map((wireFormat) => ({
    id: modelOf(wireFormat),
    aliases: [`${wireFormat}-deployment`],
    name: `Lab ${wireFormat}`,
    description: 'A model for tests',
    context_length: 200_000,
    input_modalities: ['text', 'image'],
    supported_parameters: ['max_tokens', 'tools', 'tool_choice', 'reasoning', 'structured_outputs'],
    endpoints: [
      {
        provider: slugs[wireFormat],
        upstream_model: `vendor-${wireFormat}`,
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
  return { providers, models, limits: { heartbeat: 0.3 } }
}

export function replyOf(wireFormat: TextWireFormat, scenario: Scenario): ResponseSource {
  const { frames, body } = vendorReplies[wireFormat](scenario)
  return ({ path, json }) => {
    const streams = json?.stream === true || path.endsWith(':streamGenerateContent')
    return streams ? { sse: frames } : { json: body }
  }
}

const slowDown = 'Slow down, please.'
const rateErrors: Record<TextWireFormat, object> = {
  chat: { error: { message: slowDown, type: 'requests', param: null, code: 'rate_limit_exceeded' } },
  responses: { error: { message: slowDown, type: 'requests', param: null, code: 'rate_limit_exceeded' } },
  messages: { type: 'error', error: { type: 'rate_limit_error', message: slowDown } },
  gemini: { error: { code: 429, message: slowDown, status: 'RESOURCE_EXHAUSTED' } },
}

/** The error a promise rejects with. */
export async function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('the promise was not rejected')
}

/** Parsed: formats that carry arguments as an object do not preserve white space. */
export function argumentsOf(name: ScenarioName): unknown[] {
  return scenarios[name].toolCalls.map((call) => JSON.parse(call.arguments))
}

export const prompt = 'What is the weather in Oslo and in Kyoto?'

export const messages = [{ role: 'user' as const, content: prompt }]

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

/** The tool in the format of chat completions. */
export const weatherTool = {
  type: 'function' as const,
  function: { name: 'get_weather', description: 'Weather of a city', parameters: weatherParameters },
}

/** The result of the tool. */
export const weatherIn = (city: string) => `It is snowing in ${city}.`

/** Schema of the scenario `structured`. */
export const reportSchema = z.object({
  city: z.string(),
  degrees: z.number(),
  warnings: z.array(z.string()),
  sky: z.object({ cover: z.number(), snow: z.boolean() }),
})
