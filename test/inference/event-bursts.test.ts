import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { selectCases } from '../support/harness.ts'
import { hostileStreams, joinFrames } from '../support/hostile-streams.ts'
import { LoopDelay } from '../support/loop-delay.ts'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreams,
  formatNames,
  openBench,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

const upstreams = ['chat', 'messages', 'responses', 'gemini'] as const
const events = 60_000

/** The longest turn of the event loop, as a share of the attack's CPU time or in milliseconds. */
const mostShare = 0.25
const mostMs = 150

/** The same format, and one other in turn: events are read and written independently of each other. */
function selectFormats(upstream: (typeof upstreams)[number], turn: number) {
  const others = formatNames.filter((format) => format !== upstream)
  const other = others[(turn + upstreams.indexOf(upstream)) % others.length]
  return formatNames.filter((format) => format === upstream || format === other)
}

describe('a burst of tiny events', () => {
  let bench: Bench
  beforeAll(async () => {
    bench = await openBench('sqlite')
  })
  afterAll(async () => {
    await bench.server.stop()
    await Promise.all([bench.first.stop(), bench.second.stop()])
  })

  for (const [turn, { name, frames }] of hostileStreams.entries()) {
    for (const upstream of upstreams) {
      const sse = joinFrames(frames[upstream](events))
      for (const format of selectFormats(upstream, turn)) {
        test(`S13 ${name} from ${upstream} to ${format} do not block the event loop`, async () => {
          const excess = async () => {
            bench.first.enqueue({ sse })
            const before = process.cpuUsage()
            const delay = new LoopDelay()
            const response = await sendRequest(bench, format, { model: `test/${upstream}`, stream: true })
            for await (const _ of response.body ?? []);
            const { user, system } = process.cpuUsage(before)
            return delay.stop() - Math.max(mostMs, (mostShare * (user + system)) / 1000)
          }
          // Garbage collection may fall into one attack; a blocked loop is blocked each time.
          let least = Number.POSITIVE_INFINITY
          for (let attempt = 0; attempt < 3 && least >= 0; attempt++) least = Math.min(least, await excess())
          expect(least).toBeLessThan(0)
        })
      }
    }
  }

  test('S13 an event in chunks of two bytes is read', async () => {
    const [first = '', second = ''] = hostileStreams[0]?.frames.chat(2) ?? []
    bench.first.enqueue({ sse: [first.replace('"x"', `"${'x'.repeat(20_000)}"`), second], splitBytes: 2 })
    const response = await sendRequest(bench, 'chat', { model: 'test/chat', stream: true })
    expect(await response.text()).toContain('x'.repeat(20_000))
  })
})

function nest(levels: number): object {
  return levels === 0 ? {} : { inner: nest(levels - 1) }
}

const badEnds = {
  chat: /"finish_reason":"error"[^\n]*"code":502[^\n]*\n\n$/,
  messages: /event: error\n[^\n]*"type":"api_error"[^\n]*\n\n$/,
  responses: /event: response\.failed\n[^\n]*\n\n$/,
}

describeWithUpstreams(
  'a reply beyond the limits',
  (bench, kind) => {
    const [texts, , parts] = hostileStreams
    for (const upstream of selectCases(kind, upstreams)) {
      for (const format of formatNames) {
        const attacks = { events: texts?.frames[upstream](300), parts: parts?.frames[upstream](100) }
        for (const [what, sse = []] of Object.entries(attacks)) {
          test(`S13 I2 too many ${what} from ${upstream} to ${format} end with an error event, and are settled`, async () => {
            await clearGenerations(bench())
            bench().first.enqueue({ sse, delayMs: 0, splitBytes: 2000 })
            const response = await sendRequest(bench(), format, { model: `test/${upstream}`, stream: true })
            const text = await response.text()
            if (response.status === 200) expect(text).toMatch(badEnds[format])
            else expect(response.status).toBe(502)
            expect(text).toMatch(/has more than \d+ (events|parts)/)
            const [row] = await waitForGenerations(bench(), 1)
            expect(row).toMatchObject({ status: 'failed', error_code: 'upstream_failed', cost_nanos: 0n })
          })
        }
      }
    }

    const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }
    const members = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`k${at}`, 1]))
    const wholeReplies: [string, object, string][] = [
      ['members', { choices: [choice], ...members }, 'has more than 2000 JSON values'],
      ['choices', { choices: Array.from({ length: 400 }, () => ({})) }, 'has more than 20 parts'],
      ['levels', { choices: [choice], deep: nest(200) }, 'nested deeper than 128 levels'],
    ]
    for (const [what, json, problem] of wholeReplies) {
      test(`S13 I2 a whole reply of too many ${what} is 502, and is settled`, async () => {
        for (const format of formatNames) {
          await clearGenerations(bench())
          bench().first.enqueue({ json })
          const response = await sendRequest(bench(), format, { model: 'test/chat' })
          expect(response.status).toBe(502)
          expect(await response.text()).toContain(problem)
          const [row] = await waitForGenerations(bench(), 1)
          expect(row).toMatchObject({ status: 'failed', error_code: 'upstream_failed', cost_nanos: 0n })
        }
      })
    }

    test('S13 an event of too many members or levels ends the stream with an error event', async () => {
      const [first = '', second = ''] = texts?.frames.chat(2) ?? []
      for (const [fields, problem] of [
        [members, 'more than 2000 JSON values'],
        [{ deep: nest(200) }, 'nested deeper than 128 levels'],
      ] as const) {
        const large = second.replace('data: {', `data: {${JSON.stringify(fields).slice(1, -1)},`)
        for (const format of formatNames) {
          bench().first.enqueue({ sse: [first, large], delayMs: 0 })
          const response = await sendRequest(bench(), format, { model: 'test/chat', stream: true })
          const text = await response.text()
          if (response.status === 200) expect(text).toMatch(badEnds[format])
          expect(text).toContain(problem)
        }
      }
    })

    test('S13 tool arguments that are nested too deeply reach a client of another format as text', async () => {
      const call = {
        id: 'c',
        type: 'function',
        function: { name: 'f', arguments: JSON.stringify(nest(500)) },
      }
      const message = { role: 'assistant', content: null, tool_calls: [call] }
      const json = { id: 'c', model: 'm', choices: [{ index: 0, finish_reason: 'tool_calls', message }] }
      bench().first.enqueue({ json })
      const response = await sendRequest(bench(), 'messages', { model: 'test/chat' })
      expect([response.status, (await readJson(response)).content[0].input]).toEqual([
        200,
        { _raw: call.function.arguments },
      ])
    })

    test('S13 a stream that is too long ends with an error event', async () => {
      const sse = texts?.frames.chat(1).map((frame) => frame.replace('"x"', `"${'x'.repeat(70_000)}"`)) ?? []
      bench().first.enqueue({ sse: [...sse, ...sse, ...sse] })
      const text = await (await sendRequest(bench(), 'chat', { model: 'test/chat', stream: true })).text()
      expect(text).toMatch(badEnds.chat)
      expect(text).toContain('too large')
    })

    test('S13 a whole reply of too many tool calls is 502', async () => {
      const named = { name: 'f', arguments: '{}' }
      const tool_calls = Array.from({ length: 50 }, (_, at) => ({
        id: `c${at}`,
        type: 'function',
        function: named,
      }))
      const message = { role: 'assistant', content: null, tool_calls }
      const json = { id: 'c', model: 'm', choices: [{ index: 0, finish_reason: 'tool_calls', message }] }
      for (const format of formatNames) {
        bench().first.enqueue({ json }, { json })
        expect((await sendRequest(bench(), format, { model: 'test/chat' })).status).toBe(502)
        // The same for a whole reply to a streamed request.
        const streamed = await sendRequest(bench(), format, { model: 'test/chat', stream: true })
        expect(await streamed.text()).toContain('has more than 20 parts')
      }
    })
  },
  'limits: { reply_events: 200, reply_parts: 20, reply_bytes: 200000, reply_values: 2000 }',
)
