import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, createServer, type Socket } from 'node:net'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { mp3Frame } from './speech-upstreams.ts'

const block = Buffer.concat(Array.from({ length: 100 }, () => mp3Frame()))
const chunk = Buffer.concat([Buffer.from(`${block.length.toString(16)}\r\n`), block, Buffer.from('\r\n')])
/** The size of an operating system's buffer on each side of the gateway. */
const kernelBytes = 24 * 1024 * 1024

let written = 0
const sockets = new Set<Socket>()
const endless = createServer((socket) => {
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  socket.on('error', () => undefined)
  socket.once('data', () => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\ntransfer-encoding: chunked\r\n\r\n')
    pour(socket)
  })
})

/** Writes as fast as the peer reads. */
function pour(socket: Socket): void {
  while (!socket.destroyed) {
    written += block.length
    if (!socket.write(chunk)) return void socket.once('drain', () => pour(socket))
  }
}

let server: TestServer
let impatient: TestServer
beforeAll(async () => {
  await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
  const address = endless.address()
  const base_url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const pricing = { prompt: '0.000015', completion: '0' }
  const endpoint = { provider: 'endless', upstream_model: 'tts-1', prompt_unit: 'character', pricing }
  const settings = {
    providers: [{ slug: 'endless', name: 'Endless', base_url, dialects: ['speech'], api_key: 'k' }],
    models: [{ id: 'speech/endless', name: 'Endless', output_modalities: ['speech'], endpoints: [endpoint] }],
  }
  const patient = { ...settings, limits: { client_idle: 1 } }
  server = await startTestServer('sqlite', { settings: JSON.stringify(patient) })
  const limits = { total: 1 }
  impatient = await startTestServer('sqlite', { settings: JSON.stringify({ ...settings, limits }) })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  endless.close()
  await server.stop()
  await impatient.stop()
})

function speak({ url, own }: TestServer, input: string, signal: AbortSignal | null = null) {
  return fetch(`${url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'speech/endless', input, voice: 'v', response_format: 'mp3' }),
    signal,
  })
}

/** Waits until no connection to the upstream is open. */
async function waitForClose(): Promise<void> {
  for (const deadline = Date.now() + 5000; sockets.size > 0 && Date.now() < deadline; ) await Bun.sleep(5)
  expect(sockets.size).toBe(0)
}

test('R19 S13 a client that reads slowly slows the upstream down, and memory stays flat', async () => {
  const left = new AbortController()
  const response = await speak(server, 'x', left.signal)
  const reader = response.body?.getReader()
  await reader?.read()
  const before = process.memoryUsage().rss
  // Once the count no longer grows, every buffer on the way is full.
  for (let last = -1; last !== written && written < 4 * kernelBytes; await Bun.sleep(50)) last = written
  expect(written).toBeLessThan(2 * kernelBytes)
  expect(process.memoryUsage().rss - before).toBeLessThan(2 * kernelBytes)
  left.abort()
  await waitForClose()
})

test('S13 R4 a client that reads nothing is disconnected, and pays in full', async () => {
  const { hostname, port } = new URL(server.url)
  const { inferenceKey } = server.own
  const body = JSON.stringify({ model: 'speech/endless', input: 'x', voice: 'v', response_format: 'mp3' })
  const client = connect(Number(port), hostname)
  client.on('error', () => undefined)
  client.pause()
  client.write(
    `POST /v1/audio/speech HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${inferenceKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  while (sockets.size === 0) await Bun.sleep(5)
  while (sockets.size > 0) await Bun.sleep(20)
  const { db } = server.gateway
  const rows = () => db.selectFrom('generations').select(['status', 'cost_nanos']).execute()
  while ((await rows()).length < 2) await Bun.sleep(20)
  expect(await rows()).toEqual(Array(2).fill({ status: 'cancelled', cost_nanos: 15_000n }))
  client.destroy()
}, 30_000)

test('R4 R5 a client that stops reading until the time of the stream is over pays in full', async () => {
  const response = await speak(impatient, 'x'.repeat(100))
  const reader = response.body?.getReader()
  await reader?.read()
  await waitForClose()
  // The client of the runtime reports a connection that breaks off as an error or, depending on what has arrived, as the end.
  await (async () => {
    while (!(await reader?.read())?.done);
  })().catch(() => undefined)
  const { db } = impatient.gateway
  const rows = await db.selectFrom('generations').select(['status', 'cost_nanos']).execute()
  expect(rows).toEqual([{ status: 'failed', cost_nanos: 1_500_000n }])
})
