import { afterAll, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import {
  buildSettings,
  describeWithUpstreamsOnSqlite,
  type FormatName,
  formatNames,
  sendPassingTime,
} from '../inference/two-upstreams.ts'
import { replyWithCalls, replyWithText } from './replies.ts'

/** Gate of the search that runs: opened when the client has had its heartbeats. */
let gate = Promise.withResolvers<void>()

/** A search engine that takes its time. */
const site = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async () => {
    await gate.promise
    return Response.json({ results: [{ url: 'https://tides.test/now', title: 'Tides', text: 'At 14:05.' }] })
  },
})
afterAll(() => site.stop(true))

const more = `limits: { heartbeat: 3 }
egress: { allow_private: ["127.0.0.1:${site.port}"] }
web: { engines: { exa: { api_key: engine-key, base_url: "http://127.0.0.1:${site.port}" } } }`

const heartbeats: Record<FormatName, string> = {
  chat: ': HEADGATE PROCESSING',
  messages: 'event: ping',
  responses: ': HEADGATE PROCESSING',
}

describeWithUpstreamsOnSqlite(
  'heartbeats',
  (bench) => {
    /** The stream up to its second heartbeat, and the rest. */
    const read = async (format: FormatName, body: JsonObject) => {
      gate = Promise.withResolvers()
      const response = await sendPassingTime(bench(), format, { model: 'test/chat', stream: true, ...body })
      expect(response.status).toBe(200)
      return bench().server.timer.passUntil(readParts(response, format))
    }

    const readParts = async (response: Response, format: FormatName) => {
      let text = ''
      let before: string | null = null
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk
        if (before !== null || text.split(heartbeats[format]).length <= 2) continue
        before = text
        gate.resolve()
      }
      return [before ?? '', text.slice(before?.length)] as const
    }

    for (const format of formatNames) {
      test(`flow while a tool runs, between two turns: ${format}`, async () => {
        bench().first.enqueue(
          replyWithCalls(['web_search'], true, 'One moment.', { query: 'tides' }),
          replyWithText('At five past two.', true),
        )
        const [before, after] = await read(format, { tools: [{ type: 'service:web_search' }] })
        expect(before).toContain('One moment.')
        expect(before).not.toContain('At five past two.')
        expect(after).toContain('At five past two.')
      })

      test(`flow while a plugin works, before the first turn: ${format}`, async () => {
        bench().first.enqueue(replyWithText('At five past two.', true))
        const [before, after] = await read(format, { plugins: [{ id: 'web' }] })
        expect(before).toStartWith(heartbeats[format])
        expect(before).not.toContain('five past')
        expect(after).toContain('At five past two.')
      })
    }
  },
  (first, second) => buildSettings(first, second, more),
)
