import { describe, expect, test } from 'bun:test'
import {
  type Bench,
  describeWithUpstreams,
  lastRequest,
  readJson,
  sendRequest,
} from '../inference/two-upstreams.ts'
import { seededRandom } from '../support/random.ts'
import { vendorReply } from '../support/replies.ts'
import type { ReceivedRequest, ResponseSource, Upstream, UpstreamResponse } from '../support/upstream.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'

const perPhase = isLong ? 5000 : 400
const clients = 16
/** Pause between two requests on the gateway's clock: its health windows pass several times within a phase. */
const pauseMs = 250
const storms = isLong ? 20 : 3

/** Each wire format's default response, which `setDefault` replaces. */
function goodAnswer({ json }: ReceivedRequest): UpstreamResponse {
  const { frames, body } = vendorReply('chat', 'text')
  return json.stream ? { sse: frames } : { json: body }
}

const broken: UpstreamResponse = { status: 500, json: { error: { message: 'out of order' } } }

function failing(share: number, random: () => number): ResponseSource {
  return (received) => (random() < share ? broken : goodAnswer(received))
}

/** Requests of several clients, streamed and whole in turn; returns how many completed. */
async function load(bench: Bench, count: number): Promise<number> {
  let next = 0
  let succeeded = 0
  const client = async () => {
    while (next < count) {
      const stream = next++ % 2 === 0
      bench.server.clock.advance(pauseMs)
      const response = await sendRequest(bench, 'chat', { model: 'test/both-chat', stream })
      const text = await response.text()
      if (response.status === 200 && (!stream || text.includes('[DONE]'))) succeeded++
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return succeeded
}

describeWithUpstreams('one of two providers', (bench) => {
  test(
    'R15 I11 I12 fails at 30 %, then always, then not at all: 99.5 % of the requests succeed, and it gets traffic again',
    async () => {
      const { first, second, server } = bench()
      const random = seededRandom(30)
      Object.assign(server.gateway.routing, { random: seededRandom(31) })
      let succeeded = 0
      const askedBy = (upstream: Upstream) => upstream.requests.length
      const phases: [name: string, share: number][] = [
        ['at 30 %', 0.3],
        ['always', 1],
        ['healthy', 0],
      ]
      const request: Record<string, number> = {}
      for (const [name, share] of phases) {
        const before = askedBy(first)
        first.setDefault(failing(share, random))
        succeeded += await load(bench(), perPhase)
        request[name] = askedBy(first) - before
        // Health windows and ejections end between the phases.
        server.clock.advance(6 * 60_000)
      }
      const back = askedBy(first)
      succeeded += await load(bench(), perPhase)
      first.setDefault(null)
      const requests = 4 * perPhase
      const attempts = askedBy(first) + askedBy(second)
      printTotals('a provider that fails and returns', { requests, succeeded, attempts })
      expect(succeeded / requests).toBeGreaterThanOrEqual(0.995)
      expect(attempts / requests).toBeLessThanOrEqual(1.2)
      // A few requests detect the outage; it has the larger share again after recovery.
      expect(request.always).toBeLessThan(perPhase / 4)
      expect(askedBy(first) - back).toBeGreaterThan(perPhase / 2)
    },
    testTimeoutMs,
  )

  test(
    'I11 during a storm of 429 no provider is called within its known Retry-After',
    async () => {
      const { first, second, server } = bench()
      for (const { requests: journal } of [first, second]) journal.length = 0
      server.clock.freeze(new Date(server.clock.now()).toISOString())
      const watch = new Watch(() => server.clock.now())
      const random = seededRandom(32)
      for (const [name, upstream] of Object.entries({ first, second })) {
        upstream.setDefault((received) =>
          random() < 0.8 ? watch.refuse(name, received) : watch.take(name, received),
        )
      }
      let requests = 0
      const statuses = new Map<number, number>()
      for (let storm = 0; storm < storms; storm++) {
        const burst = Array.from({ length: 60 }, async () => {
          const user = `r${requests++}`
          watch.begins(user)
          const response = await sendRequest(bench(), 'chat', { model: 'test/both-chat', user })
          await response.text()
          watch.ends(user)
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
          if (response.status === 429) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
          watch.begins(`${user}b`)
          const again = await sendRequest(bench(), 'chat', { model: 'test/both-chat', user: `${user}b` })
          await again.text()
          watch.ends(`${user}b`)
        })
        await Promise.all(burst)
        server.clock.advance(1100)
      }
      server.clock.release()
      for (const upstream of [first, second]) upstream.setDefault(null)
      const attempts = first.requests.length + second.requests.length
      printTotals('a storm of 429', { requests: 2 * requests, attempts, refused: watch.refused })
      expect(watch.early).toEqual([])
      expect(watch.refused).toBeGreaterThan(0)
      expect(attempts / (2 * requests)).toBeLessThanOrEqual(1.2 + 1)
      expect([...statuses.keys()].filter((status) => status !== 200 && status !== 429)).toEqual([])
    },
    testTimeoutMs,
  )
})

/** Each Retry-After that was sent, and the requests that could have known it. */
class Watch {
  readonly early: unknown[] = []
  refused = 0
  readonly #begun = new Map<string, number>()
  readonly #waits = new Map<string, { provider: string; until: number }[]>()
  /** Known for certain: the request that received it has ended. */
  readonly #known = new Map<string, { since: number; until: number }[]>()
  readonly #now: () => number
  #count = 0

  constructor(now: () => number) {
    this.#now = now
  }

  begins(user: string): void {
    this.#begun.set(user, this.#count++)
  }

  ends(user: string): void {
    for (const { provider, until } of this.#waits.get(user) ?? []) {
      this.#known.set(provider, [...(this.#known.get(provider) ?? []), { since: this.#count++, until }])
    }
  }

  refuse(provider: string, received: ReceivedRequest): UpstreamResponse {
    this.#check(provider, received)
    this.refused += 1
    const user: string = received.json.user
    const waits = [...(this.#waits.get(user) ?? []), { provider, until: this.#now() + 1000 }]
    this.#waits.set(user, waits)
    return { status: 429, headers: { 'retry-after': '1' }, json: { error: { message: 'slow down' } } }
  }

  take(provider: string, received: ReceivedRequest): UpstreamResponse {
    this.#check(provider, received)
    return goodAnswer(received)
  }

  #check(provider: string, { json }: ReceivedRequest): void {
    const at = this.#now()
    const begun = this.#begun.get(json.user) ?? -1
    const isKnown = this.#known.get(provider)?.some(({ since, until }) => since < begun && at < until)
    if (isKnown) this.early.push({ provider, user: json.user })
  }
}

/** Step of the gateway's timer: a limit of ten seconds passes in fifty turns of the event loop. */
const stepMs = 200

type Fault = [name: string, stream: boolean, scripted: UpstreamResponse]

const { frames, body: whole } = vendorReply('chat', 'text')
const halfWhole = Math.floor(JSON.stringify(whole).length / 2)
const [opening = ''] = frames

/** No content, and an end. */
function saying(finish_reason: string) {
  return { ...whole, choices: [{ index: 0, message: { role: 'assistant', content: null }, finish_reason }] }
}

function endingWith(finish_reason: string): string {
  return `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: {}, finish_reason }] })}\n\ndata: [DONE]\n\n`
}

describeWithUpstreams(
  'a provider that',
  (bench) => {
    const faults: Fault[] = [
      ['hangs before the head of a whole reply', false, { hang: true }],
      ['hangs before the head of a stream', true, { hang: true }],
      ['hangs after the head of a stream', true, { hang: true, sse: [] }],
      ['hangs before the first content', true, { hang: true, sse: [opening] }],
      ['resets before the head of a whole reply', false, { breakBeforeHead: true }],
      ['resets before the head of a stream', true, { breakBeforeHead: true }],
      ['closes before the head', true, { breakBeforeHead: true, breakWith: 'close' }],
      ['resets in the middle of a whole reply', false, { json: whole, breakAfterBytes: halfWhole }],
      [
        'closes in the middle of a whole reply',
        false,
        { json: whole, breakAfterBytes: halfWhole, breakWith: 'close' },
      ],
      ['resets before the first content', true, { sse: [opening], breakAfterBytes: opening.length }],
      ['ends a stream before the first content', true, { sse: [opening] }],
      ['gives half of a JSON text', false, { text: JSON.stringify(whole).slice(0, halfWhole) }],
      ['gives nothing', false, { text: '' }],
      ['gives an empty stream', true, { sse: [] }],
      ['gives a web page', false, { text: '<!doctype html><p>Sorry' }],
      ['ends a stream without a word', true, { sse: [opening, 'data: [DONE]\n\n'] }],
      ['ends a stream with an error before the first content', true, { sse: [opening, endingWith('error')] }],
      ['says nothing but that it failed', false, { json: saying('error') }],
      ['is overloaded', true, { status: 529, json: {} }],
      ...[405, 410, 421, 423, 426, 451, 498].map(
        (status): Fault => [`returns ${status}`, false, { status, json: {} }],
      ),
    ]
    describe('R30 I7 the next one serves the request when it', () => {
      test.each(faults)('%s', async (_, stream, scripted) => {
        const { first, second, server } = bench()
        for (const { requests } of [first, second]) requests.length = 0
        first.enqueue(scripted)
        const sent = sendRequest(bench(), 'chat', { model: 'test/both-chat', stream })
        const replying = sent.then(async (response) => ({
          status: response.status,
          text: await response.text(),
        }))
        const { status, text } = await (scripted.hang ? server.timer.passUntil(replying, stepMs) : replying)
        expect(status).toBe(200)
        expect(text).toContain(stream ? '[DONE]' : '"two-chat"')
        expect([first.requests.length, second.requests.length]).toEqual([1, 1])
        const { closedByPeerAt, complete } = await lastRequest(first.requests).done
        if (scripted.hang) expect([closedByPeerAt === null, complete]).toEqual([false, false])
      })
    })

    test('R30 breaks off after the first content: no failover, and the client gets an error', async () => {
      const { first, second } = bench()
      for (const { requests } of [first, second]) requests.length = 0
      const bytes = Math.floor(frames.join('').length * 0.7)
      const replied = Promise.withResolvers<void>()
      first.enqueue({ sse: frames, breakAfterBytes: bytes, breakWhen: replied.promise })
      const response = await sendRequest(bench(), 'chat', { model: 'test/both-chat', stream: true })
      replied.resolve()
      const text = await response.text()
      expect(text).not.toContain('[DONE]')
      expect(text).toContain('"finish_reason":"error"')
      expect([first.requests.length, second.requests.length]).toEqual([1, 0])
    })

    test('is cooling down is used at once when the operator replaces its credential', async () => {
      const { first, server } = bench()
      const only = { model: 'test/chat' }
      first.enqueue({ status: 429, headers: { 'retry-after': '3600' }, json: {} })
      expect((await sendRequest(bench(), 'chat', only)).status).toBe(429)
      expect((await sendRequest(bench(), 'chat', only)).status).toBe(429)
      await server.call('PUT', '/catalogue/providers/two-chat', { body: { api_key: 'of-another-provider' } })
      expect((await sendRequest(bench(), 'chat', only)).status).toBe(429)
      await server.call('PUT', '/catalogue/providers/one-chat', { body: { api_key: 'with-more-quota' } })
      expect((await sendRequest(bench(), 'chat', only)).status).toBe(200)
      for (const slug of ['one-chat', 'two-chat']) await server.call('DELETE', `/catalogue/providers/${slug}`)
    })

    test.each([
      ['86400', '300'],
      ['0', '1'],
    ])(
      'sends Retry-After %s: it is honored within bounds, and clients receive %s',
      async (sent, expected) => {
        const { first } = bench()
        first.enqueue({ status: 429, headers: { 'retry-after': sent }, json: {} })
        const response = await sendRequest(bench(), 'chat', { model: 'test/chat' })
        expect([response.status, response.headers.get('retry-after')]).toEqual([429, expected])
      },
    )

    test('hangs repeatedly is ejected: five requests wait for it, the sixth does not', async () => {
      const { first, second, server } = bench()
      for (const { requests } of [first, second]) requests.length = 0
      first.setDefault({ hang: true })
      const order = { provider: { order: ['one-chat'] } }
      for (let count = 0; count < 8; count++) {
        const sent = readJson(sendRequest(bench(), 'chat', { model: 'test/both-chat', ...order }))
        const { provider } = await server.timer.passUntil(sent, stepMs)
        expect(provider).toBe('two-chat')
      }
      first.setDefault(null)
      expect([first.requests.length, second.requests.length]).toEqual([5, 8])
    })
  },
  'limits: { first_byte: 10, whole_reply: 10, idle: 10, heartbeat: 60 }',
)
