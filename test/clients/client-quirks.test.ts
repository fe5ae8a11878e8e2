import { describe, expect, test } from 'bun:test'
import { modelOf, prompt, scenarios, useLab, weatherParameters } from './lab.ts'
import {
  chatBody,
  events,
  json,
  messagesBody,
  responsesBody,
  type SendOptions,
  send as sendTo,
} from './raw-http.ts'

// Requests that no library here sends, as programs were seen to send them.
const lab = useLab()

const send = (path: string, options?: SendOptions) => sendTo(lab(), path, options)

describe('base URLs as people configure them', () => {
  const bases = ['', '/v1', '/api/v1', '/v1/v1', '/api', '/api/v1/v1']

  test.each(bases)('chat, responses, messages and models under "%s"', async (base) => {
    expect((await json(send(`${base}/chat/completions`, { body: chatBody }))).choices).toHaveLength(1)
    expect((await json(send(`${base}/responses`, { body: responsesBody }))).status).toBe('completed')
    expect((await json(send(`${base}/messages`, { body: messagesBody }))).type).toBe('message')
    expect((await json(send(`${base}/models`))).data).not.toEqual([])
  })

  test.each(['/anthropic', '/anthropic/v1'])('messages and counting under "%s"', async (base) => {
    expect((await json(send(`${base}/messages`, { body: messagesBody }))).type).toBe('message')
    expect(
      (await json(send(`${base}/messages/count_tokens`, { body: messagesBody }))).input_tokens,
    ).toBeGreaterThan(0)
  })

  test('a trailing slash and any query string do no harm', async () => {
    expect((await json(send('/v1/chat/completions/', { body: chatBody }))).object).toBe('chat.completion')
    expect((await json(send('/v1/chat/completions?api-version=2024-10-21', { body: chatBody }))).object).toBe(
      'chat.completion',
    )
    expect((await json(send('/v1/messages?beta=true', { body: messagesBody }))).type).toBe('message')
    expect((await json(send('/v1/responses?trace=1', { body: responsesBody }))).object).toBe('response')
    expect((await json(send('/v1/models?limit=1000'))).data).not.toEqual([])
  })

  test('one list of models serves every client', async () => {
    const { models, ...list } = await json(send('/v1/models?client_version=0.166.0'))
    expect(list).toMatchObject({ object: 'list', has_more: false, first_id: expect.any(String) })
    const own = list.data.find(({ id }: { id: string }) => id === 'lab/chat')
    expect(own).toMatchObject({
      object: 'model',
      type: 'model',
      created: expect.any(Number),
      created_at: expect.any(String),
      display_name: 'Lab chat',
      description: expect.any(String),
      context_length: 200_000,
    })
    expect(models.find(({ slug }: { slug: string }) => slug === 'lab/chat')).toMatchObject({
      display_name: 'Lab chat',
      visibility: 'list',
      supported_in_api: true,
      context_window: 200_000,
    })
    expect((await send('/v1/models', { method: 'HEAD' })).status).toBe(200)
  })

  test.each(['/', '/api/hello', '/v1', '/v1/chat/completions', '/v1/messages', '/nothing/here'])(
    'HEAD %s returns 200',
    async (path) => {
      expect((await send(path, { method: 'HEAD', key: null })).status).toBe(200)
    },
  )
})

describe('where clients put their key', () => {
  test.each(['x-api-key', 'api-key', 'x-goog-api-key'])('the header %s', async (header) => {
    const options = { body: chatBody, key: null, headers: { [header]: lab().key } }
    expect((await send('/v1/chat/completions', options)).status).toBe(200)
  })

  test('a Bearer that is not valid is rejected even with a valid x-api-key, and a valid one is enough', async () => {
    const wrong = { body: messagesBody, key: 'sk-ant-of-another', headers: { 'x-api-key': lab().key } }
    expect((await send('/v1/messages', wrong)).status).toBe(401)
    const right = { body: messagesBody, headers: { 'x-api-key': 'sk-ant-of-another' } }
    expect((await send('/v1/messages', right)).status).toBe(200)
  })

  test('a missing key is a 401 in the format of the route', async () => {
    const chat = await send('/v1/chat/completions', { body: chatBody, key: null })
    expect(chat.status).toBe(401)
    expect(await chat.json()).toMatchObject({ error: { code: 401, type: 'authentication_error' } })
    const messages = await send('/v1/messages', { body: messagesBody, key: null })
    expect(messages.status).toBe(401)
    expect(messages.headers.get('x-should-retry')).toBe('false')
    expect(await messages.json()).toMatchObject({ type: 'error', error: { type: 'authentication_error' } })
  })
})

describe('an editor that sends Responses bodies to the chat path', () => {
  const body = {
    model: modelOf('messages'),
    stream: true,
    stream_options: { include_usage: true },
    input: [
      { role: 'system', content: 'You edit code.' },
      { role: 'user', content: [{ type: 'input_text', text: prompt }] },
    ],
    tools: [
      {
        type: 'function',
        name: 'get_weather',
        description: 'Weather',
        parameters: weatherParameters,
        strict: false,
      },
      { type: 'custom', name: 'apply_patch', description: 'Edits files', format: { type: 'text' } },
    ],
    tool_choice: 'auto',
    store: false,
    reasoning: { effort: 'medium' },
    prompt_cache_retention: '24h',
    metadata: { cursorConversationId: 'x' },
  }

  test('the response has chat chunks', async () => {
    const data = await events(await send('/v1/chat/completions', { body }))
    expect(data.at(-1)).toBe('[DONE]')
    const chunks = data.slice(0, -1).map((text) => JSON.parse(text))
    expect(chunks.every((chunk) => chunk.object === 'chat.completion.chunk')).toBe(true)
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
    expect(text).toBe(scenarios.text.text)
    expect(chunks.at(-1).usage.total_tokens).toBe(128)
    const names = lab()
      .lastRequest()
      .json.tools.map((tool: { name: string }) => tool.name)
    expect(names).toEqual(['get_weather', 'apply_patch'])
  })

  test('without a stream it is a chat completion', async () => {
    const { stream, stream_options, ...whole } = body
    const reply = await json(send('/v1/chat/completions', { body: whole }))
    expect(reply.object).toBe('chat.completion')
    expect(reply.choices[0].message.content).toBe(scenarios.text.text)
  })
})

describe('bodies that are not quite what the format says', () => {
  const pixel =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=='

  test.each(['chat', 'messages', 'responses', 'gemini'] as const)(
    'image_url as a plain string reaches an upstream of format %s',
    async (wireFormat) => {
      const content = [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: pixel },
      ]
      const body = { model: modelOf(wireFormat), messages: [{ role: 'user', content }] }
      expect((await send('/v1/chat/completions', { body })).status).toBe(200)
      expect(lab().lastRequest().text).toContain(pixel.slice(pixel.indexOf(',') + 1))
    },
  )

  test.each(['chat', 'messages', 'responses', 'gemini'] as const)(
    'unknown fields are accepted, whatever the upstream (%s)',
    async (wireFormat) => {
      const more = { brand_new_field: { deep: [1, 2] }, another: null }
      const model = modelOf(wireFormat)
      const bodies: [string, object][] = [
        ['/v1/chat/completions', { ...chatBody, ...more, model }],
        ['/v1/messages', { ...messagesBody, ...more, model }],
        ['/v1/responses', { ...responsesBody, ...more, model }],
        [
          `/v1beta/models/${model}:generateContent`,
          { contents: [{ parts: [{ text: 'Hi' }] }], brandNewField: 1 },
        ],
      ]
      for (const [path, body] of bodies)
        expect([path, (await send(path, { body })).status]).toEqual([path, 200])
    },
  )

  test('penalties, stop words and the like are not rejected where the upstream has none', async () => {
    const more = {
      user: 'u',
      stop: ['x'],
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      logit_bias: {},
      seed: 7,
      top_p: 0.9,
    }
    expect(
      (await send('/v1/chat/completions', { body: { ...chatBody, ...more, model: modelOf('messages') } }))
        .status,
    ).toBe(200)
  })

  test('the request of a coding agent passes, and is translated', async () => {
    const body = {
      model: modelOf('messages'),
      max_tokens: 32_000,
      stream: true,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'medium' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      metadata: { user_id: 'user_abc_account__session_1' },
      system: [
        { type: 'text', text: 'x-billing-header: v1' },
        { type: 'text', text: 'You write code.', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
      tools: [
        {
          name: 'Write',
          description: 'Writes',
          input_schema: { type: 'object', properties: {} },
          defer_loading: true,
        },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: prompt, cache_control: { type: 'ephemeral' } }] },
        { role: 'system', content: 'Be quick.' },
      ],
    }
    const headers = {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27',
      'x-claude-code-session-id': '7f1d3f0e',
      'x-app': 'cli',
    }
    for (const wireFormat of ['messages', 'chat', 'responses', 'gemini'] as const) {
      const options = { body: { ...body, model: modelOf(wireFormat) }, headers }
      const data = await events(await send('/v1/messages?beta=true', options))
      expect([wireFormat, JSON.parse(data.at(-1) ?? '{}').type]).toEqual([wireFormat, 'message_stop'])
      expect(lab().lastRequest().text).toContain('Be quick.')
    }
  })
})

describe('an upstream that is no known vendor', () => {
  const { signature } = scenarios.reasoningToolCall.reasoning
  const { id, name } = scenarios.reasoningToolCall.toolCalls[0]!

  test('gets its own signatures back from a client of its own format', async () => {
    lab().reply('messages', 'reasoningToolCall')
    const body = { ...messagesBody, model: 'lab/proxy' }
    const { content } = await json(send('/v1/messages', { body }))
    const result = { type: 'tool_result', tool_use_id: id, content: 'Snow' }
    const more = [
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ]
    await json(send('/v1/messages', { body: { ...body, messages: [...body.messages, ...more] } }))
    expect(lab().lastRequest().text).toContain(signature)
  })

  // A provider of headgate.yaml cannot say whose signatures it understands, and none are sent to it.
  test('gets its own signatures back from a client of another format', async () => {
    lab().reply('messages', 'reasoningToolCall')
    const body = { ...chatBody, model: 'lab/proxy' }
    const { choices } = await json(send('/v1/chat/completions', { body }))
    const more = [choices[0].message, { role: 'tool', tool_call_id: id, name, content: 'Snow' }]
    await json(send('/v1/chat/completions', { body: { ...body, messages: [...body.messages, ...more] } }))
    expect(lab().lastRequest().text).toContain(signature)
  })
})
