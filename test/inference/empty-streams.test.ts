import { beforeEach, describe, expect, test } from 'bun:test'
import { selectCases } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  formatNames,
  readPassingTime,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

/** Seconds, which the timer of the tests lets pass in no time. */
const limits = 'limits: { heartbeat: 3, idle: 8, first_byte: 20, first_content: 12 }'

/** The timeout error of each format. */
const timeouts = {
  chat: /"code":408.*"finish_reason":"error"|"finish_reason":"error".*"code":408/,
  messages: /event: error\ndata: .*"type":"timeout_error"/,
  responses: /event: error\ndata: .*"error_type":"timeout"/,
}
const heartbeats = { chat: ': HEADGATE', messages: 'event: ping', responses: ': HEADGATE' }

function chatChunk(content: string, extra: object = {}): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }]
  const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
  return `data: ${JSON.stringify({ ...head, choices, ...extra })}\n\n`
}

const json = (value: object) => JSON.stringify(value)

/** Events without content, in each format. */
const emptyFrames = {
  chat: chatChunk(''),
  messages: 'event: ping\ndata: {"type":"ping"}\n\n',
  responses: `event: response.in_progress\ndata: ${json({ type: 'response.in_progress', response: { id: 'r', output: [] } })}\n\n`,
  gemini: `data: ${json({ candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, index: 0 }] })}\n\n`,
}
/** Empty deltas, after the first content. */
const emptyDeltas = {
  chat: chatChunk(''),
  messages: `event: content_block_delta\ndata: ${json({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '' } })}\n\n`,
  responses: `event: response.output_text.delta\ndata: ${json({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: '' })}\n\n`,
  gemini: emptyFrames.gemini,
}
const upstreams = ['chat', 'messages', 'responses', 'gemini'] as const
const kinds = { 'empty events': emptyFrames, comments: null } as const

/** The frames up to and including the first text. */
function beginning(upstream: (typeof upstreams)[number]): string[] {
  const { frames } = vendorReply(upstream, 'text')
  const at = frames.findIndex((frame) =>
    /output_text\.delta|text_delta|"content": ?"[^"]|"text": ?"[^"]/.test(frame),
  )
  return frames.slice(0, at + 1)
}

function repeated(frame: string, count: number): string[] {
  return Array.from({ length: count }, () => frame)
}

describeWithUpstreams(
  'a stream without content',
  (bench, database) => {
    beforeEach(() => clearGenerations(bench()))

    for (const upstream of selectCases(database, upstreams)) {
      for (const [kind, frames] of Object.entries(kinds)) {
        test(`R30 S13 ${upstream}: ${kind} do not extend the time for the first content`, async () => {
          const nothing = frames?.[upstream] ?? ': ping\n\n'
          bench().first.enqueue({ sse: repeated(nothing, 400), delayMs: 1, hang: true })
          const body = await readPassingTime(bench(), 'chat', {
            model: `test/both-${upstream}`,
            stream: true,
          })
          expect(body).toContain('data: [DONE]')
          const [row] = await waitForGenerations(bench(), 1)
          expect(row).toMatchObject({ status: 'completed', provider: `two-${upstream}` })
          expect(JSON.parse(row?.attempts ?? '')).toMatchObject([{ code: 'timeout' }])
        })
      }
    }

    for (const format of selectCases(database, formatNames)) {
      test(`S13 ${format}: events before the first content are bounded`, async () => {
        const padded = emptyFrames[format].replace(/\}\n\n$/, `,"pad":"${'x'.repeat(64 * 1024)}"}\n\n`)
        bench().first.enqueue({ sse: repeated(padded, 40), hang: true })
        const response = await sendRequest(bench(), format, { model: `test/${format}`, stream: true })
        expect(response.status).toBe(502)
        expect(await response.text()).toContain('too much data before its first content')
      })
    }

    for (const format of selectCases(database, formatNames)) {
      describe(format, () => {
        for (const upstream of selectCases(database, upstreams)) {
          test(`S13 over ${upstream}: empty deltas do not keep a stream open`, async () => {
            bench().first.enqueue({
              sse: [...beginning(upstream), ...repeated(emptyDeltas[upstream], 400)],
              delayMs: 1,
              hang: true,
            })
            const model = `test/${upstream}`
            const text = await readPassingTime(bench(), format, { model, stream: true })
            expect(text).toMatch(timeouts[format])
            const [row] = await waitForGenerations(bench(), 1)
            expect(row).toMatchObject({ status: 'failed', error_code: 'upstream_timeout', cost_nanos: 0n })
          })
        }

        test('R33 a stream that stalls ends with a timeout error', async () => {
          bench().first.enqueue({ sse: beginning('chat'), hang: true })
          const text = await readPassingTime(bench(), format, { model: 'test/chat', stream: true })
          expect(text).toMatch(timeouts[format])
        })
      })
    }
  },
  limits,
)

describeWithUpstreams(
  'a stream without content for a while',
  (bench) => {
    for (const format of formatNames) {
      test(`${format}: comments of the provider do not replace heartbeats`, async () => {
        const { frames } = vendorReply('chat', 'text')
        const first = beginning('chat')
        const sse = [...first, ...repeated(': ping\n\n', 100), ...frames.slice(first.length)]
        bench().first.enqueue({ sse, delayMs: 1 })
        const text = await readPassingTime(bench(), format, { model: 'test/chat', stream: true })
        expect(text).toContain(heartbeats[format])
        expect(text).not.toMatch(timeouts[format])
      })
    }

    test('S13 comments after the end of a reply do not delay its end', async () => {
      const { frames } = vendorReply('chat', 'text')
      const ended = frames.filter((frame) => !frame.includes('"usage":{') && !frame.includes('[DONE]'))
      bench().first.enqueue({ sse: [...ended, ...repeated(': ping\n\n', 400)], delayMs: 1, hang: true })
      const text = await readPassingTime(bench(), 'chat', { model: 'test/chat', stream: true })
      expect(text).toContain('data: [DONE]')
      expect(text).not.toMatch(timeouts.chat)
    })

    test('a model that reasons without output is not timed out', async () => {
      const sse = [...repeated(': keep-alive\n\n', 40), ...vendorReply('chat', 'text').frames]
      bench().first.enqueue({ sse, delayMs: 1 })
      const text = await readPassingTime(bench(), 'chat', { model: 'test/chat', stream: true })
      expect(text).toContain('data: [DONE]')
    })
  },
  'limits: { heartbeat: 3, idle: 200, first_byte: 200, first_content: 200 }',
  ['sqlite'],
)
