import { describe, expect, test } from 'bun:test'
import { type ChatResponse, type GenerateResponse, Ollama, type Tool } from 'ollama'
import {
  argumentsOf,
  messages,
  modelOf,
  prompt,
  rejection,
  scenarios,
  textWireFormats,
  useLab,
  weatherIn,
  weatherTool,
} from './lab.ts'

const lab = useLab()

const client = (key = lab().key) =>
  new Ollama({ host: lab().url, headers: { authorization: `Bearer ${key}` } })
const tools = [weatherTool] as unknown as Tool[]
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of stream) all.push(one)
  return all
}

const expectCounts = (last: ChatResponse | GenerateResponse | undefined) => {
  expect(last).toMatchObject({ done: true, prompt_eval_count: 87, eval_count: 41, load_duration: 0 })
  expect(last?.total_duration).toBeGreaterThan(0)
  expect((last?.prompt_eval_duration ?? 0) + (last?.eval_duration ?? 0)).toBe(last?.total_duration ?? -1)
}

describe.each(textWireFormats)('the Ollama client over an upstream of format %s', (wireFormat) => {
  const model = modelOf(wireFormat)

  test('chat, whole', async () => {
    const reply = await client().chat({ model, messages })
    expect(reply).toMatchObject({ model, message: { role: 'assistant', content: scenarios.text.text } })
    expect(reply.done_reason).toBe('stop')
    expectCounts(reply)
  })

  test('chat, streamed', async () => {
    const records = await collect(await client().chat({ model, messages, stream: true }))
    expect(records.map(({ message }) => message.content).join('')).toBe(scenarios.text.text)
    expect(records.slice(0, -1).every(({ done }) => !done)).toBe(true)
    expect(records.length).toBeGreaterThan(2)
    expectCounts(records.at(-1))
  })

  test('generate, whole and streamed', async () => {
    const reply = await client().generate({ model, prompt, system: 'Be brief.' })
    expect(reply.response).toBe(scenarios.text.text)
    expectCounts(reply)
    const sent = JSON.stringify(lab().lastRequest().json)
    expect(sent).toContain('Be brief.')
    const records = await collect(await client().generate({ model, prompt, stream: true }))
    expect(records.map(({ response }) => response).join('')).toBe(scenarios.text.text)
    expectCounts(records.at(-1))
  })

  test.each([false, true])('tools make the round trip, streamed: %p', async (stream) => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const request = stream
      ? await collect(await client().chat({ model, messages, tools, stream: true }))
      : [await client().chat({ model, messages, tools })]
    const calls = request.flatMap(({ message }) => message.tool_calls ?? [])
    expect(calls.map((call) => call.function.arguments)).toEqual(argumentsOf('toolCalls') as object[])
    const cities = calls.map((call) => String(call.function.arguments.city))
    const final = await client().chat({
      model,
      tools,
      messages: [
        ...messages,
        // Older clients send no ids.
        {
          role: 'assistant',
          content: '',
          tool_calls: calls.map(({ function: called }) => ({ function: called })),
        },
        ...cities.map((city) => ({ role: 'tool', content: weatherIn(city), tool_name: 'get_weather' })),
      ],
    })
    expect(final.message.content).toBe(scenarios.text.text)
    const sent = JSON.stringify(lab().lastRequest().json)
    for (const city of cities) expect(sent).toContain(weatherIn(city))
  })

  test('images, schemas and options reach the model', async () => {
    await client().chat({
      model,
      messages: [{ role: 'user', content: 'What is this?', images: [pixel] }],
      format: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
      options: { num_predict: 77, num_ctx: 4096 },
    })
    const sent = JSON.stringify(lab().lastRequest().json)
    expect(sent).toContain(pixel)
    expect(sent).toContain('color')
    expect(sent).toContain('77')
    expect(sent).not.toContain('4096')
  })
})

test('thinking is shown apart from the reply', async () => {
  for (const stream of [false, true]) {
    lab().reply('messages', 'reasoning')
    const params = { model: modelOf('messages'), messages, think: true }
    const records = stream
      ? await collect(await client().chat({ ...params, stream: true }))
      : [await client().chat(params)]
    const thinking = records.map(({ message }) => message.thinking ?? '').join('')
    expect(thinking).not.toBe('')
    expect(records.map(({ message }) => message.content).join('')).not.toContain(thinking)
  }
})

test('a name may have the tag that clients add, and an empty request loads nothing', async () => {
  const model = `${modelOf('chat')}:latest`
  expect((await client().chat({ model, messages })).model).toBe(modelOf('chat'))
  const requests = await lab().requestsDuring(async () => {
    expect((await client().generate({ model, prompt: '' })).done_reason).toBe('load')
    expect((await client().chat({ model, messages: [] })).done_reason).toBe('load')
  })
  expect(requests).toEqual([])
})

describe('embeddings', () => {
  const model = 'sandbox/embedder'
  const input = ['The cat sat on the mat', 'A cat sits on a mat']

  test('R11 of one text or several, and charged as on the path of this API', async () => {
    const before = await lab().spent()
    const reply = await client().embed({ model, input, dimensions: 8 })
    expect(reply.model).toBe(model)
    expect(reply.embeddings.map((vector) => vector.length)).toEqual([8, 8])
    expect(reply).toMatchObject({ prompt_eval_count: 11, load_duration: 0 })
    expect(reply.total_duration).toBeGreaterThan(0)
    expect(await lab().spent()).toBeGreaterThan(before)
    const one = await client().embed({ model: `${model}:latest`, input: input[0] ?? '', dimensions: 8 })
    expect(one.embeddings).toEqual(reply.embeddings.slice(0, 1))
  })

  test('the older path has one vector', async () => {
    const { embedding } = await client().embeddings({ model, prompt: 'Hello' })
    expect(embedding).toHaveLength(1536)
  })

  test('an OpenAI client whose base URL ends in /api shares that path', async () => {
    const response = await fetch(`${lab().url}/api/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${lab().key}` },
      body: JSON.stringify({ model, input }),
    })
    expect(await response.json()).toMatchObject({ object: 'list', data: [{ index: 0 }, { index: 1 }] })
  })

  test('without input nothing is sent', async () => {
    expect((await client().embed({ model, input: '' })).embeddings).toEqual([])
    expect((await client().embed({ model, input: [] })).embeddings).toEqual([])
    expect((await client().embeddings({ model, prompt: '' })).embedding).toEqual([])
  })

  test('a model without embeddings is an error that names it', async () => {
    const error = await rejection(client().embed({ model: modelOf('chat'), input }))
    expect(error).toMatchObject({ status_code: 400, error: expect.stringContaining(modelOf('chat')) })
  })

  test('truncation, which the gateway does not do, is reported', async () => {
    const response = await fetch(`${lab().url}/api/embed`, {
      method: 'POST',
      headers: { authorization: `Bearer ${lab().key}` },
      body: JSON.stringify({ model, input, truncate: true, keep_alive: '5m', options: { num_ctx: 512 } }),
    })
    expect(response.headers.get('x-headgate-dropped')).toBe('truncate')
  })
})

test('models are listed and shown, and the version is one that clients accept', async () => {
  const { models } = await client().list()
  expect(models.map(({ name }) => name)).toContain(modelOf('chat'))
  const shown = await client().show({ model: modelOf('chat') })
  expect(shown.capabilities).toEqual(['completion', 'tools', 'vision', 'thinking'])
  expect(shown.model_info).toMatchObject({ 'general.architecture': 'lab', 'lab.context_length': 200_000 })
  expect((await client().version()).version).toMatch(/^\d+\.\d+\.\d+$/)
})

describe('errors are the text that clients show', () => {
  test('of an unknown model, a wrong key and an empty account', async () => {
    const unknown = await rejection(client().chat({ model: 'lab/nothing', messages }))
    expect(unknown).toMatchObject({ status_code: 400, error: expect.stringContaining('lab/nothing') })
    expect(await rejection(client('sk-wrong').list())).toMatchObject({
      status_code: 401,
      error: 'The API key is invalid.',
    })
    const poor = await rejection(client(lab().poorKey).chat({ model: modelOf('chat'), messages }))
    expect(poor).toMatchObject({ status_code: 402 })
    expect(await rejection(client().show({ model: 'lab/nothing' }))).toMatchObject({ status_code: 404 })
    const loading = client().generate({ model: 'lab/nothing', prompt: '' })
    expect(await rejection(loading)).toMatchObject({ status_code: 404 })
  })

  test('of what is not offered', async () => {
    const calls = [
      () => client().pull({ model: 'llama3' }),
      () => client().create({ model: 'mine', from: 'llama3' }),
      () => client().ps(),
      () => client().delete({ model: 'llama3' }),
    ]
    for (const call of calls) {
      const error = await rejection(call())
      expect(error).toMatchObject({ status_code: 404, error: expect.stringContaining('is not offered') })
      expect((error as Error).message).toContain('/api/embed')
    }
  })

  test('of a provider that is rate limited', async () => {
    lab().rateLimit('chat')
    const limited = await rejection(client().chat({ model: modelOf('chat'), messages }))
    expect(limited).toMatchObject({ status_code: 429 })
  })
})

test('heartbeats of a quiet stream are no records', async () => {
  lab().replySlowly('chat')
  const response = await fetch(`${lab().url}/api/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${lab().key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: modelOf('chat'), messages }),
  })
  expect(response.headers.get('content-type')).toBe('application/x-ndjson')
  const text = await response.text()
  expect(text).toMatch(/^ +\{/)
  const records = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(records.at(-1)).toMatchObject({ done: true })
  expect(records.map(({ message }) => message.content).join('')).toBe(scenarios.text.text)
}, 15_000)

test('R4 a client that disconnects ends the request at the provider', async () => {
  lab().stall('chat')
  const ollama = client()
  const stream = await ollama.chat({ model: modelOf('chat'), messages, stream: true })
  for await (const _record of stream) break
  const leftAt = Date.now()
  stream.abort()
  await lab().expectClosedSoon(leftAt)
})

test('R33 a reply that breaks off is an error, not an end', async () => {
  lab().next.push({ sse: ['data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n'] })
  const stream = await client().chat({ model: modelOf('chat'), messages, stream: true })
  const texts: string[] = []
  const error = await rejection(
    (async () => {
      for await (const { message } of stream) texts.push(message.content)
    })(),
  )
  expect(texts.join('')).toBe('Half')
  expect((error as Error).message).not.toContain('Did not receive done')
})
