import { describe, expect, test } from 'bun:test'
import { describeWithUpstreams, lastRequest, readJson, sendRequest } from './two-upstreams.ts'

describeWithUpstreams('stored responses', (bench) => {
  const call = (method: string, path: string, key = bench().server.own.inferenceKey) =>
    bench().server.call(method, path, { key })

  for (const upstream of ['chat', 'messages', 'responses', 'gemini']) {
    for (const stream of [false, true]) {
      test(`R34 over ${upstream}, ${stream ? 'streamed' : 'whole'}: the next turn can follow at once`, async () => {
        const model = `test/${upstream}`
        const first = await sendRequest(bench(), 'responses', { model, input: 'My name is Ada.', stream })
        const id = stream ? /"id":"(resp_\w+)"/.exec(await first.text())?.[1] : (await readJson(first)).id
        const second = await sendRequest(bench(), 'responses', {
          model,
          input: 'Who am I?',
          previous_response_id: id,
        })
        expect(second.status).toBe(200)
        expect((await readJson(second)).previous_response_id).toBe(id)
        const sent = JSON.stringify(lastRequest(bench().first.requests).json)
        expect(sent).toContain('My name is Ada.')
        expect(sent).toContain('Schneefall')
        expect(sent.indexOf('My name is Ada.')).toBeLessThan(sent.indexOf('Who am I?'))
        expect(sent).not.toContain('previous_response_id')
      })
    }
  }

  test('items without an id are replayed without one: vendors reject unknown ids', async () => {
    const tool = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'sunny' }
    const call = { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{}' }
    const input = [{ role: 'user', content: 'Weather?' }, call, output]
    const model = 'test/responses'
    const first = await readJson(sendRequest(bench(), 'responses', { model, tools: [tool], input }))
    await sendRequest(bench(), 'responses', {
      model,
      tools: [tool],
      input: 'And?',
      previous_response_id: first.id,
    })
    const sent = lastRequest(bench().first.requests).json.input
    expect(sent.slice(0, 3)).toEqual(input)
  })

  test('three turns are replayed in order', async () => {
    let previous: string | undefined
    for (const input of ['one', 'two', 'three']) {
      const body = { model: 'test/chat', input, previous_response_id: previous }
      previous = (await readJson(sendRequest(bench(), 'responses', body))).id
    }
    const { messages } = lastRequest(bench().first.requests).json
    expect(
      messages.filter((m: { role: string }) => m.role === 'user').map((m: { content: unknown }) => m.content),
    ).toEqual(['one', 'two', 'three'])
  })

  describe('one response', () => {
    const make = async (extra: object = {}) =>
      readJson(sendRequest(bench(), 'responses', { model: 'test/chat', ...extra }))

    test('is read back as it was sent, with its input', async () => {
      const made = await make({ input: 'Remember this.' })
      expect((await call('GET', `/responses/${made.id}`)).body).toEqual(made)
      const items = (await call('GET', `/responses/${made.id}/input_items`)).body
      expect(items.data[0].content).toEqual([{ type: 'input_text', text: 'Remember this.' }])
    })

    test('cannot be read or continued once deleted', async () => {
      const made = await make()
      const next = await make({ previous_response_id: made.id })
      expect((await call('DELETE', `/responses/${made.id}`)).body.deleted).toBe(true)
      expect((await call('GET', `/responses/${made.id}`)).status).toBe(404)
      const body = { model: 'test/chat', previous_response_id: next.id }
      expect((await sendRequest(bench(), 'responses', body)).status).toBe(404)
    })

    test('is not stored with store: false', async () => {
      const made = await make({ store: false })
      expect(made.store).toBe(false)
      expect((await call('GET', `/responses/${made.id}`)).status).toBe(404)
    })

    test('R34 I9 does not exist for another organization', async () => {
      const made = await make()
      const { inferenceKey } = bench().server.foreign
      expect((await call('GET', `/responses/${made.id}`, inferenceKey)).status).toBe(404)
      expect((await call('DELETE', `/responses/${made.id}`, inferenceKey)).status).toBe(404)
      const body = { model: 'sandbox/echo:free', previous_response_id: made.id }
      expect((await sendRequest(bench(), 'responses', body, { key: inferenceKey })).status).toBe(404)
    })

    test('R34 expires', async () => {
      const made = await make()
      bench().server.clock.advance(31 * 24 * 60 * 60_000)
      expect((await call('GET', `/responses/${made.id}`)).status).toBe(404)
      bench().server.clock.release()
    })

    test('its items can be referenced by id', async () => {
      const made = await make({ input: 'A fact to refer to.' })
      const items = (await call('GET', `/responses/${made.id}/input_items`)).body
      const input = [
        { type: 'item_reference', id: items.data[0].id },
        { role: 'user', content: 'And?' },
      ]
      expect((await sendRequest(bench(), 'responses', { model: 'test/chat', input })).status).toBe(200)
      expect(JSON.stringify(lastRequest(bench().first.requests).json)).toContain('A fact to refer to.')
      const unknown = [{ type: 'item_reference', id: 'msg_nobody' }]
      expect((await sendRequest(bench(), 'responses', { model: 'test/chat', input: unknown })).status).toBe(
        400,
      )
    })

    test('S12 is encrypted in the database', async () => {
      const made = await make({ input: 'canary-in-the-prompt' })
      const rows = await bench().server.gateway.db.selectFrom('stored_pages').selectAll().execute()
      expect(rows.filter((row) => row.response_id === made.id).length).toBeGreaterThan(0)
      expect(JSON.stringify(rows)).not.toContain('canary')
    })
  })
})
