import { heapStats } from 'bun:jsc'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { buildSettings } from './two-upstreams.ts'

const chatFrame = (text: string) =>
  `data: ${JSON.stringify({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
  })}\n\n`

const event = (value: { type: string; [field: string]: unknown }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`

const messagesStart =
  event({ type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: {} } }) +
  event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })

/** The beginning of a stream in each format, and the frame it repeats. */
const streams: Record<string, { start: string; frame: (text: string) => string }> = {
  chat: { start: '', frame: chatFrame },
  messages: {
    start: messagesStart,
    frame: (text) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  },
  gemini: {
    start: '',
    frame: (text) =>
      `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }] })}\n\n`,
  },
}

/** Written at once, so that the buffers of an upstream are small. */
const blockBytes = 16 * 1024

function toChunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`
}

/** An upstream that writes endlessly, as fast as it is read, and counts the bytes. */
class Fountain {
  written = 0
  start = ''
  frame = chatFrame('x'.repeat(1900))
  readonly sockets = new Set<Socket>()
  readonly server: Server = createServer((socket) => {
    this.sockets.add(socket)
    socket.on('close', () => this.sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n')
      if (this.start !== '') socket.write(toChunk(this.start))
      this.#pour(socket, 0)
    })
  })

  #pour(socket: Socket, from: number): void {
    for (let at = from; !socket.destroyed; ) {
      const block = this.frame.slice(at, at + blockBytes)
      this.written += block.length
      at = (at + block.length) % this.frame.length
      if (!socket.write(toChunk(block))) return void socket.once('drain', () => this.#pour(socket, at))
    }
  }

  /** Waits until the count no longer grows: then every buffer on the way is full. */
  async waitUntilFull(maxWritten: number): Promise<void> {
    for (let last = -1; last !== this.written && this.written < maxWritten; await Bun.sleep(50))
      last = this.written
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    const address = this.server.address()
    return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy()
    this.server.close()
  }
}

/** The size of an operating system's buffer on each side of the gateway. */
const kernelBytes = 24 * 1024 * 1024

describe('a client that reads slowly', () => {
  const fountain = new Fountain()
  let server: TestServer
  beforeAll(async () => {
    const url = await fountain.listen()
    const limits = 'limits: { client_idle: 1, heartbeat: 0.4 }'
    server = await startTestServer('sqlite', { settings: buildSettings(url, url, limits) })
  })
  afterAll(async () => {
    fountain.stop()
    await server.stop()
  })

  test('S13 slows the upstream down: buffers stay bounded, and the upstream is closed when the client disconnects', async () => {
    const left = new AbortController()
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.own.inferenceKey}` },
      body: JSON.stringify({ model: 'test/chat', stream: true, messages: [{ role: 'user', content: 'x' }] }),
      signal: left.signal,
    })
    const reader = response.body?.getReader()
    await reader?.read()
    await fountain.waitUntilFull(4 * kernelBytes)
    expect(fountain.written).toBeLessThan(2 * kernelBytes)
    left.abort()
    for (const deadline = Date.now() + 5000; fountain.sockets.size > 0 && Date.now() < deadline; )
      await Bun.sleep(5)
    expect(fountain.sockets.size).toBe(0)
  })

  test('S13 and not at all is disconnected, and its request is settled', async () => {
    const cancelled = server.gateway.db
      .selectFrom('generations')
      .select('id')
      .where('status', '=', 'cancelled')
    const before = (await cancelled.execute()).length
    const { hostname, port } = new URL(server.url)
    const body = JSON.stringify({
      model: 'test/chat',
      stream: true,
      messages: [{ role: 'user', content: 'x' }],
    })
    const client = connect(Number(port), hostname)
    client.on('error', () => undefined)
    client.pause()
    client.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${server.own.inferenceKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    while (fountain.sockets.size === 0) await Bun.sleep(5)
    while (fountain.sockets.size > 0) await Bun.sleep(20)
    while ((await cancelled.execute()).length === before) await Bun.sleep(20)
    client.destroy()
  }, 30_000)

  const readers = 6
  /** The text being written, the next event, and chunks of the runtime; there were up to six. */
  const maxCopies = 3.4
  const frameBytes = 2 * 1024 * 1024
  const paths: Record<string, string> = {
    chat: '/v1/chat/completions',
    messages: '/v1/messages',
    gemini: '/v1beta/models/test%2Fgemini:streamGenerateContent?alt=sse',
  }

  /** Streams are released in several steps, each of which needs a turn of the event loop. */
  async function measureHeap(): Promise<number> {
    for (let round = 0; round < 4; round++) {
      Bun.gc(true)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return heapStats().heapSize
  }

  /** A client that sends a request and reads nothing. */
  function stall(path: string, body: object): Socket {
    const { hostname, port } = new URL(server.url)
    const text = JSON.stringify(body)
    const client = connect(Number(port), hostname)
    client.on('error', () => undefined)
    client.pause()
    client.write(
      `POST ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${server.own.inferenceKey}\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    )
    return client
  }

  test.each(Object.keys(streams))('S13 holds few copies of an event in memory (%s)', async (format) => {
    // All readers must be connected at the same time, however long that takes.
    Object.assign(server.gateway.settings.limits, { client_idle: 120_000 })
    const { start = '', frame = chatFrame } = streams[format] ?? {}
    Object.assign(fountain, { start, frame: frame('x'.repeat(frameBytes)), written: 0 })
    const messages = [{ role: 'user', content: 'x' }]
    while (server.gateway.upstreams.exchanges.size > 0) await Bun.sleep(5)
    const before = await measureHeap()
    const clients = Array.from({ length: readers }, () =>
      stall(paths[format] ?? '', {
        model: `test/${format}`,
        ...(format === 'gemini'
          ? { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
          : { stream: true, max_tokens: 9, messages }),
      }),
    )
    while (fountain.sockets.size < readers) await Bun.sleep(5)
    await fountain.waitUntilFull(4 * kernelBytes * readers)
    expect(fountain.written).toBeGreaterThan(readers * frameBytes)
    const countCopies = async () => ((await measureHeap()) - before) / readers / frameBytes
    let copies = await countCopies()
    // What is on its way is still being copied.
    for (let attempt = 0; copies >= maxCopies && attempt < 100; attempt++) {
      await Bun.sleep(50)
      copies = await countCopies()
    }
    for (const client of clients) client.destroy()
    while (fountain.sockets.size > 0) await Bun.sleep(5)
    expect(copies).toBeLessThan(maxCopies)
  })
})
