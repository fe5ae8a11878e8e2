import { afterAll, beforeEach, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import {
  clearGenerations,
  describeWithUpstreamsOnSqlite,
  type FormatName,
  formatNames,
  readJson,
  sendRequest,
  waitForGenerations,
} from '../inference/two-upstreams.ts'
import { readSseData } from './replies.ts'

const canary = 'canary-5ecret-engine-key-01234567'
let searches = 0

/** A search engine, and a site with a page. */
const site = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) => {
    if (request.method === 'GET')
      return new Response('Text of the page', { headers: { 'content-type': 'text/plain' } })
    searches++
    return Response.json({
      results: [{ url: 'https://tides.test/now', title: 'Tides', text: 'High water at 14:05.' }],
    })
  },
})
const origin = `http://127.0.0.1:${site.port}`
afterAll(() => site.stop(true))

const settings = `
egress: { allow_private: ["127.0.0.1:${site.port}"] }
web: { engines: { exa: { api_key: ${canary}, base_url: "${origin}" } } }
`

function bodyOf(format: FormatName, content: string, tools: JsonObject[]): JsonObject {
  const prompt = format === 'responses' ? { input: content } : { messages: [{ role: 'user', content }] }
  return { model: 'sandbox/echo', tools, ...prompt }
}

describeWithUpstreamsOnSqlite(
  'replies with web tools',
  (bench) => {
    beforeEach(async () => {
      searches = 0
      await clearGenerations(bench())
    })

    for (const format of formatNames) {
      for (const stream of [false, true]) {
        test(`the model searches, the reply cites its sources, and the search is charged: ${format}, stream ${stream}`, async () => {
          const body = bodyOf(format, 'Use web_search', [{ type: 'service:web_search' }])
          const text = await (await sendRequest(bench(), format, { ...body, stream })).text()
          expect(searches).toBe(1)
          expect(text).toContain('High water at 14:05.')
          expect(text).toMatch(/url_citation|web_search_result_location/)
          expect(text).not.toContain(canary)
          const [row] = await waitForGenerations(bench(), 1)
          expect(row).toMatchObject({ status: 'completed' })
          expect(row?.cost_nanos).toBeGreaterThan(7_000_000n)
        })
      }

      test(`the model reads a page: ${format}`, async () => {
        // Forced to call a tool, the sandbox sends the message as its argument.
        const tool_choice = format === 'messages' ? { type: 'any' } : 'required'
        const body = bodyOf(format, `${origin}/page`, [{ type: 'service:web_fetch' }])
        const text = await (await sendRequest(bench(), format, { ...body, tool_choice })).text()
        expect(text).toContain('Text of the page')
      })
    }

    test('usage counts the search and names its price', async () => {
      const body = bodyOf('chat', 'Use web_search', [{ type: 'service:web_search' }])
      const { usage } = await readJson(sendRequest(bench(), 'chat', body))
      expect(usage.server_tool_use_details).toEqual({
        tool_calls_requested: 1,
        tool_calls_executed: 1,
        web_search_requests: 1,
      })
      expect(usage.cost_details.server_tool_cost).toBe(0.007)
    })

    for (const stream of [false, true])
      test(`results and pages are counted in the usage and in the record: stream ${stream}`, async () => {
        const read = async (body: JsonObject) => {
          const text = await (await sendRequest(bench(), 'messages', { stream, ...body })).text()
          return stream ? readSseData(text).findLast(({ usage }) => usage)?.usage : JSON.parse(text).usage
        }
        const counts = async () => {
          const [row] = await waitForGenerations(bench(), 1)
          const { data } = (await bench().server.call('GET', `/generation?id=${row?.id}`)).body
          await clearGenerations(bench())
          return [data.num_search_results, data.num_fetches]
        }
        const search = bodyOf('messages', 'Use web_search', [{ type: 'service:web_search' }])
        expect((await read(search)).server_tool_use).toEqual({
          web_fetch_requests: 0,
          web_search_requests: 1,
        })
        expect(await counts()).toEqual([1, null])
        const page = bodyOf('messages', `${origin}/page`, [{ type: 'service:web_fetch' }])
        const fetched = await read({ ...page, tool_choice: { type: 'any' } })
        expect(fetched.server_tool_use).toEqual({ web_fetch_requests: 1, web_search_requests: 0 })
        expect(await counts()).toEqual([null, 1])
      })

    test("a vendor's spelling in the Responses format has the vendor's item and events", async () => {
      const body = bodyOf('responses', 'Use web_search', [{ type: 'web_search_preview' }])
      const events = readSseData(
        await (await sendRequest(bench(), 'responses', { ...body, stream: true })).text(),
      )
      const types = events.map(({ type }) => type)
      expect(types).toEqual(
        expect.arrayContaining([
          'response.web_search_call.in_progress',
          'response.web_search_call.searching',
        ]),
      )
      const done = events.find(
        ({ type, item }) => type === 'response.output_item.done' && item.type !== 'message',
      )
      expect(done?.item).toMatchObject({
        type: 'web_search_call',
        status: 'completed',
        action: { type: 'search', sources: [{ type: 'url', url: 'https://tides.test/now' }] },
      })
    })

    test("a vendor's spelling in the Messages format has the vendor's blocks", async () => {
      const body = bodyOf('messages', 'Use web_search', [{ type: 'web_search_20250305', name: 'web_search' }])
      const { content } = await readJson(sendRequest(bench(), 'messages', { max_tokens: 100, ...body }))
      expect(content).toMatchObject([
        { type: 'server_tool_use', name: 'web_search' },
        {
          type: 'web_search_tool_result',
          content: [{ type: 'web_search_result', url: 'https://tides.test/now' }],
        },
        { type: 'text' },
      ])
    })
  },
  settings,
)
