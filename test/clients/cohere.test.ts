import { describe, expect, test } from 'bun:test'
import { type Cohere, CohereClientV2, CohereError } from 'cohere-ai'
import {
  argumentsOf,
  messages,
  modelOf,
  rejection,
  scenarios,
  textWireFormats,
  useLab,
  weatherIn,
  weatherTool,
} from './lab.ts'
import { send } from './raw-http.ts'

const lab = useLab()

const client = (token = lab().key) =>
  new CohereClientV2({ token, environment: lab().url, maxRetries: 0 } as CohereClientV2.Options)
const tools = [weatherTool] as unknown as Cohere.ToolV2[]

type StreamEvent = Cohere.V2ChatStreamResponse

async function stream(request: Cohere.V2ChatStreamRequest): Promise<StreamEvent[]> {
  const events: StreamEvent[] = []
  for await (const event of await client().chatStream(request)) events.push(event)
  return events
}

function joinText(events: readonly StreamEvent[]): string {
  const deltas = events.map((event) =>
    event.type === 'content-delta' ? (event.delta?.message?.content?.text ?? '') : '',
  )
  return deltas.join('')
}

function joinCalls(events: readonly StreamEvent[]): { id: string; name: string; arguments: string }[] {
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const event of events) {
    if (event.type === 'tool-call-start') {
      const call = event.delta?.message?.toolCalls
      calls[event.index ?? 0] = { id: call?.id ?? '', name: call?.function?.name ?? '', arguments: '' }
    }
    const call = event.type === 'tool-call-delta' ? calls[event.index ?? 0] : undefined
    if (call && event.type === 'tool-call-delta')
      call.arguments += event.delta?.message?.toolCalls?.function?.arguments ?? ''
  }
  return calls
}

describe.each(textWireFormats)('the Cohere client over an upstream of format %s', (wireFormat) => {
  const model = modelOf(wireFormat)

  test('R11 chat, whole, and charged', async () => {
    const before = await lab().spent()
    const reply = await client().chat({ model, messages, maxTokens: 77, p: 0.5, stopSequences: ['END'] })
    expect(reply.message.content).toEqual([{ type: 'text', text: scenarios.text.text }])
    expect(reply).toMatchObject({ finishReason: 'COMPLETE', id: expect.stringMatching(/^gen-/) })
    expect(reply.usage?.billedUnits).toMatchObject({ inputTokens: 87, outputTokens: 41 })
    expect(lab().lastRequest().text).toContain('77')
    // Its format has no stop sequences.
    if (wireFormat !== 'responses') expect(lab().lastRequest().text).toContain('END')
    expect(await lab().spent()).toBeGreaterThan(before)
  })

  test('chat, streamed', async () => {
    const events = await stream({ model, messages })
    const types = events.map(({ type }) => type)
    expect(types.slice(0, 3)).toEqual(['message-start', 'content-start', 'content-delta'])
    expect(types.slice(-2)).toEqual(['content-end', 'message-end'])
    expect(joinText(events)).toBe(scenarios.text.text)
    expect(events.at(-1)).toMatchObject({
      delta: { finishReason: 'COMPLETE', usage: { tokens: { inputTokens: 87, outputTokens: 41 } } },
    })
  })

  test.each([false, true])('tools make the round trip, streamed: %p', async (isStreamed) => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const calls = isStreamed
      ? joinCalls(await stream({ model, messages, tools, toolChoice: 'REQUIRED' }))
      : ((await client().chat({ model, messages, tools })).message.toolCalls ?? []).map((call) => ({
          id: call.id,
          name: call.function?.name ?? '',
          arguments: call.function?.arguments ?? '',
        }))
    expect(calls.map((call) => JSON.parse(call.arguments))).toEqual(argumentsOf('toolCalls'))
    const cities = calls.map((call) => String(JSON.parse(call.arguments).city))
    const toolCalls = calls.map(({ id, ...called }) => ({ id, type: 'function' as const, function: called }))
    const results = calls.map(({ id }, index) => ({
      role: 'tool' as const,
      toolCallId: id,
      content: [
        { type: 'document' as const, document: { data: { weather: weatherIn(cities[index] ?? '') } } },
      ],
    }))
    const final = await client().chat({
      model,
      tools,
      messages: [...messages, { role: 'assistant', toolPlan: 'I will look it up.', toolCalls }, ...results],
    })
    expect(final.message.content).toEqual([{ type: 'text', text: scenarios.text.text }])
    const sent = lab().lastRequest().text
    for (const city of cities) expect(sent).toContain(weatherIn(city))
    expect(sent).toContain('I will look it up.')
  })

  test('documents and schemas reach the model', async () => {
    await client().chat({
      model,
      messages,
      documents: ['The first document.', { id: 'doc-2', data: { text: 'The second document.' } }],
      responseFormat: {
        type: 'json_object',
        jsonSchema: { type: 'object', properties: { color: { type: 'string' } } },
      },
    })
    const sent = lab().lastRequest().text
    for (const part of ['The first document.', 'The second document.', 'color']) expect(sent).toContain(part)
  })
})

test('thinking is a content of its own', async () => {
  lab().reply('messages', 'reasoning', 'reasoning')
  const model = modelOf('messages')
  const { message } = await client().chat({
    model,
    messages,
    thinking: { type: 'enabled', tokenBudget: 2000 },
  })
  const [first, second] = message.content ?? []
  expect(first).toMatchObject({ type: 'thinking', thinking: expect.stringMatching(/./) })
  expect(second).toMatchObject({ type: 'text' })
  const events = await stream({ model, messages })
  const started = events.filter((event) => event.type === 'content-start')
  expect(started.map(({ index }) => index)).toEqual([0, 1])
  expect(started[0]?.delta?.message?.content?.type).toBe('thinking')
})

test('R33 a stream that breaks off ends with an error', async () => {
  lab().next.push({ sse: ['data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n'] })
  const events = await stream({ model: modelOf('chat'), messages })
  expect(joinText(events)).toBe('Half')
  expect(events.at(-1)).toMatchObject({
    type: 'message-end',
    delta: { finishReason: 'ERROR', error: expect.stringMatching(/./) },
  })
})

test('heartbeats of a quiet stream are no events', async () => {
  lab().replySlowly('chat')
  expect(joinText(await stream({ model: modelOf('chat'), messages }))).toBe(scenarios.text.text)
}, 15_000)

describe('embeddings and reranking', () => {
  const model = 'sandbox/embedder'
  const texts = ['The cat sat on the mat', 'A cat sits on a mat']

  test('R11 texts, in the requested type and length, and charged', async () => {
    const before = await lab().spent()
    const inputType = 'search_document'
    const float = await client().embed({ model, texts, inputType, outputDimension: 8 })
    expect(float.embeddings.float?.map((vector) => vector.length)).toEqual([8, 8])
    expect(float).toMatchObject({ texts, meta: { billedUnits: { inputTokens: 11 } } })
    expect(await lab().spent()).toBeGreaterThan(before)
    const packed = await client().embed({
      ...{ model, texts, inputType, outputDimension: 8 },
      embeddingTypes: ['base64'],
    })
    expect(Buffer.from(packed.embeddings.base64?.[0] ?? '', 'base64')).toHaveLength(32)
  })

  test('images, alone and with text', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo='
    const image = await client().embed({ model, images: [url], inputType: 'image' })
    expect(image.embeddings.float).toHaveLength(1)
    expect(image.meta?.billedUnits?.imageTokens).toBe(256)
    const content: Cohere.EmbedContent[] = [
      { type: 'text', text: 'A cat' },
      { type: 'image_url', imageUrl: { url } },
    ]
    const mixed = await client().embed({ model, inputs: [{ content }], inputType: 'search_document' })
    expect(mixed.embeddings.float).toHaveLength(1)
  })

  test.each([
    ['texts', { model }],
    ['inputs', { model, texts, inputs: [{ content: [{ type: 'text', text: 'a' }] }] }],
    ['images', { model, texts, images: ['data:image/png;base64,iVBORw0KGgo='] }],
    ['embedding_types', { model, texts, embedding_types: ['float', 'base64'] }],
    ['embedding_types.0', { model, texts, embedding_types: ['int8'] }],
  ])('a 400 names its field: %s', async (field, body) => {
    const response = await send(lab(), '/v2/embed', { body })
    expect(response.status).toBe(400)
    expect(((await response.json()) as { message: string }).message).toStartWith(`${field}: `)
  })

  test('what has no counterpart is reported', async () => {
    const body = { model, texts, input_type: 'clustering', truncate: 'END' }
    const response = await send(lab(), '/v2/embed', { body })
    expect(response.headers.get('x-headgate-dropped')).toBe('truncate')
  })

  test('documents are ranked', async () => {
    const reply = await client().rerank({
      ...{ model: 'sandbox/reranker', query: 'cat on a mat', topN: 1 },
      documents: ['Quarterly revenue grew', ...texts],
    })
    expect(reply.results).toEqual([{ index: 2, relevanceScore: expect.any(Number) }])
    expect(reply.meta?.billedUnits).toEqual({ searchUnits: 1 })
  })
})

test.each(['/v1/chat', '/v1/embed', '/v1/classify', '/v2/parse', '/v2/datasets'])(
  'what is not offered is a 404 that says what is: %s',
  async (path) => {
    const response = await send(lab(), path, { body: { message: 'Hello' } })
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({
      message: `POST ${path} is not offered. Offered of this API are /v2/chat, /v2/embed and /v2/rerank.`,
    })
  },
)

test('errors have the message and id that the client reads', async () => {
  const unknown = await rejection(client().chat({ model: 'lab/nothing', messages }))
  expect(unknown).toBeInstanceOf(CohereError)
  expect(unknown).toMatchObject({
    statusCode: 400,
    body: { message: expect.stringContaining('lab/nothing'), id: expect.stringMatching(/./) },
  })
  expect(await rejection(client('sk-wrong').chat({ model: 'lab/nothing', messages }))).toMatchObject({
    statusCode: 401,
    body: { message: 'The API key is invalid.' },
  })
})
