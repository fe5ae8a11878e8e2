import { beforeEach, describe, expect, test } from 'bun:test'
import { selectCases } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  formatNames,
  lastRequest,
  readJson,
  readPassingTime,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

const limits = 'limits: { idle: 15, first_byte: 10, heartbeat: 5, reply_bytes: 262144 }'
const upstreams = ['chat', 'messages', 'responses', 'gemini'] as const
const goodEnds = {
  chat: 'data: [DONE]',
  messages: 'event: message_stop',
  responses: 'event: response.completed',
}
const badEnds = {
  chat: '"finish_reason":"error"',
  messages: 'event: error',
  responses: 'event: response.failed',
}

describeWithUpstreams(
  'an upstream that',
  (bench, kind) => {
    beforeEach(() => clearGenerations(bench()))

    for (const upstream of selectCases(kind, upstreams)) {
      test(`${upstream}: keeps its connection open after the end has completed the reply`, async () => {
        bench().first.enqueue({ sse: vendorReply(upstream, 'text').frames, hang: true })
        const text = await readPassingTime(bench(), 'chat', { model: `test/${upstream}`, stream: true })
        expect(text).toContain(goodEnds.chat)
        const [row] = await waitForGenerations(bench(), 1)
        expect(row).toMatchObject({ status: 'completed', usage_source: 'reported' })
      })
    }

    for (const upstream of selectCases(kind, upstreams)) {
      test(`${upstream}: sends a whole reply to a streamed request is streamed all the same`, async () => {
        bench().first.enqueue({ json: vendorReply(upstream, 'text').body })
        const text = await (
          await sendRequest(bench(), 'chat', { model: `test/${upstream}`, stream: true })
        ).text()
        expect(text).toContain('Schneefall')
        expect(text).toContain(goodEnds.chat)
      })
    }

    test('begins slowly with heartbeats is waited for', async () => {
      const frames = [
        ...Array.from({ length: 200 }, () => ': working\n\n'),
        ...vendorReply('chat', 'text').frames,
      ]
      bench().first.enqueue({ sse: frames, delayMs: 1 })
      const text = await readPassingTime(bench(), 'chat', { model: 'test/chat', stream: true })
      expect(text).toContain(goodEnds.chat)
    })

    const broken = {
      object: 'chat.completion.chunk',
      id: 'c',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
    }
    for (const format of selectCases(kind, formatNames)) {
      test(`R33 ends with an error is no clean end, in ${format}`, async () => {
        const frames = vendorReply('chat', 'text').frames.slice(0, 4)
        bench().first.enqueue({ sse: [...frames, `data: ${JSON.stringify(broken)}\n\n`, 'data: [DONE]\n\n'] })
        const text = await (await sendRequest(bench(), format, { model: 'test/chat', stream: true })).text()
        expect(text).toContain(badEnds[format])
        expect(text).not.toContain(goodEnds[format])
        const [row] = await waitForGenerations(bench(), 1)
        expect(row).toMatchObject({ status: 'failed', cost_nanos: 0n })
      })

      test(`R33 breaks off a whole reply is an error, in ${format}`, async () => {
        const choice = { index: 0, message: { role: 'assistant', content: 'half' }, finish_reason: 'error' }
        bench().first.enqueue({
          json: { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice] },
        })
        const response = await sendRequest(bench(), format, { model: 'test/chat' })
        const body = await readJson(response)
        if (format === 'chat') expect(body.choices[0].finish_reason).toBe('error')
        else expect([response.status, body.error.code]).toEqual([502, 502])
        expect((await waitForGenerations(bench(), 1)).map((row) => row.status)).toEqual(['failed'])
      })
    }

    test.each([
      ['absurd', { prompt_tokens: 9e15, completion_tokens: 9e15, total_tokens: 1 }],
      ['nonsense', { prompt_tokens: '12', completion_tokens: -4 }],
      ['empty', {}],
    ])('counts %s usage is not believed', async (_, usage) => {
      const { body } = vendorReply('chat', 'text')
      bench().first.enqueue({ json: { ...body, usage } })
      const response = await sendRequest(bench(), 'chat', { model: 'test/chat' })
      expect(response.status).toBe(200)
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'completed', usage_source: 'estimated' })
      expect(row?.cost_nanos).toBeGreaterThan(0n)
      expect(row?.cost_nanos).toBeLessThan(1_000_000_000n)
    })

    test('R4 reports one token at the start is charged for what it sent until the client disconnected', async () => {
      const { frames } = vendorReply('messages', 'text')
      bench().first.enqueue({ sse: frames.slice(0, -3), hang: true })
      const left = new AbortController()
      const response = await sendRequest(
        bench(),
        'messages',
        { model: 'test/messages', stream: true },
        { signal: left.signal },
      )
      const reader = response.body?.getReader()
      let text = ''
      while (!text.includes('eefall')) {
        const { done, value } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error('the stream ended')
        text += new TextDecoder().decode(value)
      }
      left.abort()
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'cancelled', usage_source: 'estimated' })
      expect(row?.tokens_output).toBeGreaterThan(5)
    })

    test('S12 echoes its API key, or sends a web page, is not quoted', async () => {
      bench().first.enqueue({ status: 400, json: { error: { message: 'bad key vendor-secret for you' } } })
      expect((await readJson(sendRequest(bench(), 'chat', { model: 'test/chat' }))).error.message).toBe(
        'bad key *** for you',
      )
      bench().first.enqueue({ status: 500, text: '<html><body>secret internals</body></html>' })
      expect(
        JSON.stringify(await readJson(sendRequest(bench(), 'chat', { model: 'test/chat' }))),
      ).not.toContain('internals')
    })
  },
  limits,
)

describeWithUpstreams('a client that', (bench) => {
  beforeEach(() => clearGenerations(bench()))

  test('I2 gives an item an invalid id is charged all the same', async () => {
    for (const id of ['a\0b', 'x'.repeat(50_000)]) {
      const input = [{ role: 'user', content: 'hi', id }]
      const response = await sendRequest(bench(), 'responses', { model: 'test/chat', input, stream: true })
      expect(await response.text()).toContain(goodEnds.responses)
    }
    expect(await waitForGenerations(bench(), 2)).toHaveLength(2)
  })

  test.each([
    ['previous_response_id', { previous_response_id: 'resp_\0' }, 404],
    ['an item reference', { input: [{ type: 'item_reference', id: '\0' }] }, 400],
    ['a preset', { model: '@preset/\0' }, 404],
    ['a conversation', { conversation: 'conv_\0' }, 404],
    ['the form of a conversation', { conversation: { name: 'x' } }, 400],
  ])('sends an invalid %s gets an error', async (_, body, status) => {
    expect((await sendRequest(bench(), 'responses', { model: 'test/chat', ...body })).status).toBe(status)
  })

  test('references stored items on the chat path is pointed to the right path', async () => {
    for (const body of [
      { previous_response_id: 'resp_1', input: 'x' },
      { input: [{ type: 'item_reference', id: 'm' }] },
    ]) {
      const response = await sendRequest(bench(), 'chat', {
        model: 'test/chat',
        messages: undefined,
        ...body,
      })
      expect(response.status).toBe(400)
    }
  })

  test('allows no fallbacks is served only by providers it lists', async () => {
    const provider = { order: ['unknown'], allow_fallbacks: false }
    expect((await sendRequest(bench(), 'chat', { model: 'test/both-chat', provider })).status).toBe(503)
    bench().first.enqueue({ status: 500, json: {} })
    const listed = { order: ['one-chat', 'unknown'], allow_fallbacks: false }
    expect((await sendRequest(bench(), 'chat', { model: 'test/both-chat', provider: listed })).status).toBe(
      502,
    )
    expect(bench().second.requests).toEqual([])
  })

  test('sends a long body with a conversation loses nothing of it', async () => {
    const long = 'word '.repeat(8000)
    const first = await readJson(
      sendRequest(bench(), 'responses', { model: 'test/responses', input: 'My name is Ada.' }),
    )
    const body = { model: 'test/responses', input: long, previous_response_id: first.id, store: null }
    expect((await sendRequest(bench(), 'responses', body)).status).toBe(200)
    const { json, text } = lastRequest(bench().first.requests)
    expect(text).toContain('My name is Ada.')
    expect(json.store).toBe(false)
  })

  test('S13 lists too many providers, or too many suffixes, is not echoed at length', async () => {
    const names = Array.from({ length: 1001 }, (_, index) => `p${index}`)
    for (const field of ['order', 'only', 'ignore']) {
      const rejected = await sendRequest(bench(), 'chat', {
        model: 'test/chat',
        provider: { [field]: names },
      })
      expect(rejected.status).toBe(400)
      expect((await readJson(rejected)).error.message).toStartWith(`provider.${field}:`)
    }
    bench().first.enqueue({ json: vendorReply('chat', 'text').body })
    const model = `test/chat${':nitro'.repeat(1000)}`
    const response = await sendRequest(
      bench(),
      'chat',
      { model },
      { headers: { 'x-service-metadata': 'enabled' } },
    )
    expect((await readJson(response)).service_metadata.params.variants).toEqual(['nitro'])
  })

  test('sends thousands of unknown fields gets headers it can read', async () => {
    const fields = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`field_number_${i}`, 1]))
    const response = await sendRequest(bench(), 'chat', { model: 'test/messages', ...fields })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-headgate-dropped')?.length).toBeLessThan(2100)
  })

  describe('uses a preset', () => {
    const preset = {
      model: 'test/chat',
      temperature: 0.25,
      messages: [{ role: 'system', content: 'Be brief.' }],
    }
    beforeEach(() => bench().server.call('POST', '/presets/brief/chat/completions', { body: preset }))
    const send = (path: string, body: object) =>
      fetch(bench().server.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${bench().server.own.inferenceKey}` },
        body: JSON.stringify(body),
      })

    test('in the completions format has it before its prompt', async () => {
      await send('/v1/completions', { model: '@preset/brief', prompt: 'Hello' })
      expect(JSON.stringify(lastRequest(bench().first.requests).json.messages)).toContain(
        'Be brief.\\n\\nHello',
      )
    })
    test('in a Responses body on the chat path has it as instructions', async () => {
      await send('/v1/chat/completions', { model: '@preset/brief', input: 'Hello' })
      expect(lastRequest(bench().first.requests).json.messages[0]).toMatchObject({
        role: 'system',
        content: 'Be brief.',
      })
    })
    test('in the Gemini format has it as system instruction', async () => {
      const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]
      const path = '/v1beta/models/test/gemini@preset%2Fbrief:generateContent'
      expect((await send(path, { contents })).status).toBe(200)
      expect(lastRequest(bench().first.requests).json).toMatchObject({
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        generationConfig: { temperature: 0.25 },
      })
    })
  })
})
