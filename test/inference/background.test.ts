import { beforeEach, expect, test } from 'bun:test'
import { maintainBackgroundResponses } from '../../src/inference/text/background-store.ts'
import { newId } from '../../src/platform/crypto/ids.ts'
import { vendorReply } from '../support/replies.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  lastRequest,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

const settings = 'responses: { background: 3 }'

describeWithUpstreams(
  'a response in the background',
  (bench) => {
    beforeEach(async () => {
      await bench().server.gateway.backgroundRuns.drain(5000)
      await clearGenerations(bench())
    })
    const key = () => bench().server.own.inferenceKey
    const start = (fields = {}) =>
      sendRequest(bench(), 'responses', { model: 'test/chat', background: true, ...fields })
    const read = (id: string, query = '') =>
      fetch(`${bench().server.url}/v1/responses/${id}${query}`, {
        headers: { authorization: `Bearer ${key()}` },
      })
    const cancel = (id: string) => bench().server.call('POST', `/responses/${id}/cancel`, { key: key() })

    async function ended(id: string) {
      for (const deadline = Date.now() + 5000; ; await Bun.sleep(5)) {
        const response = await readJson(read(id))
        if (!['queued', 'in_progress'].includes(response.status) || Date.now() > deadline) return response
      }
    }

    /** A stream that has begun and stalls. */
    const hanging = () => ({ sse: vendorReply('chat', 'text').frames.slice(0, 3), hang: true })

    test('is queued, run and charged without its client, and stored', async () => {
      const response = await start()
      expect(response.status).toBe(200)
      const queued = await readJson(response)
      expect(queued).toMatchObject({ object: 'response', status: 'queued', background: true, output: [] })
      const done = await ended(queued.id)
      expect(done).toMatchObject({ id: queued.id, status: 'completed', background: true })
      expect(done.output_text).not.toBe('')
      expect(done.usage.total_tokens).toBeGreaterThan(0)
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ id: response.headers.get('x-generation-id'), status: 'completed' })
      expect(lastRequest(bench().first.requests).json).not.toHaveProperty('background')
      const next = await readJson(
        sendRequest(bench(), 'responses', {
          model: 'test/chat',
          previous_response_id: queued.id,
          input: 'And?',
        }),
      )
      expect(next.status).toBe('completed')
      expect(lastRequest(bench().first.requests).json.messages).toHaveLength(3)
    })

    test('is in progress while the provider replies, and ends when it is canceled', async () => {
      bench().first.enqueue(hanging())
      const { id } = await readJson(start())
      await bench().first.waitForRequests(1)
      for (let status = ''; status !== 'in_progress'; await Bun.sleep(2))
        status = (await readJson(read(id))).status
      const removed = await bench().server.call('DELETE', `/responses/${id}`, { key: key() })
      expect(removed.status).toBe(409)
      const cancelled = await cancel(id)
      expect(cancelled).toMatchObject({ status: 200, body: { id, status: 'cancelled', error: null } })
      expect((await cancel(id)).body.status).toBe('cancelled')
      expect((await readJson(read(id))).status).toBe('cancelled')
      const [row] = await waitForGenerations(bench(), 1)
      expect(row?.status).toBe('cancelled')
      const next = await sendRequest(bench(), 'responses', {
        model: 'test/chat',
        previous_response_id: id,
        input: 'And?',
      })
      expect(next.status).toBe(400)
    })

    test('reports why it failed', async () => {
      bench().first.enqueue({ status: 400, json: { error: { message: 'No such voice' } } })
      const { id } = await readJson(start())
      expect(await ended(id)).toMatchObject({
        status: 'failed',
        background: true,
        error: { code: 'invalid_prompt', message: 'No such voice' },
      })
    })

    test('its events can be read from any position while it runs', async () => {
      bench().first.enqueue({ sse: vendorReply('chat', 'text').frames, delayMs: 100 })
      const streamed = await start({ stream: true })
      const reader = streamed.body?.getReader()
      const first = new TextDecoder().decode((await reader?.read())?.value)
      expect(first).toStartWith('event: response.created')
      await reader?.cancel()
      const id = /"id":"(resp_[^"]+)"/.exec(first)?.[1] ?? ''
      const rest = await read(id, '?stream=true&starting_after=1').then((response) => response.text())
      const numbers = [...rest.matchAll(/"sequence_number":(\d+)/g)].map((match) => Number(match[1]))
      expect(numbers[0]).toBe(2)
      expect(rest).toContain('event: response.completed')
      expect((await readJson(read(id))).status).toBe('completed')
      expect((await read(id, '?stream=true')).status).toBe(400)
    })

    test('an invalid request fails at once, and nothing of it is stored', async () => {
      const rejected = await start({ store: false })
      expect(rejected.status).toBe(400)
      expect((await readJson(rejected)).error.message).toContain('background')
      expect((await start({ model: 'unknown/model' })).status).toBe(400)
      const poor = { key: bench().server.foreign.inferenceKey }
      const unpaid = await sendRequest(bench(), 'responses', { background: true, model: 'test/chat' }, poor)
      expect(unpaid.status).toBe(402)
      const elsewhere = { model: 'test/chat', input: 'Hello', messages: undefined, background: true }
      expect((await sendRequest(bench(), 'chat', elsewhere)).status).toBe(400)
      await bench().server.gateway.backgroundRuns.drain(5000)
      const rows = await bench().server.gateway.db.selectFrom('background_responses').selectAll().execute()
      expect(rows).toEqual([])
    })

    test('concurrency is limited per workspace', async () => {
      bench().first.enqueue(hanging(), hanging(), hanging())
      const begun = await Promise.all([start(), start(), start()].map(readJson))
      const rejected = await start()
      expect(rejected.status).toBe(429)
      expect(rejected.headers.get('x-ratelimit-limit')).toBe('3')
      for (const { id } of begun) await cancel(id)
      expect((await start()).status).toBe(200)
    })

    test('only a background response can be canceled, and only by its workspace', async () => {
      const { id } = await readJson(sendRequest(bench(), 'responses', { model: 'test/chat' }))
      const rejected = await cancel(id)
      expect(rejected.status).toBe(400)
      expect(rejected.body.error.message).toContain('only a background response can be canceled')
      bench().first.enqueue(hanging())
      const begun = await readJson(start())
      const { foreign, call } = { foreign: bench().server.foreign.inferenceKey, call: bench().server.call }
      expect((await call('POST', `/responses/${begun.id}/cancel`, { key: foreign })).status).toBe(404)
      expect((await call('GET', `/responses/${begun.id}`, { key: foreign })).status).toBe(404)
      expect((await cancel(begun.id)).body.status).toBe('cancelled')
    })

    test('one that a stopped gateway left behind has failed, and one that runs on another node can be canceled', async () => {
      const { gateway } = bench().server
      bench().first.enqueue(hanging(), hanging())
      const [left, elsewhere] = [await readJson(start()), await readJson(start())]
      await bench().first.waitForRequests(2)
      const { db } = gateway
      await db
        .updateTable('background_responses')
        .set({ node_id: newId('node') })
        .where('id', '=', left.id)
        .execute()
      await maintainBackgroundResponses(gateway)
      expect(await readJson(read(left.id))).toMatchObject({
        status: 'failed',
        error: { code: 'server_error', message: expect.stringContaining('stopped') },
      })
      await db
        .updateTable('background_responses')
        .set({ is_cancelled: 1 })
        .where('id', '=', elsewhere.id)
        .execute()
      await maintainBackgroundResponses(gateway)
      expect((await ended(elsewhere.id)).status).toBe('cancelled')
      gateway.backgroundRuns.get(left.id)?.stop('shutdown')
    })

    test('one in progress when the gateway stops fails, and reports it', async () => {
      const { gateway } = bench().server
      bench().first.enqueue(hanging())
      const { id } = await readJson(start())
      await bench().first.waitForRequests(1)
      await gateway.backgroundRuns.drain(0)
      expect(await readJson(read(id))).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
    })
  },
  settings,
)
