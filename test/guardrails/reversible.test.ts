import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import {
  describeWithUpstreams,
  lastRequest,
  readJson,
  waitForGenerations,
} from '../inference/two-upstreams.ts'
import { type Scenario, scenarios } from '../support/replies/scenario.ts'
import { textWireFormats, vendorReplies } from '../support/replies.ts'
import { setKeyGuardrail } from './support.ts'

const ada = 'ada.lovelace@example.org'
const bob = 'bob@example.org'
const project = 'project "x" 7'
const prompt = `${ada} writes to ${bob} about ${project}, and to ${ada}. What is [EMAIL_1]?`
const sent = '[EMAIL_2] writes to [EMAIL_3] about [PROJECT_1], and to [EMAIL_2]. What is [EMAIL_1]?'

const parameters = { type: 'object' }
const functionTool = { type: 'function', function: { name: 'get_weather', parameters } }

/** The prompt in each format of clients. */
const clients = [
  {
    name: 'chat',
    path: () => '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: prompt }], tools: [functionTool] },
  },
  {
    name: 'messages',
    path: () => '/v1/messages',
    body: {
      max_tokens: 2000,
      messages: [{ role: 'user', content: prompt }],
      tools: [{ name: 'get_weather', input_schema: parameters }],
    },
  },
  {
    name: 'responses',
    path: () => '/v1/responses',
    body: { input: prompt, tools: [{ type: 'function', name: 'get_weather', parameters }] },
  },
  {
    name: 'gemini',
    path: (model: string, stream: boolean) =>
      `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: {
      contents: [{ role: 'user', parts: [{ text: prompt }] }],
      tools: [{ functionDeclarations: [{ name: 'get_weather' }] }],
    },
  },
]
const cases = clients.flatMap((client) => textWireFormats.map((upstream) => ({ ...client, upstream })))

const answer = 'I write to [EMAIL_2], not to [EMAIL_1], about [PROJECT_1].'
const restoredAnswer = `I write to ${ada}, not to [EMAIL_1], about ${project}.`
const scenario: Scenario = {
  ...scenarios.toolCalls,
  text: answer,
  toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: '{"to":"[EMAIL_3]","subject":"[PROJECT_1]"}' }],
}

/** The texts of a reply of any format, without the frames between their pieces. */
function joinStrings(received: string, names: readonly string[]): string {
  const texts: string[] = []
  const visit = (value: unknown, name: string): void => {
    if (typeof value === 'string' && names.includes(name)) texts.push(value)
    else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) visit(inner, Array.isArray(value) ? name : key)
  }
  const frames = received.startsWith('{') ? [received] : received.split('\n').map((line) => line.slice(6))
  for (const frame of frames) if (frame.startsWith('{')) visit(JSON.parse(frame), '')
  return texts.join('')
}

describeWithUpstreams('reversible filters', (bench, kind) => {
  const filters = {
    content_filter_builtins: [{ slug: 'email', action: 'redact', reversible: true }],
    content_filters: [
      { pattern: 'project "x" [0-9]+', action: 'redact', label: '[PROJECT]', reversible: true },
    ],
  }
  const call = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(bench().server.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bench().server.own.inferenceKey}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
    })
  beforeAll(() => setKeyGuardrail(bench().server, filters))
  beforeEach(async () => {
    await bench().server.gateway.db.deleteFrom('generations').execute()
  })
  afterEach(() => setKeyGuardrail(bench().server, filters))

  // Formats do not depend on the database.
  const tested = kind === 'sqlite' ? cases : cases.slice(0, 1)

  describe.each(tested)('$name client, $upstream upstream', ({ name, path, body, upstream }) => {
    test.each([false, true])('R35 the values are only in the reply (streamed: %p)', async (stream) => {
      const { frames, body: json } = vendorReplies[upstream](scenario)
      bench().first.enqueue(stream ? { sse: frames, splitBytes: 7 } : { json })
      const model = `test/${upstream}`
      const request = name === 'gemini' ? body : { ...body, model, stream }
      const response = await call(path(model, stream), request)
      const received = await response.text()
      expect(response.status).toBe(200)
      const { text } = lastRequest(bench().first.requests)
      expect(text).toContain(sent)
      for (const value of [ada, bob, 'project \\"x']) expect(text).not.toContain(value)
      const said = joinStrings(received, ['content', 'text', 'delta', 'output_text'])
      expect(said).toContain(restoredAnswer)
      expect(received).not.toContain('[EMAIL_3]')
      const called = joinStrings(received, ['arguments', 'partial_json', 'delta', 'to', 'subject'])
      expect(called).toContain(bob)
      expect(called).toMatch(/project \\?"x\\?" 7/)
    })
  })

  test('values are told apart by what the client sent, on every turn', async () => {
    const reply = (text: string) => {
      bench().first.enqueue({ json: vendorReplies.chat({ ...scenarios.text, text }).body })
    }
    const messages = [{ role: 'user', content: `Mail ${ada}` }]
    reply('Mailed [EMAIL_1]')
    const first = await readJson(call('/v1/chat/completions', { model: 'test/chat', messages }))
    const { content } = first.choices[0].message
    expect(content).toBe(`Mailed ${ada}`)
    const next = [...messages, { role: 'assistant', content }, { role: 'user', content: `And ${bob}` }]
    reply('Done')
    await call('/v1/chat/completions', { model: 'test/chat', messages: next })
    expect(lastRequest(bench().first.requests).json.messages).toEqual([
      { role: 'user', content: 'Mail [EMAIL_1]' },
      { role: 'assistant', content: 'Mailed [EMAIL_1]' },
      { role: 'user', content: 'And [EMAIL_2]' },
    ])
  })

  test('a cached reply has the values of the request that it answers', async () => {
    const ask = async (who: string) => {
      const body = { model: 'test/chat', messages: [{ role: 'user', content: `Cached mail of ${who}` }] }
      const response = await call('/v1/chat/completions', body, { 'x-service-cache': 'true' })
      const { choices } = await readJson(response)
      return [response.headers.get('x-service-cache-status'), choices[0].message.content]
    }
    bench().first.enqueue({
      json: vendorReplies.chat({ ...scenarios.text, text: 'It is of [EMAIL_1].' }).body,
    })
    expect(await ask(ada)).toEqual(['MISS', `It is of ${ada}.`])
    await waitForGenerations(bench(), 1)
    expect(await ask(bob)).toEqual(['HIT', `It is of ${bob}.`])
    expect(JSON.stringify(bench().first.requests.map(({ text }) => text))).not.toContain(ada)
  })

  test('the content log has placeholders on both sides', async () => {
    const { server } = bench()
    const path = `/workspaces/${server.own.workspace.id}`
    await server.call('PATCH', path, { body: { is_observability_io_logging_enabled: true } })
    bench().first.enqueue({ json: vendorReplies.chat(scenario).body })
    await call('/v1/chat/completions', { model: 'test/chat', ...clients[0]?.body })
    const [row] = await waitForGenerations(bench(), 1)
    await server.gateway.ledger.flush()
    const { body } = await server.call('GET', `/generation/content?id=${row?.id}`)
    const logged = JSON.stringify(body)
    expect(logged).toContain('[EMAIL_2] writes to [EMAIL_3]')
    expect(logged).toContain('I write to [EMAIL_2]')
    for (const value of [ada, bob]) expect(logged).not.toContain(value)
    await server.call('PATCH', path, { body: { is_observability_io_logging_enabled: false } })
  })

  test('the names of end users get the label', async () => {
    const messages = [{ role: 'user', content: 'Hello' }]
    await call('/v1/chat/completions', { model: 'test/chat', user: ada, messages })
    expect(lastRequest(bench().first.requests).json.user).toBe('[EMAIL]')
  })

  test('a filter that is not reversible elsewhere wins', async () => {
    await setKeyGuardrail(bench().server, {
      content_filter_builtins: [
        { slug: 'email', action: 'redact', reversible: true },
        { slug: 'secrets', action: 'redact' },
      ],
      content_filters: [{ pattern: 'to ada[^ ]*', action: 'redact', label: '[ADA]' }],
    })
    const messages = [{ role: 'user', content: `Write to ${ada} and ${bob}` }]
    await call('/v1/chat/completions', { model: 'test/chat', messages })
    expect(lastRequest(bench().first.requests).json.messages[0].content).toBe('Write [ADA] and [EMAIL_1]')
  })

  test('a preview shows the placeholders', async () => {
    const request = { model: 'test/chat', messages: [{ role: 'user', content: `${ada}, ${bob}, ${ada}` }] }
    const { body } = await bench().server.call('POST', '/guardrails/preview', {
      body: { guardrail: { content_filter_builtins: filters.content_filter_builtins }, request },
    })
    expect(body.data.redacted_request.messages[0].content).toBe('[EMAIL_1], [EMAIL_2], [EMAIL_1]')
  })

  test.each([
    [{ slug: 'email', action: 'block', reversible: true }],
    [{ slug: 'email', action: 'flag', reversible: true }],
    [{ slug: 'email', action: 'redact', scope: 'output', reversible: true }],
    [{ slug: 'regex-prompt-injection', action: 'redact', reversible: true }],
  ])('R12 400 naming the field: %o', async (filter) => {
    const { status, body } = await bench().server.call('POST', '/guardrails', {
      body: { name: 'Refused', content_filter_builtins: [filter] },
    })
    expect(status).toBe(400)
    expect(body.error.message).toStartWith('content_filter_builtins.0.reversible')
  })
})
