import { beforeEach, expect, test } from 'bun:test'
import { connect } from 'node:net'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreamsOnSqlite,
  lastRequest,
  readJson,
  sendRequest,
} from './two-upstreams.ts'

const ceilings =
  'limits: { list_entries: 1000, parts: 1500, body_values: 20000, body_idle: 0.5, body_rate: 100000 }'
const hello = { role: 'user', content: 'Hello' }
const many = <T>(count: number, entry: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => entry(i))
const pairs = (count: number, value: unknown) =>
  Object.fromEntries(many(count, (index) => [`k${index}`, value]))

describeWithUpstreamsOnSqlite('S13 a request beyond a fixed bound', (bench) => {
  test('has objects of too many shapes, each of which takes memory of its own to parse', async () => {
    const shapes = many(55_000, (index) => ({ [`name_${index}`]: 1 }))
    const rejected = await sendRequest(bench(), 'chat', { model: 'test/chat', messages: [hello], shapes })
    expect([rejected.status, (await readJson(rejected)).error.message]).toEqual([
      400,
      'The request body is larger than the maximum: its objects have more than 50000 combinations of names.',
    ])
    expect(bench().first.requests).toEqual([])
  })

  test.each(['chat', 'responses'] as const)('in %s has too many server tools', async (format) => {
    const tools = many(129, () => ({ type: 'service:datetime' }))
    const prompt = format === 'chat' ? { messages: [hello] } : { input: 'Hello' }
    const rejected = await sendRequest(bench(), format, { model: 'test/chat', ...prompt, tools })
    expect([rejected.status, (await readJson(rejected)).error.message]).toEqual([
      400,
      'tools: must have at most 128 server tools',
    ])
  })
})

describeWithUpstreamsOnSqlite(
  'S13 a request beyond a size limit',
  (bench) => {
    beforeEach(() => clearGenerations(bench()))
    const tool = (index: number) => ({ type: 'function', function: { name: `f${index}` } })
    const part = () => ({ type: 'text', text: 'a' })

    test.each([
      ['chat', 'messages', { messages: many(1001, () => hello) }],
      ['chat', 'tools', { tools: many(1001, tool) }],
      ['chat', 'logit_bias', { logit_bias: pairs(1001, 1) }],
      ['chat', 'plugins', { plugins: many(1001, () => 1) }],
      ['chat', 'body', pairs(1001, 1)],
      ['chat', 'messages.0.content', { messages: [{ role: 'user', content: many(1001, part) }] }],
      [
        'chat',
        'messages.1.content',
        { messages: many(2, () => ({ role: 'user', content: many(800, part) })) },
      ],
      ['messages', 'messages', { messages: many(1001, () => hello) }],
      ['messages', 'tools', { tools: many(1001, (index) => ({ name: `f${index}`, input_schema: {} })) }],
      ['chat', 'messages.0', { messages: [{ ...hello, ...pairs(1001, 1) }] }],
      ['responses', 'input', { input: many(1001, () => hello) }],
      ['responses', 'input.0.content', { input: [{ role: 'user', content: many(1001, part) }] }],
    ] as const)('in %s: %s is refused by name', async (format, field, body) => {
      const rejected = await sendRequest(bench(), format, { model: 'test/chat', ...body })
      const { error } = await readJson(rejected)
      expect(rejected.status).toBe(400)
      expect(error.message).toStartWith(`${field}: `)
      expect(error.message).toMatch(/\(limits\.(list_entries|parts)\)$/)
      expect(bench().first.requests).toEqual([])
    })

    test('is rejected before it is parsed where it has too many values', async () => {
      const rejected = await sendRequest(bench(), 'chat', {
        model: 'test/chat',
        deep: { list: many(20_001, () => 1) },
      })
      expect([rejected.status, (await readJson(rejected)).error.message]).toEqual([
        400,
        'The request body is larger than the maximum: it has more than 20000 JSON values.',
      ])
    })

    test('is served at exactly the limit', async () => {
      const body = { messages: many(1000, () => hello), tools: many(900, tool), logit_bias: pairs(1000, 1) }
      expect((await sendRequest(bench(), 'chat', { model: 'test/chat', ...body })).status).toBe(200)
      expect(lastRequest(bench().first.requests).json.messages).toHaveLength(1000)
    })
  },
  ceilings,
)

/** The longest wait for the event loop during `work`. */
async function longestWait(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }, 1)
  await work()
  clearInterval(timer)
  return longest
}

/** Bound far above the time on an idle machine, far below the seconds or minutes each of these once took. */
const boundMs = 1500

describeWithUpstreamsOnSqlite('S13 the event loop is not blocked by', (bench) => {
  beforeEach(() => clearGenerations(bench()))
  const send = (path: string, body: string) =>
    fetch(bench().server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${bench().server.own.inferenceKey}` },
      body,
    })
  const ones = `[${'1,'.repeat(8_000_000)}1]`

  test.each([
    ['chat', '/v1/chat/completions', `{"model":"test/chat","messages":${ones}}`, 400],
    ['responses', '/v1/responses', `{"model":"test/chat","input":${ones}}`, 400],
    ['messages', '/v1/messages', `{"model":"test/chat","max_tokens":1,"messages":${ones}}`, 400],
    ['gemini', '/v1beta/models/test/chat:generateContent', `{"contents":${ones}}`, 400],
    [
      'empty objects',
      '/v1/chat/completions',
      `{"model":"test/chat","messages":[${'{},'.repeat(5_000_000)}{}]}`,
      400,
    ],
    ['a management body', '/v1/workspaces', `{"name":${`[${'1,'.repeat(500_000)}1]`}}`, 403],
  ])('16 million values in %s', async (_, path, body, status) => {
    const waited = await longestWait(async () => expect((await send(path, body)).status).toBe(status))
    expect(waited).toBeLessThan(boundMs)
  })

  test('errors in every entry of a list: the first one is named', async () => {
    const messages = many(6000, () => ({ role: 'user', content: many(3, () => ({ type: 'text', text: 1 })) }))
    const rejected = await sendRequest(bench(), 'chat', { model: 'test/chat', messages })
    const { error } = await readJson(rejected)
    expect([rejected.status, error.metadata.issues.length]).toEqual([400, 1])
    expect(error.message).toStartWith('messages.0.content')
  })
})

function rawRequest(
  { server }: Bench,
  path: string,
  headers: string[],
  body: (send: (text: string | Buffer) => void) => () => void,
) {
  return new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const credential = `authorization: Bearer ${path.includes('files') ? server.own.managementKey : server.own.inferenceKey}`
    socket.write(`${[`POST ${path} HTTP/1.1`, 'host: x', credential, ...headers].join('\r\n')}\r\n\r\n`)
    const stop = body((text) => socket.write(text))
    let text = ''
    socket.on('data', (data) => {
      text += data.toString()
    })
    socket.on('error', reject)
    socket.on('close', () => {
      stop()
      resolve(text)
    })
  })
}

function drip(chunk: string) {
  return (send: (text: string) => void) => {
    const timer = setInterval(() => send(chunk), 50)
    return () => clearInterval(timer)
  }
}

describeWithUpstreamsOnSqlite(
  'S13 a body that is sent slowly',
  (bench) => {
    const chunked = ['transfer-encoding: chunked']
    const form = ['content-type: multipart/form-data; boundary=b']
    test.each([
      ['chunked', '/v1/chat/completions', chunked, '1\r\na\r\n'],
      ['small', '/v1/chat/completions', ['content-length: 1000'], 'a'],
      ['large', '/v1/responses', ['content-length: 20000000'], 'a'],
      ['to an upload', '/v1/files', [...form, 'content-length: 20000000'], 'a'],
      ['to a page', '/signin', chunked, '1\r\na\r\n'],
    ])('%s times out with 408, and its connection is closed', async (_, path, headers, chunk) => {
      const text = await rawRequest(bench(), path, headers, drip(chunk))
      expect(text).toStartWith('HTTP/1.1 408 ')
      expect(text.toLowerCase()).toContain('connection: close')
    })
  },
  ceilings,
)

describeWithUpstreamsOnSqlite('a body with', (bench) => {
  const send = (path: string, body: Uint8Array | string, key = bench().server.own.managementKey) =>
    fetch(bench().server.url + path, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body })

  test('invalid UTF-8 is rejected with its position, by management and by inference', async () => {
    const name = Buffer.concat([Buffer.from('{"name":"caf'), Buffer.from([0xe9]), Buffer.from('"}')])
    const managed = await send('/v1/workspaces', name)
    expect([managed.status, (await readJson(managed)).error.message]).toEqual([
      400,
      'The request body is not valid UTF-8 near byte 12.',
    ])
    const prompt = Buffer.from(
      '{"model":"test/chat","messages":[{"role":"user","content":"caf\xe9"}]}',
      'latin1',
    )
    expect((await send('/v1/chat/completions', prompt, bench().server.own.inferenceKey)).status).toBe(400)
    expect(bench().first.requests).toEqual([])
  })

  test('a duplicate key in a management call is rejected with its name', async () => {
    const rejected = await send('/v1/workspaces', '{"name":"a","slug":"a","name":"b"}')
    expect([rejected.status, (await readJson(rejected)).error.message]).toEqual([
      400,
      'The request body is not allowed to have the duplicate key "name".',
    ])
  })

  test('a duplicate key in a prompt reaches the upstream as it was read', async () => {
    const long = 'x'.repeat(20_000)
    const text = `{"model":"test/chat","messages":[{"role":"user","content":"hidden","content":"seen ${long}"}]}`
    const response = await send('/v1/chat/completions', text, bench().server.own.inferenceKey)
    expect(response.status).toBe(200)
    expect(lastRequest(bench().first.requests).text).not.toContain('hidden')
  })
})
