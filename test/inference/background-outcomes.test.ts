import { expect, test } from 'bun:test'
import { vendorReply } from '../support/replies.ts'
import {
  describeWithUpstreams,
  listGenerations,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

describeWithUpstreams(
  'S13 the end of a response in the background',
  (bench) => {
    const key = () => bench().server.own.inferenceKey
    const start = (fields = {}) =>
      sendRequest(bench(), 'responses', { model: 'test/chat', background: true, ...fields })
    const call = (method: 'GET' | 'POST', path: string) =>
      bench().server.call(method, `/responses/${path}`, { key: key() })
    const rejected = { status: 400, json: { error: { message: 'No such voice' } } }

    const chunk = (choices: object[], rest = {}) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...rest })}\n\n`
    const usage = { prompt_tokens: 1, completion_tokens: 5, total_tokens: 6 }
    const halfMegabyte = 'y'.repeat(512 * 1024)
    const longReply = (chunks: number) => ({
      sse: [
        ...Array.from({ length: chunks }, () =>
          chunk([{ index: 0, delta: { content: halfMegabyte }, finish_reason: null }]),
        ),
        chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
        chunk([], { usage }),
        'data: [DONE]\n\n',
      ],
    })

    async function ended(id: string) {
      for (const deadline = Date.now() + 15_000; ; await Bun.sleep(20)) {
        const response = await call('GET', id)
        if (!['queued', 'in_progress'].includes(response.body.status) || Date.now() > deadline)
          return response
      }
    }
    const endings = (text: string) => [...text.matchAll(/^event: (.*)$/gm)].map((match) => match[1])

    test('a long one is stored, and its usage can be read', async () => {
      bench().first.enqueue(longReply(18))
      const { id } = await readJson(start())
      const { status, body } = await ended(id)
      expect([status, body.status]).toEqual([200, 'completed'])
      expect(body.output[0].content[0].text).toHaveLength(18 * halfMegabyte.length)
    }, 60_000)

    test('a stream that is too long to be replayed still reports how it ended', async () => {
      bench().first.enqueue(longReply(8))
      const text = await (await start({ stream: true })).text()
      expect(endings(text).at(-1)).toBe('response.completed')
    }, 60_000)

    test('the stream of a failed one reports the failure', async () => {
      bench().first.enqueue(rejected)
      const text = await (await start({ stream: true })).text()
      expect(endings(text)).toEqual(['response.failed'])
      expect(text).toContain('"sequence_number":0')
      expect(text).toContain('No such voice')
    })

    test('failed ones count in the quota', async () => {
      const { db } = bench().server.gateway
      for (let count = 0; count < 4; count++) {
        bench().first.enqueue(rejected)
        await ended((await readJson(start({ input: 'z'.repeat(500_000) }))).id)
        bench().server.clock.advance(1000)
      }
      const rows = () => db.selectFrom('stored_responses').select('id').execute()
      for (let tries = 0; (await rows()).length > 1 && tries < 200; tries++) await Bun.sleep(10)
      expect(await rows()).toHaveLength(1)
    })

    test('a failed one stores its input, but not long instructions', async () => {
      bench().first.enqueue(rejected)
      const { id } = await readJson(start({ input: 'Hello', instructions: 'z'.repeat(1_000_000) }))
      expect((await ended(id)).body).toMatchObject({ status: 'failed', instructions: null })
      const { body } = await call('GET', `${id}/input_items`)
      expect(body.data).toMatchObject([{ role: 'user', content: [{ text: 'Hello' }] }])
    })

    test('requires store, also with a conversation', async () => {
      const { body } = await bench().server.call('POST', '/conversations', { key: key(), body: {} })
      const response = await start({ store: false, conversation: body.id })
      expect(response.status).toBe(400)
      expect((await readJson(response)).error.message).toContain('background')
    })

    test('R5 a canceled one ends at once, and is charged when the provider ends', async () => {
      await bench().server.gateway.db.deleteFrom('generations').execute()
      const { frames } = vendorReply('chat', 'text')
      bench().first.enqueue({ sse: frames, delayMs: 30 })
      const { id } = await readJson(start({ model: 'test/stubborn' }))
      for (let status = ''; status !== 'in_progress'; await Bun.sleep(2))
        status = (await call('GET', id)).body.status
      const cancelled = await call('POST', `${id}/cancel`)
      expect(cancelled.body).toMatchObject({ id, status: 'cancelled' })
      expect(await listGenerations(bench())).toEqual([])
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'cancelled' })
      expect(row?.tokens_output).toBeGreaterThan(0)
      expect((await call('GET', id)).body.status).toBe('cancelled')
    }, 20_000)
  },
  'responses: { max_bytes: 1048576, max_count: 1 }',
)
