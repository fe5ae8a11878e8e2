import { beforeEach, describe, expect, test } from 'bun:test'
import { requestHolds } from '../support/holds.ts'
import { vendorReply } from '../support/replies.ts'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreams,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

const price = (prompt: string) => `pricing: { prompt: "${prompt}", completion: "0.000004" }`

/** `quick` is hedged by declaration. The first provider is cheaper; `stubborn` bills replies that nobody reads. */
function buildSettings(first: string, second: string): string {
  const provider = (slug: string, url: string, more = '') =>
    `  - { slug: ${slug}, name: ${slug}, base_url: "${url}", dialects: [chat], api_key: secret${more} }`
  const model = (id: string, slug: string, more = '') => `  - id: test/${id}
    name: ${id}
${more}    endpoints:
      - { provider: ${slug}, upstream_model: vendor-model, ${price('0.000001')} }
      - { provider: two, upstream_model: vendor-model, ${price('0.000002')} }`
  return `limits: { heartbeat: 300, first_byte: 200, whole_reply: 200 }
providers:
${provider('one', first)}
${provider('two', second)}
${provider('stubborn', first, ', bills_abandoned: true')}
models:
${model('both', 'one')}
${model('quick', 'one', '    hedge: { after: 5 }\n')}
${model('stubborn', 'stubborn')}`
}

const { frames, body: wholeReply } = vendorReply('chat', 'text')
const hedge = { after: 5 }

async function limitedKey({ server }: Bench, limit: number): Promise<string> {
  const made = await server.call('POST', '/keys', { body: { name: 'limited', limit } })
  return made.body.key
}

/** Lets the time pass after which a request is hedged, once the first endpoint has it. */
async function hedgeAfter({ server, first, second }: Bench): Promise<void> {
  await first.waitForRequests(1)
  const waiting = second.waitForRequests(1)
  await server.timer.passUntil(waiting)
}

async function metricOf({ server }: Bench, outcome: string): Promise<number> {
  const { body } = await server.gateway.metrics.render()
  return Number(new RegExp(`headgate_hedges_total{outcome="${outcome}"} (\\d+)`).exec(body)?.[1] ?? 0)
}

describeWithUpstreams(
  'a hedge',
  (bench) => {
    beforeEach(() => clearGenerations(bench()))
    const send = (body: object, init = {}) =>
      sendRequest(bench(), 'chat', { model: 'test/both', stream: true, provider: { hedge }, ...body }, init)
    const detailsOf = async (id: string) =>
      (await bench().server.call('GET', `/generation?id=${id}`)).body.data
    const expectNoHolds = async () =>
      expect(await requestHolds(bench().server.gateway.db).selectAll().execute()).toEqual([])

    test('that wins is the reply, and the bill has the estimated cost of the first attempt', async () => {
      const before = await metricOf(bench(), 'won')
      bench().first.enqueue({ hang: true })
      const sending = send({}, { headers: { 'x-service-metadata': 'enabled' } })
      await hedgeAfter(bench())
      const text = await (await sending).text()
      expect(text).toContain('[DONE]')
      expect(text).toContain('"type":"hedge"')
      const rows = await waitForGenerations(bench(), 2)
      const winner = rows.find(({ status }) => status === 'completed')
      const loser = rows.find(({ status }) => status === 'cancelled')
      expect(winner).toMatchObject({ provider: 'two', usage_source: 'reported' })
      expect(loser).toMatchObject({ provider: 'one', usage_source: 'estimated', tokens_output: 0 })
      expect(loser?.cost_nanos).toBe(1000n * BigInt(loser?.tokens_input ?? 0))
      expect(loser?.tokens_input).toBeGreaterThan(0)
      const { total_cost, headgate } = await detailsOf(winner?.id ?? '')
      expect(total_cost).toBe(Number((winner?.cost_nanos ?? 0n) + (loser?.cost_nanos ?? 0n)) / 1e9)
      expect(text).toContain(`"cost":${total_cost}`)
      expect(headgate.lines).toMatchObject([
        { kind: 'request', name: 'hedge', provider: 'one', generation_id: loser?.id },
        { kind: 'turn', provider: 'two' },
      ])
      const [received] = bench().first.requests
      expect((await received?.done)?.closedByPeerAt).not.toBeNull()
      expect(await metricOf(bench(), 'won')).toBe(before + 1)
      await expectNoHolds()
    })

    test('that loses is canceled', async () => {
      const go = Promise.withResolvers<void>()
      bench().first.enqueue({ waitFor: go.promise, sse: frames })
      bench().second.enqueue({ hang: true })
      const sending = send({ model: 'test/quick', provider: {} })
      await hedgeAfter(bench())
      go.resolve()
      expect(await (await sending).text()).toContain('[DONE]')
      const [received] = bench().second.requests
      expect((await received?.done)?.closedByPeerAt).not.toBeNull()
      const rows = await waitForGenerations(bench(), 2)
      expect(rows.map(({ provider, status }) => `${provider} ${status}`).sort()).toEqual([
        'one completed',
        'two cancelled',
      ])
      await expectNoHolds()
    })

    test('works for whole replies', async () => {
      bench().first.enqueue({ hang: true })
      const sending = send({ stream: false })
      await hedgeAfter(bench())
      const reply = await readJson(sending)
      const rows = await waitForGenerations(bench(), 2)
      expect(reply.usage.cost).toBe(Number(rows.reduce((sum, row) => sum + row.cost_nanos, 0n)) / 1e9)
      await expectNoHolds()
    })

    test('whose loser is billed anyway is read to its end for the exact cost', async () => {
      const go = Promise.withResolvers<void>()
      bench().first.enqueue({ waitFor: go.promise, json: wholeReply })
      const sending = send({ model: 'test/stubborn', stream: false })
      await hedgeAfter(bench())
      expect((await sending).status).toBe(200)
      const [winner] = await waitForGenerations(bench(), 1)
      go.resolve()
      const rows = await waitForGenerations(bench(), 2)
      const loser = rows.find(({ id }) => id !== winner?.id)
      expect(loser).toMatchObject({ provider: 'stubborn', usage_source: 'reported', status: 'cancelled' })
      expect(loser?.tokens_output).toBeGreaterThan(0)
      await expectNoHolds()
      for (;;) {
        const { headgate } = await detailsOf(winner?.id ?? '')
        if (headgate.lines.length > 0) break
        await Bun.sleep(5)
      }
    })

    test('ends with its client, at no cost', async () => {
      bench().first.enqueue({ hang: true })
      bench().second.enqueue({ hang: true })
      const client = new AbortController()
      const sending = send({}, { signal: client.signal })
      await hedgeAfter(bench())
      client.abort()
      await expect(sending).rejects.toThrow()
      const [row, ...more] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'cancelled', cost_nanos: 0n })
      for (const { requests } of [bench().first, bench().second])
        expect((await requests[0]?.done)?.closedByPeerAt).not.toBeNull()
      expect(more.every(({ cost_nanos }) => cost_nanos === 0n)).toBe(true)
      await expectNoHolds()
    })

    test('of which both attempts fail is an error, at no cost', async () => {
      const go = Promise.withResolvers<void>()
      const failure = { waitFor: go.promise, status: 500, json: { error: { message: 'broken' } } }
      bench().first.enqueue(failure)
      bench().second.enqueue(failure)
      const sending = send({})
      await hedgeAfter(bench())
      go.resolve()
      expect((await sending).status).toBe(502)
      const [row, ...more] = await waitForGenerations(bench(), 1)
      expect(more).toEqual([])
      expect(row).toMatchObject({ status: 'failed', cost_nanos: 0n })
      expect(JSON.parse(row?.attempts ?? '')).toHaveLength(2)
      await expectNoHolds()
    })

    test('continues with one attempt when the other fails', async () => {
      const go = Promise.withResolvers<void>()
      bench().first.enqueue({ waitFor: go.promise, status: 500, json: { error: { message: 'broken' } } })
      bench().second.enqueue({ waitFor: go.promise.then(() => bench().first.requests[0]?.done), sse: frames })
      const sending = send({})
      await hedgeAfter(bench())
      go.resolve()
      expect(await (await sending).text()).toContain('[DONE]')
      const [row, ...more] = await waitForGenerations(bench(), 1)
      expect(more).toEqual([])
      expect(row).toMatchObject({ status: 'completed', provider: 'two' })
      await expectNoHolds()
    })

    describe('is not made', () => {
      const expectOne = async (sending: Promise<Response>, go: () => void) => {
        await bench().first.waitForRequests(1)
        for (let step = 0; step < 100; step++) {
          bench().server.timer.advance(100)
          await Bun.sleep(0)
        }
        go()
        expect(await (await sending).text()).toContain('[DONE]')
        expect(bench().second.requests).toHaveLength(0)
        await expectNoHolds()
      }
      const wait = () => {
        const go = Promise.withResolvers<void>()
        bench().first.enqueue({ waitFor: go.promise, sse: frames })
        return go.resolve
      }

      test('beyond its share of the traffic', async () => {
        const { limits } = bench().server.gateway.settings
        limits.hedged_share = 0
        const before = await metricOf(bench(), 'capped')
        const go = wait()
        await expectOne(send({}), go)
        limits.hedged_share = 0.1
        expect(await metricOf(bench(), 'capped')).toBe(before + 1)
      })

      test('if a limit does not allow what both may cost', async () => {
        const key = await limitedKey(bench(), 0.006)
        const go = wait()
        await expectOne(send({ max_tokens: 1000 }, { key }), go)
        expect(await metricOf(bench(), 'refused')).toBeGreaterThan(0)
      })

      test('if the request switches it off', async () => {
        const go = wait()
        await expectOne(send({ model: 'test/quick', provider: { hedge: false } }), go)
      })

      test('for a percentile of an endpoint without measurements', async () => {
        const go = wait()
        await expectOne(send({ provider: { hedge: { percentile: 'p90' } } }), go)
      })
    })

    test('after a percentile of what was measured', async () => {
      const { health } = bench().server.gateway.routing
      const { clock } = bench().server
      health
        .getOrCreate('test/both one')
        .recordSuccess(clock.now(), { firstTokenMs: 2000, tokensPerSecond: null })
      bench().first.enqueue({ hang: true })
      const sending = send({ provider: { hedge: { percentile: 'p90' } } })
      await hedgeAfter(bench())
      expect(await (await sending).text()).toContain('[DONE]')
    })
  },
  buildSettings,
)
