import { describe, expect, test } from 'bun:test'
import { describeWithUpstreams, lastRequest, readJson, sendRequest } from './two-upstreams.ts'

const monthMs = 31 * 24 * 60 * 60_000

describeWithUpstreams('conversations', (bench) => {
  const own = () => bench().server.own.inferenceKey
  const call = (method: string, path: string, body?: unknown, key = own()) =>
    bench().server.call(method, path, { key, body })
  const make = async (body: object = {}) => (await call('POST', '/conversations', body)).body
  const items = async (id: string, query = 'order=asc&limit=100') =>
    (await call('GET', `/conversations/${id}/items?${query}`)).body
  const respond = (body: object) => sendRequest(bench(), 'responses', { model: 'test/chat', ...body })
  const sent = () => JSON.stringify(lastRequest(bench().first.requests).json)

  for (const upstream of ['chat', 'messages', 'responses', 'gemini']) {
    for (const stream of [false, true]) {
      test(`R34 over ${upstream}, ${stream ? 'streamed' : 'whole'}: the next turn can follow at once`, async () => {
        const model = `test/${upstream}`
        const { id } = await make({ items: [{ role: 'user', content: 'My name is Ada.' }] })
        const first = await respond({ model, input: 'Do you know Kyoto?', conversation: id, stream })
        expect(await first.text()).toContain(id)
        const second = await respond({ model, input: 'Who am I?', conversation: { id } })
        expect((await readJson(second)).conversation).toEqual({ id })
        const positions = ['My name is Ada.', 'Do you know Kyoto?', 'Schneefall', 'Who am I?'].map((text) =>
          sent().indexOf(text),
        )
        expect(positions).toEqual(positions.toSorted((a, b) => a - b))
        expect(positions[0]).toBeGreaterThan(-1)
        expect(sent()).not.toContain(id)
        const { data } = await items(id)
        const roles = data.map((item: { role: string }) => item.role)
        expect(roles.filter((role: string) => role === 'user')).toHaveLength(3)
        expect(roles.at(-1)).toBe('assistant')
      })
    }
  }

  test('grows even with store: false', async () => {
    const { id } = await make()
    const made = await readJson(respond({ input: 'Remember me.', conversation: id, store: false }))
    expect((await call('GET', `/responses/${made.id}`)).status).toBe(404)
    expect(JSON.stringify(await items(id))).toContain('Remember me.')
  })

  test('does not grow by a request that failed', async () => {
    const { id } = await make()
    bench().first.enqueue({ status: 400, json: { error: { message: 'no' } } })
    expect((await respond({ input: 'Lost.', conversation: id })).status).toBe(400)
    expect((await items(id)).data).toEqual([])
  })

  test('concurrent responses are all added', async () => {
    const { id } = await make()
    const request = Array.from({ length: 8 }, (_, n) => respond({ input: `prompt ${n}`, conversation: id }))
    for (const response of await Promise.all(request)) expect(response.status).toBe(200)
    const text = JSON.stringify(await items(id))
    for (let n = 0; n < 8; n++) expect(text).toContain(`prompt ${n}`)
  })

  test('one that is deleted while in use stays deleted, and the response completes', async () => {
    const { id } = await make()
    const request = respond({ input: 'Hello', conversation: id, store: true })
    await call('DELETE', `/conversations/${id}`)
    expect([200, 404]).toContain((await request).status)
    expect((await call('GET', `/conversations/${id}`)).status).toBe(404)
  })

  test('its metadata can be changed', async () => {
    const made = await make({ metadata: { topic: 'snow' } })
    expect(made).toMatchObject({ object: 'conversation', metadata: { topic: 'snow' } })
    await call('POST', `/conversations/${made.id}`, { metadata: { topic: 'rain' } })
    expect((await call('GET', `/conversations/${made.id}`)).body).toEqual({
      ...made,
      metadata: { topic: 'rain' },
    })
  })

  test('its items are added, listed in pages, read, referenced and deleted', async () => {
    const { id } = await make()
    const words = ['one', 'two', 'three', 'four', 'five']
    const input = words.map((content) => ({ role: 'user', content }))
    const added = (await call('POST', `/conversations/${id}/items`, { items: input })).body
    expect(added.data).toHaveLength(5)
    const first = await items(id, 'limit=2&order=asc')
    expect(first).toMatchObject({ has_more: true, first_id: added.data[0].id, last_id: added.data[1].id })
    const rest = await items(id, `limit=100&order=asc&after=${first.last_id}`)
    expect(rest.data.map((item: { id: string }) => item.id)).toEqual(
      added.data.slice(2).map((item: { id: string }) => item.id),
    )
    expect((await items(id, 'limit=1')).data[0].content).toEqual([{ type: 'input_text', text: 'five' }])
    const path = `/conversations/${id}/items/${added.data[0].id}`
    expect((await call('GET', path)).body).toMatchObject({ type: 'message', role: 'user' })
    expect((await call('DELETE', path)).body.id).toBe(id)
    expect((await call('GET', path)).status).toBe(404)
    const reference = { type: 'item_reference', id: added.data[1].id }
    expect((await respond({ input: [reference], conversation: id })).status).toBe(200)
    expect(sent().match(/"two"/g)).toHaveLength(1)
  })

  test('a request names it or the previous response, not both', async () => {
    const { id } = await make()
    const rejected = await respond({ input: 'x', conversation: id, previous_response_id: 'resp_1' })
    expect(rejected.status).toBe(400)
    expect((await readJson(rejected)).error.message).toStartWith('conversation:')
    const chat = await sendRequest(bench(), 'chat', { model: 'test/chat', input: 'x', conversation: id })
    expect(chat.status).toBe(400)
  })

  test('more than 20 items at once, or more than a request may have in total, is rejected', async () => {
    const item = { role: 'user', content: 'x' }
    expect((await call('POST', '/conversations', { items: Array(21).fill(item) })).status).toBe(400)
  })

  test('S13 accepts many items in order, and rejects input that would exceed the maximum before the provider is called', async () => {
    const { id } = await make()
    const input = Array.from({ length: 9950 }, (_, n) => ({ role: 'user', content: `item ${n}` }))
    expect((await respond({ input, conversation: id })).status).toBe(200)
    const { data } = await items(id)
    const texts = data.map((item: { content: unknown }) => JSON.stringify(item.content))
    expect(texts).toEqual(input.slice(0, 100).map(({ content }) => expect.stringContaining(content)))
    bench().first.requests.length = 0
    const rejected = await respond({ input: input.slice(0, 60), conversation: id })
    expect(rejected.status).toBe(400)
    expect((await readJson(rejected)).error.message).toStartWith(
      'input: a conversation has at most 10000 items',
    )
    expect(bench().first.requests).toEqual([])
  }, 30_000)

  test('R34 S3 I9 does not exist for another organization', async () => {
    const { id } = await make()
    const { inferenceKey } = bench().server.foreign
    const body = { model: 'sandbox/echo:free', input: 'x', conversation: id }
    expect((await sendRequest(bench(), 'responses', body, { key: inferenceKey })).status).toBe(404)
    expect((await respond({ input: 'x', conversation: 'conv_nobody' })).status).toBe(404)
    expect((await respond({ input: 'x', conversation: 'no id at all' })).status).toBe(404)
  })

  test('R34 expires some time after its last use', async () => {
    const { id } = await make()
    const { clock } = bench().server
    clock.advance(monthMs / 2)
    expect((await respond({ input: 'Still there?', conversation: id })).status).toBe(200)
    clock.advance(monthMs * 0.75)
    expect((await call('GET', `/conversations/${id}`)).status).toBe(200)
    clock.advance(monthMs)
    expect((await call('GET', `/conversations/${id}`)).status).toBe(404)
    clock.release()
  })

  test('S12 is encrypted in the database', async () => {
    const { id } = await make({ metadata: { note: 'canary-label' } })
    await readJson(respond({ input: 'canary-in-the-prompt', conversation: id }))
    const { db } = bench().server.gateway
    const rows = await db
      .selectFrom('conversation_items')
      .selectAll()
      .where('conversation_id', '=', id)
      .execute()
    expect(rows.length).toBeGreaterThan(1)
    const about = await db.selectFrom('conversations').selectAll().execute()
    expect(JSON.stringify([rows, about])).not.toContain('canary')
  })

  describe('counting', () => {
    test('the provider counts where it can, with supported fields only', async () => {
      bench().first.enqueue({ json: { object: 'response.input_tokens', input_tokens: 4711 } })
      const body = { model: 'test/responses', input: 'How long?', max_output_tokens: 5, store: true }
      const counted = await call('POST', '/responses/input_tokens', body)
      expect(counted.body).toEqual({ object: 'response.input_tokens', input_tokens: 4711 })
      const { path, json } = lastRequest(bench().first.requests)
      expect(path).toEndWith('/responses/input_tokens')
      expect(json).toEqual({ model: 'vendor-model', input: 'How long?' })
    })

    test('otherwise it is an estimate, free of charge, that includes the conversation', async () => {
      const { id } = await make({ items: [{ role: 'user', content: 'word '.repeat(1000) }] })
      const body = { model: 'test/chat', input: 'How long?' }
      const before = bench().first.requests.length
      const short = (await call('POST', '/responses/input_tokens', body)).body.input_tokens
      const long = await call('POST', '/responses/input_tokens', { ...body, conversation: id })
      expect(long.body.input_tokens).toBeGreaterThan(short + 500)
      expect(bench().first.requests).toHaveLength(before)
    })
  })

  describe('compaction', () => {
    const secret = 'The model wrote a summary.'
    const compact = async (body: object) =>
      (await call('POST', '/responses/compact', { model: 'test/chat', ...body })).body

    test('R11 the model summarizes, and is charged like a request', async () => {
      const made = await compact({ input: [{ role: 'user', content: 'Plan a trip to Kyoto.' }] })
      expect(made).toMatchObject({ object: 'response.compaction', usage: { input_tokens: 87 } })
      const [message, compaction] = made.output
      expect(message).toMatchObject({ type: 'message', role: 'user', content: 'Plan a trip to Kyoto.' })
      expect(compaction.type).toBe('compaction')
      expect(compaction.encrypted_content).not.toContain('Schneefall')
      expect(sent()).toContain('Summarize the conversation')
      const rows = await bench().server.gateway.db.selectFrom('generations').select('id').execute()
      expect(rows.map(({ id }) => id)).toContain(`gen-${made.id.slice('resp_'.length)}`)
    })

    test('its output is valid input for another model', async () => {
      const call = { type: 'function_call', call_id: 'c1', name: 'find', arguments: '{"q":"trains"}' }
      const result = { type: 'function_call_output', call_id: 'c1', output: 'Platform 9' }
      const { output } = await compact({ input: [{ role: 'user', content: 'Trains?' }, call, result] })
      expect(sent()).toContain('Platform 9')
      expect(sent()).not.toContain('"tool_calls"')
      const next = await respond({
        model: 'test/messages',
        input: [...output, { role: 'user', content: 'Go on.' }],
      })
      expect(next.status).toBe(200)
      expect(sent()).toContain('Summary of the conversation so far')
      expect(sent()).toContain('Schneefall')
    })

    test('when compacted again, the earlier summary is part of the new one and not repeated', async () => {
      const { output } = await compact({ input: 'Hello' })
      const again = await compact({ input: [...output, { role: 'user', content: 'More.' }] })
      expect(sent()).toContain('Summary of the conversation so far')
      const types = again.output.map((item: { type: string }) => item.type)
      expect(types).toEqual(['message', 'message', 'compaction'])
      expect(JSON.stringify(again.output)).not.toContain(secret)
    })

    test('I9 the summary of another workspace cannot be decrypted', async () => {
      const { output } = await compact({ input: 'Hello' })
      const body = { model: 'sandbox/echo:free', input: output }
      const { inferenceKey } = bench().server.foreign
      const rejected = await sendRequest(bench(), 'responses', body, { key: inferenceKey })
      expect(rejected.status).toBe(400)
    })
  })
})
