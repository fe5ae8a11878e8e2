import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { buildSettings } from './two-upstreams.ts'

const frame = `data: ${JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content: 'x'.repeat(1900) }, finish_reason: null }],
})}\n\n`
const chunk = `${frame.length.toString(16)}\r\n${frame}\r\n`

/** An upstream that writes endlessly, as fast as it is read, and counts the bytes. */
class Fountain {
  written = 0
  readonly sockets = new Set<Socket>()
  readonly server: Server = createServer((socket) => {
    this.sockets.add(socket)
    socket.on('close', () => this.sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n')
      this.#pour(socket)
    })
  })

  #pour(socket: Socket): void {
    while (!socket.destroyed) {
      this.written += frame.length
      if (!socket.write(chunk)) return void socket.once('drain', () => this.#pour(socket))
    }
  }

  async start(): Promise<string> {
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
    const url = await fountain.start()
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
    // Once the count no longer grows, every buffer on the way is full.
    let before = -1
    while (before !== fountain.written && fountain.written < 4 * kernelBytes) {
      before = fountain.written
      await Bun.sleep(300)
    }
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
})
