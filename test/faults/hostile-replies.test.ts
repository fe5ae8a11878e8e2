import { afterAll, beforeAll, expect, test } from 'bun:test'
import { hostileStreams } from '../support/hostile-streams.ts'
import { AttackHarness, wireFormats } from './hostile-clients.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'

const harness = new AttackHarness()

beforeAll(() => harness.open())
afterAll(() => harness.close())

/** Bounds that hold on a busy machine; the short form finds only gross violations. */
const maxAllowedWaitMs = 2000
/** Allowed for any request: buffers, compiled code, uncollected garbage. */
const workingBytes = 160 * 1024 * 1024
const maxMemoryFactor = 3

const prompt = [{ role: 'user', content: 'Hello' }]
const formats = {
  chat: { path: '/v1/chat/completions', body: { messages: prompt } },
  messages: { path: '/v1/messages', body: { max_tokens: 100, messages: prompt } },
  responses: { path: '/v1/responses', body: { input: 'Hello' } },
} as const
const formatNames = Object.keys(formats) as (keyof typeof formats)[]

async function endure(name: string, wireFormat: string, format: keyof typeof formats, stream: boolean) {
  const { path, body } = formats[format]
  const effect = await harness.measureAttack(path, { model: `attack/${wireFormat}`, stream, ...body })
  const { status, sent, received, maxWaitMs, peakBytes } = effect
  printTotals(`${name} from ${wireFormat} to ${format}`, {
    status,
    'bytes sent': sent,
    'bytes received': received,
    'ms the longest wait': Math.round(maxWaitMs),
    'bytes at the peak': peakBytes,
  })
  expect(maxWaitMs).toBeLessThan(maxAllowedWaitMs)
  expect(peakBytes).toBeLessThan(workingBytes + maxMemoryFactor * Math.max(sent, received))
  return effect
}

/** Batches of events, generated while they are sent. */
function* batches(frames: readonly string[], times: number): Generator<string> {
  const batch = frames.join('')
  for (let done = 0; done < times; done++) yield batch
}

const events = isLong ? 400_000 : 20_000

for (const { name, frames } of hostileStreams) {
  for (const wireFormat of wireFormats) {
    for (const format of isLong ? formatNames : formatNames.slice(0, 1)) {
      test(
        `S13 ${name} from ${wireFormat} to ${format} do not block other tenants`,
        async () => {
          const [first = '', ...rest] = frames[wireFormat](1000)
          const chunks = batches([first, ...rest], Math.ceil(events / 1000))
          harness.attacker.attack = { type: 'text/event-stream', chunks }
          await endure(name, wireFormat, format, true)
        },
        testTimeoutMs,
      )
    }
  }
}

/** Endless unless the reader stops. */
function* endless(frame: string): Generator<string> {
  const batch = frame.repeat(Math.ceil(65_536 / frame.length))
  for (;;) yield batch
}

const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
const empty = { ...chunk, choices: [{ index: 0, delta: { content: '' }, finish_reason: null }] }
const nothings = { comments: ': ping\n\n', 'empty deltas': `data: ${JSON.stringify(empty)}\n\n` }

for (const [name, frame] of Object.entries(nothings)) {
  test(
    `S13 endless ${name} are cut off, in bounded memory`,
    async () => {
      harness.attacker.attack = { type: 'text/event-stream', chunks: endless(frame) }
      const { status, end } = await endure(name, 'chat', 'chat', true)
      expect(status >= 400 || end.includes('"error"')).toBe(true)
    },
    testTimeoutMs,
  )
}

const megabytes = isLong ? 60 : 8

function* wholeReply(): Generator<string> {
  yield `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"`
  for (let sent = 0; sent < megabytes * 16; sent++) yield 'x'.repeat(65_536)
  yield '"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
}

for (const format of formatNames) {
  test(
    `S13 a whole reply of ${megabytes} MB to ${format} takes at most three times its length`,
    async () => {
      harness.attacker.attack = { type: 'application/json', chunks: wholeReply() }
      const { status } = await endure('a long whole reply', 'chat', format, false)
      expect(status).toBe(200)
    },
    testTimeoutMs,
  )
}

test(
  'S13 a whole reply of nothing but brackets is rejected',
  async () => {
    function* brackets(): Generator<string> {
      yield '{"choices":['
      for (let sent = 0; sent < megabytes * 16; sent++) yield '[],'.repeat(21_845)
      yield '[]]}'
    }
    harness.attacker.attack = { type: 'application/json', chunks: brackets() }
    const { status } = await endure('brackets', 'chat', 'chat', false)
    expect(status).toBe(502)
  },
  testTimeoutMs,
)

const options = [{ n: 128 }, { logprobs: true, top_logprobs: 20 }, {}]

for (const fields of options) {
  test(
    `S13 a few bytes do not make the sandbox reply without bounds: ${JSON.stringify(fields)}`,
    async () => {
      const messages = [{ role: 'user', content: 'sandbox:length=200000' }]
      const body = { model: 'sandbox/echo', messages, ...fields }
      const effect = await harness.measureAttack('/v1/chat/completions', body)
      expect(effect.maxWaitMs).toBeLessThan(maxAllowedWaitMs)
      expect(effect.peakBytes).toBeLessThan(workingBytes + maxMemoryFactor * effect.received)
    },
    testTimeoutMs,
  )
}
