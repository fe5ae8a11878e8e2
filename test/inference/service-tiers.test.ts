import { beforeEach, expect, test } from 'bun:test'
import { vendorReply } from '../support/replies.ts'
import type { UpstreamResponse } from '../support/upstream.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  type FormatName,
  formatNames,
  lastRequest,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

/** A tier costs twice the default price, or half of it. */
const settings = (first: string) => `
providers:
  - { slug: one, name: One, base_url: "${first}", dialects: [chat], api_key: vendor-secret }
models:
  - id: test/tiers
    name: Lanes
    endpoints:
      - { provider: one, upstream_model: vendor-model, pricing: { prompt: "0.000002", completion: "0.000004" } }
      - { provider: one, upstream_model: vendor-model, service_tier: priority, pricing: { prompt: "0.000004", completion: "0.000008" } }
      - { provider: one, upstream_model: vendor-model, service_tier: flex, pricing: { prompt: "0.000001", completion: "0.000002" } }
  - id: test/plain
    name: Plain
    endpoints:
      - { provider: one, upstream_model: vendor-model, pricing: { prompt: "0.000002", completion: "0.000004" } }
`

/** The default reply, with the tier the upstream reports. */
function served(tier: string | undefined, stream: boolean): UpstreamResponse {
  const { body, frames } = vendorReply('chat', 'text')
  const field = tier === undefined ? '' : `"service_tier":"${tier}",`
  if (stream) return { sse: frames.map((frame) => frame.replace('"service_tier":"default",', field)) }
  const { service_tier: _told, ...rest } = body
  return { json: { ...rest, ...(tier !== undefined && { service_tier: tier }) } }
}

const { usage } = vendorReply('chat', 'text')
const costAt = (factor: number) =>
  (usage.input + usage.cacheRead) * 2e-6 * factor + (usage.output + usage.reasoning) * 4e-6 * factor

/** Reads the tier from the place where each format reports it. */
// biome-ignore lint/suspicious/noExplicitAny: replies of every format
const tierOf: Record<FormatName, (reply: any) => unknown> = {
  chat: (reply) => reply.service_tier,
  responses: (reply) => reply.service_tier,
  messages: (reply) => reply.usage.service_tier,
}

describeWithUpstreams(
  'service tiers',
  (bench) => {
    beforeEach(() => clearGenerations(bench()))

    const request = async (format: FormatName, scripted: UpstreamResponse, body: Record<string, unknown>) => {
      bench().first.enqueue(scripted)
      const response = await sendRequest(bench(), format, { model: 'test/tiers', ...body })
      const reply = await readJson(response)
      const [row] = await waitForGenerations(bench(), 1)
      return { response, reply, row, sent: lastRequest(bench().first.requests).json }
    }

    test.each(formatNames)('R15 a request for a tier is served by it, at its price: %s', async (format) => {
      const fields = format === 'messages' ? { speed: 'fast' } : { service_tier: 'priority' }
      const { reply, row, sent, response } = await request(format, served('priority', false), fields)
      expect(sent.service_tier).toBe('priority')
      expect(sent.speed).toBeUndefined()
      expect(response.headers.get('x-headgate-dropped')).toBeNull()
      expect(tierOf[format](reply)).toBe('priority')
      expect(reply.usage.cost).toBeCloseTo(costAt(2), 9)
      expect(row).toMatchObject({ endpoint: 'one/priority', service_tier: 'priority' })
    })

    test('R15 flex is half the price, also when the upstream does not report the tier', async () => {
      const { reply, row, sent } = await request('chat', served(undefined, false), { service_tier: 'flex' })
      expect(sent.service_tier).toBe('flex')
      expect(reply.service_tier).toBe('flex')
      expect(reply.usage.cost).toBeCloseTo(costAt(0.5), 9)
      expect(row).toMatchObject({ endpoint: 'one/flex', service_tier: 'flex' })
    })

    test.each(formatNames)(
      'R15 the tier that served is reported and charged, not the requested one: %s',
      async (format) => {
        const fields = format === 'messages' ? { speed: 'fast' } : { service_tier: 'priority' }
        const { reply, row } = await request(format, served('default', false), fields)
        expect(tierOf[format](reply)).toBe(format === 'messages' ? 'standard' : 'default')
        expect(reply.usage.cost).toBeCloseTo(costAt(1), 9)
        expect(row).toMatchObject({ endpoint: 'one/priority', service_tier: 'default' })
      },
    )

    test('R3 the hold covers the default tier, which may serve when a cheaper one has no capacity', async () => {
      const usage = { prompt_tokens: 10, completion_tokens: 1000 }
      const { json } = served('default', false)
      const scripted = { json: { ...(json as object), usage } }
      const { reply, row } = await request('chat', scripted, { service_tier: 'flex', max_tokens: 1000 })
      expect(reply.usage.cost).toBeCloseTo(10 * 2e-6 + 1000 * 4e-6, 9)
      expect(row).toMatchObject({ endpoint: 'one/flex', service_tier: 'default', flag: null })
    })

    test('in a stream too', async () => {
      bench().first.enqueue(served('default', true))
      const response = await sendRequest(bench(), 'chat', {
        model: 'test/tiers',
        service_tier: 'priority',
        stream: true,
      })
      const chunks = (await response.text())
        .split('\n\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice('data: '.length)))
      expect(new Set(chunks.map((chunk) => chunk.service_tier))).toEqual(new Set(['default']))
      expect(chunks.at(-1).usage.cost).toBeCloseTo(costAt(1), 9)
      const [row] = await waitForGenerations(bench(), 1)
      expect(row?.service_tier).toBe('default')
    })

    test('without the field no tier is requested', async () => {
      const { reply, row, sent, response } = await request('chat', served('default', false), {})
      expect(sent).not.toHaveProperty('service_tier')
      expect(response.headers.get('x-headgate-dropped')).toBeNull()
      expect(reply.service_tier).toBe('default')
      expect(row).toMatchObject({ endpoint: 'one', service_tier: 'default' })
    })

    test('a tier named in `provider.only` is requested by its upstream name', async () => {
      const { sent } = await request('chat', served('priority', false), {
        provider: { only: ['one/priority'] },
      })
      expect(sent.service_tier).toBe('priority')
    })

    test.each(['priority', 'fast', 'flex'])(
      'R31 where there is no such tier, %s is dropped and reported',
      async (tier) => {
        const { reply, row, sent, response } = await request('chat', served('default', false), {
          model: 'test/plain',
          service_tier: tier,
        })
        expect(sent).not.toHaveProperty('service_tier')
        expect(response.headers.get('x-headgate-dropped')).toBe('service_tier')
        expect(reply.service_tier).toBe('default')
        expect(row).toMatchObject({ endpoint: 'one', service_tier: 'default', dropped: '["service_tier"]' })
      },
    )

    test('values that name no tier are passed through', async () => {
      for (const service_tier of ['auto', 'default']) {
        const { sent } = await request('chat', served('default', false), { service_tier })
        expect(sent.service_tier).toBe(service_tier)
      }
    })

    test('the record has the tier that served', async () => {
      const { response } = await request('chat', served('priority', false), { service_tier: 'priority' })
      const id = response.headers.get('x-generation-id')
      const { body } = await bench().server.call('GET', `/generation?id=${id}`)
      expect(body.data.service_tier).toBe('priority')
      expect(body.data.provider_responses.at(-1).routed_service_tier).toBe('priority')
    })
  },
  settings,
)
