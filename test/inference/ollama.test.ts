import { expect, test } from 'bun:test'
import {
  clearGenerations,
  describeWithUpstreams,
  lastRequest,
  readJson,
  waitForGenerations,
} from './two-upstreams.ts'

const messages = [{ role: 'user', content: 'Hello' }]

describeWithUpstreams('requests in the format of Ollama', (bench) => {
  const server = () => bench().server
  const send = (path: string, body: object, key = server().own.inferenceKey, headers = {}) =>
    fetch(`${server().url}/api/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'test/chat', ...body }),
    })
  const chat = (body: object = {}, headers = {}) => send('chat', { messages, ...body }, undefined, headers)

  for (const [path, body, name] of [
    ['chat', { messages }, 'ollama-chat'],
    ['generate', { prompt: 'Hello' }, 'ollama-generate'],
  ] as const) {
    for (const stream of [true, false]) {
      test(`R11 I2 ${path}, stream ${stream}: charged once and recorded`, async () => {
        await clearGenerations(bench())
        const key = server().own.inferenceKey
        const used = async () => (await server().call('GET', '/key', { key })).body.data.usage
        const before = await used()
        const response = await send(path, { ...body, stream })
        const last = JSON.parse((await response.text()).trimEnd().split('\n').at(-1) ?? '')
        const [row, ...others] = await waitForGenerations(bench(), 1)
        expect(others).toEqual([])
        expect(row).toMatchObject({ dialect: name, streamed: stream ? 1 : 0, status: 'completed' })
        expect(last.usage.cost).toBeGreaterThan(0)
        expect((await used()) - before).toBeCloseTo(last.usage.cost, 9)
        expect(Number(row?.cost_nanos) / 1e9).toBeCloseTo(last.usage.cost, 9)
      })
    }
  }

  test('402 without credits, before any provider is called', async () => {
    const before = bench().first.requests.length
    for (const [path, body] of [
      ['chat', { messages }],
      ['generate', { prompt: 'Hello' }],
    ] as const) {
      const rejected = await send(path, body, server().foreign.inferenceKey)
      expect(rejected.status).toBe(402)
      expect(await rejected.json()).toMatchObject({ error: expect.any(String), type: 'billing_error' })
    }
    expect(bench().first.requests).toHaveLength(before)
  })

  test('403 by a guardrail', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'guarded' } })
    const guardrail = await server().call('POST', '/guardrails', {
      body: { name: 'not this provider', ignored_providers: ['one-chat'] },
    })
    const { id } = guardrail.body.data
    const body = { key_hashes: [made.body.data.hash] }
    await server().call('POST', `/guardrails/${id}/assignments/keys`, { body })
    expect((await send('chat', { messages }, made.body.key)).status).toBe(403)
  })

  test('R31 dropped fields are named, and rejected in strict mode', async () => {
    const options = { mirostat: 1, num_ctx: 4096 }
    const dropped = await chat({ options, stream: false })
    expect(dropped.headers.get('x-headgate-dropped')).toBe('options.mirostat')
    const rejected = await chat({ options, stream: false }, { 'x-headgate-strict': 'true' })
    expect(rejected.status).toBe(400)
  })

  test('a preset fills in what the request omits', async () => {
    await server().call('POST', '/presets/terse/chat/completions', {
      body: {
        model: 'test/chat',
        temperature: 0.1,
        top_p: 0.5,
        messages: [{ role: 'system', content: 'Be terse.' }],
      },
    })
    await chat({ model: '@preset/terse', options: { temperature: 0.9 }, stream: false })
    expect(lastRequest(bench().first.requests).json).toMatchObject({
      temperature: 0.9,
      top_p: 0.5,
      messages: [{ role: 'system', content: 'Be terse.' }, messages[0]],
    })
    await send('generate', { model: '@preset/terse', prompt: 'Hello', stream: false })
    expect(lastRequest(bench().first.requests).json.messages).toEqual([
      { role: 'system', content: 'Be terse.' },
      messages[0],
    ])
  })

  test('R36 a cached reply has the same format, streamed too', async () => {
    const cached = { 'x-service-cache': 'true' }
    const first = await (await chat({}, cached)).text()
    const before = bench().first.requests.length
    const second = await chat({}, cached)
    expect(second.headers.get('content-type')).toBe('application/x-ndjson')
    const contentOf = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).message.content)
        .join('')
    expect(contentOf(await second.text())).toBe(contentOf(first))
    expect(bench().first.requests).toHaveLength(before)
  })

  test.each([
    [{ model: '' }, 'model'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages'],
    [{ format: 7 }, 'format'],
    [{ think: 'hard' }, 'think'],
    [{ options: { temperature: 'hot' } }, 'options.temperature'],
  ])('400 for %j names the field', async (body, field) => {
    const rejected = await chat(body)
    expect(rejected.status).toBe(400)
    expect((await readJson(rejected)).error).toStartWith(field)
  })
})
