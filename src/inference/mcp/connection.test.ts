import { afterAll, expect, test } from 'bun:test'
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { measureLoopDelay } from '../../../test/support/loop-delay.ts'
import { McpConnection, McpError } from './connection.ts'
import type { McpEgress } from './guarded-fetch.ts'

const requests: { method: string; authorization: string | null }[] = []
const http = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: serve })
afterAll(() => http.stop(true))

/** A server without sessions: each request has a transport of its own. */
async function serve(request: Request): Promise<Response> {
  requests.push({ method: request.method, authorization: request.headers.get('authorization') })
  const { pathname } = new URL(request.url)
  if (pathname === '/redirect') return Response.redirect('https://elsewhere.test/', 307)
  if (pathname === '/huge') return new Response('x'.repeat(100_000), { headers: jsonType })
  if (pathname === '/endless') return serveEndless(request)
  if (pathname === '/many') return serveMany(request)
  if (pathname.startsWith('/excess/')) return serveExcess(request, pathname.slice('/excess/'.length))
  if (pathname === '/refuse') return new Response('secret page', { status: 403 })
  const server = new McpServer({ name: 'test', version: '1' })
  const input = z.object({ text: z.string() })
  const options = { description: 'Repeats a text.', inputSchema: input, annotations: { readOnlyHint: true } }
  server.registerTool('echo', options, async ({ text }) => ({ content: [{ type: 'text', text }] }))
  server.registerTool('fail', { description: 'Fails.' }, async () => ({
    content: [{ type: 'text', text: 'no such file' }],
    isError: true,
  }))
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  return transport.handleRequest(request)
}

/** Two hundred tools with long schemas, and values that are no tools. */
async function serveMany(request: Request): Promise<Response> {
  if (request.method !== 'POST') return new Response(null, { status: 405 })
  const { id, method, params } = (await request.json()) as JsonRpc
  if (id === undefined) return new Response(null, { status: 202 })
  const { protocolVersion } = params
  const properties = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`p${index}`, { type: 'string', description: 'any' }]),
  )
  const tools = Array.from({ length: 250 }, (_, index) => ({
    name: `tool${index}`,
    inputSchema: { type: 'object', properties },
  }))
  const result =
    method === 'initialize'
      ? { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'many', version: '1' } }
      : { tools: [null, { name: 7 }, ...tools] }
  return Response.json({ jsonrpc: '2.0', id, result })
}

const excesses: Record<string, (id: number) => Response> = {
  levels: (id) => {
    const deep = `${'{"a":'.repeat(80_000)}1${'}'.repeat(80_000)}`
    const tools = `[{"name":"deep","inputSchema":${deep}}]`
    return new Response(`{"jsonrpc":"2.0","id":${id},"result":{"tools":${tools}}}`, { headers: jsonType })
  },
  values: (id) => {
    const inputSchema = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, 1]))
    return Response.json({ jsonrpc: '2.0', id, result: { tools: [{ name: 'wide', inputSchema }] } })
  },
  parts: (id) => {
    const content = Array.from({ length: 2000 }, () => ({ type: 'text', text: '' }))
    return Response.json({ jsonrpc: '2.0', id, result: { content } })
  },
  messages: () => {
    const params = { progressToken: 1, progress: 1 }
    const message = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })
    const headers = { 'content-type': 'text/event-stream' }
    return new Response(`event: message\ndata: ${message}\n\n`.repeat(3000), { headers })
  },
}

const notification = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: {} })

/** Encoded ahead, so that the time of this server is not that of its client. Clients number requests from 0. */
const floods: Record<string, Blob> = {
  'a schema of 80,000 levels': new Blob([
    `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":${'{"a":'.repeat(80_000)}1${'}'.repeat(80_000)}}]}}`,
  ]),
  '100,000 parts of content': new Blob([
    `{"jsonrpc":"2.0","id":1,"result":{"content":[${'{"type":"text","text":""},'.repeat(100_000)}{}]}}`,
  ]),
  '30 MB of notifications': new Blob([`data: ${notification}\n\n`.repeat(450_000)]),
}

async function serveExcess(request: Request, name: string): Promise<Response> {
  if (request.method !== 'POST') return new Response(null, { status: 405 })
  const { id, method, params } = (await request.json()) as JsonRpc
  if (id === undefined) return new Response(null, { status: 202 })
  const flood = floods[decodeURIComponent(name)]
  const type = name.includes('notifications') ? 'text/event-stream' : 'application/json'
  if (method !== 'initialize' && flood) return new Response(flood, { headers: { 'content-type': type } })
  if (method !== 'initialize') return excesses[name]?.(id) ?? new Response(null, { status: 404 })
  const { protocolVersion } = params
  const serverInfo = { name: 'excess', version: '1' }
  const result = { protocolVersion, capabilities: { tools: {} }, serverInfo }
  return Response.json({ jsonrpc: '2.0', id, result })
}

/** Each page of its tools has another one. */
async function serveEndless(request: Request): Promise<Response> {
  if (request.method !== 'POST') return new Response(null, { status: 405 })
  const { id, method, params } = (await request.json()) as JsonRpc
  if (id === undefined) return new Response(null, { status: 202 })
  const { protocolVersion, cursor } = params
  const serverInfo = { name: 'endless', version: '1' }
  const page = Number(cursor ?? 0)
  const result =
    method === 'initialize'
      ? { protocolVersion, capabilities: { tools: {} }, serverInfo }
      : { tools: [{ name: `tool${page}`, inputSchema: { type: 'object' } }], nextCursor: String(page + 1) }
  return Response.json({ jsonrpc: '2.0', id, result })
}

interface JsonRpc {
  id?: number
  method: string
  params: { protocolVersion?: string; cursor?: string }
}

const jsonType = { 'content-type': 'application/json' }
const host = `127.0.0.1:${http.port}`
const signal = new AbortController().signal
const egress: McpEgress = { allowPrivate: [host], connectMs: 2000, maxBytes: 64 * 1024, signal }

function open(path = '/mcp', options: Partial<McpEgress> = {}): Promise<McpConnection> {
  const headers = { authorization: 'Bearer canary' }
  const server = { label: 'test', url: `http://${host}${path}`, headers }
  return McpConnection.open(server, { ...egress, ...options }, 5000)
}

async function findError(work: Promise<unknown>): Promise<McpError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(McpError)
  return error as McpError
}

test('lists and calls the tools of a server of the official SDK, with its headers', async () => {
  const connection = await open()
  const tools = await connection.listTools(signal)
  expect(tools.map(({ name, isReadOnly }) => [name, isReadOnly])).toEqual([
    ['echo', true],
    ['fail', false],
  ])
  expect(tools[0]?.schema).toMatchObject({ type: 'object', required: ['text'] })
  expect(await connection.call('echo', { text: 'ping' }, signal)).toEqual({
    content: [{ kind: 'text', text: 'ping' }],
    isError: false,
  })
  expect(await connection.call('fail', {}, signal)).toMatchObject({ isError: true })
  await connection.close()
  expect(requests.every(({ authorization }) => authorization === 'Bearer canary')).toBe(true)
})

test('S5 an address that is not public is refused, and nothing is sent', async () => {
  const count = requests.length
  const error = await findError(open('/mcp', { allowPrivate: [] }))
  expect([error.kind, error.message]).toEqual(['http_error', expect.stringContaining('public address')])
  expect(requests).toHaveLength(count)
})

test('S5 a redirect is not followed, a large response is cut, an error page is not shown', async () => {
  const resolve = async () => {
    throw new Error('resolved')
  }
  const redirected = await findError(open('/redirect', { resolve }))
  const refused = await findError(open('/refuse'))
  await findError(open('/huge', { maxBytes: 1000 }))
  for (const { message } of [redirected, refused]) expect(message).not.toMatch(/secret|canary|elsewhere/)
  expect(refused).toMatchObject({ kind: 'http_error', code: 403 })
})

test('reads no more than 20 pages of tools', async () => {
  const count = requests.length
  const connection = await open('/endless')
  expect(await connection.listTools(signal)).toHaveLength(20)
  expect(requests.length - count).toBeLessThan(25)
})

test('ends when the request does', async () => {
  const abort = new AbortController()
  const connection = await open('/mcp', { signal: abort.signal })
  abort.abort()
  await findError(connection.listTools(abort.signal))
})

test('long lists are read one tool at a time: what is no tool is left out, and so is what is too much', async () => {
  const connection = await open('/many', { maxBytes: 1024 * 1024 })
  const tools = await connection.listTools(signal)
  expect([tools.length, tools[0]?.name, tools.at(-1)?.name]).toEqual([200, 'tool0', 'tool199'])
  await connection.close()
})

test.each([
  ['levels', 'nested deeper than 128 levels'],
  ['values', 'more than 50000 JSON values'],
  ['messages', 'more than 1000 messages'],
])('S13 a server that sends too many %s is cut off before its messages are parsed', async (name, problem) => {
  const connection = await open(`/excess/${name}`, { maxBytes: 4 * 1024 * 1024 })
  for (const work of [connection.listTools(signal), connection.call('any', {}, signal)])
    expect((await findError(work)).message).toContain(problem)
  await connection.close()
})

test('S13 a result of too many parts is an error', async () => {
  const connection = await open('/excess/parts', { maxBytes: 4 * 1024 * 1024 })
  expect((await findError(connection.call('any', {}, signal))).message).toContain('more than 1000 parts')
  await connection.close()
})

test.each(Object.keys(floods))('S13 %s do not delay other requests', async (name) => {
  const connection = await open(`/excess/${encodeURIComponent(name)}`, { maxBytes: 64 * 1024 * 1024 })
  const delay = await measureLoopDelay(100, () => findError(connection.call('any', {}, signal)))
  expect(delay).toBeLessThan(100)
  await connection.close()
})
