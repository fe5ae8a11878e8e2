import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMigratedDatabase, type TestDatabase } from '../support/databases.ts'
import { program } from '../support/program.ts'
import { Program } from '../support/running-program.ts'
import { waitUntil } from '../support/wait-until.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'

const canRun = process.platform === 'linux' && process.env.TEST_DATABASE_URL !== undefined
const managementKey = 'my-own-management-key'
const workerCount = 2
/** Rounds of restarts under load, of all workers each. */
const rounds = isLong ? 20 : 1
const clientCount = isLong ? 24 : 6

describe.if(canRun)('several workers on one port', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-workers-'))
  const settings = join(folder, 'headgate.yaml')
  let database: TestDatabase
  let server: Program
  let url: string

  const environment = () => ({
    HEADGATE_DATA_DIR: folder,
    HEADGATE_CONFIG: settings,
    HEADGATE_WORKERS: String(workerCount),
    HEADGATE_MANAGEMENT_KEY: managementKey,
    HEADGATE_SECRET_KEY: 'secret-key-of-the-fault-suite',
    HEADGATE_INITIAL_CREDITS: '100000',
    DATABASE_URL: database.url,
  })
  const writeSettings = (limits: object) =>
    writeFileSync(settings, JSON.stringify({ limits: { drain_delay: 0, ...limits } }))

  beforeAll(async () => {
    database = await createMigratedDatabase()
    writeSettings({})
    server = new Program([...program, 'serve'], environment())
    url = await server.url()
    await server.says(/workers started/)
  }, testTimeoutMs)
  afterAll(async () => {
    server.signal('SIGKILL')
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Each call has a connection of its own, which any worker may accept. */
  async function call(method: string, path: string, body?: object, key = managementKey) {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' }
    const init = body ? { method, headers, body: JSON.stringify(body) } : { method, headers }
    const response = await fetch(`${url}${path}`, init)
    return { status: response.status, text: await response.text() }
  }

  const createKey = async () => JSON.parse((await call('POST', '/api/v1/keys', { name: 'own' })).text).key
  const chat = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
  /** Has a rate limit, unlike /status. */
  const readWorkers = async (): Promise<{ pid: number }[]> =>
    JSON.parse((await call('GET', '/api/v1/system')).text).data.workers
  const areRunning = async (): Promise<boolean> => {
    const { workers } = JSON.parse((await call('GET', '/status')).text)
    return (
      workers.length === workerCount && workers.every(({ state }: { state: string }) => state === 'running')
    )
  }

  async function countChats(): Promise<number> {
    const { text } = await call('GET', '/metrics')
    const pattern = /^headgate_http_requests_total\{operation="createChatCompletion",status="200"\} (\d+)$/m
    return Number(pattern.exec(text)?.[1] ?? 0)
  }

  test('the endpoints of the server answer for all workers, whichever accepts the connection', async () => {
    const key = await createKey()
    const before = await countChats()
    const sent = 20
    for (let count = 0; count < sent; count++)
      expect((await call('POST', '/api/v1/chat/completions', chat, key)).status).toBe(200)
    for (let count = 0; count < 6; count++) {
      expect(await countChats()).toBe(before + sent)
      expect((await call('GET', '/readyz')).text).toBe('{"status":"ready"}')
      expect(await areRunning()).toBe(true)
    }
    const { data } = JSON.parse((await call('GET', '/api/v1/system')).text)
    expect(data).toMatchObject({
      workers: [{ number: 1, state: 'running' }, { number: 2 }],
      shared_state: { kind: 'workers' },
    })
    expect(data.warnings.map(({ code }: { code: string }) => code)).not.toContain('limits_per_node')
  })

  test('each worker has the metrics of all in the format that is asked for', async () => {
    const key = await createKey()
    for (let count = 0; count < 10; count++)
      expect((await call('POST', '/api/v1/chat/completions', chat, key)).status).toBe(200)
    const countOf = (text: string) =>
      Number(/^headgate_request_duration_seconds_count\{.*model="sandbox\/echo".*\} (\d+)$/m.exec(text)?.[1])
    const expected = countOf((await call('GET', '/metrics')).text)
    expect(expected).toBeGreaterThanOrEqual(10)
    const protobuf =
      'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited'
    for (let count = 0; count < 4; count++) {
      const open = await fetch(`${url}/metrics`, { headers: { accept: 'application/openmetrics-text' } })
      expect(countOf(await open.text())).toBe(expected)
      const encoded = await fetch(`${url}/metrics`, { headers: { accept: protobuf } })
      expect(encoded.headers.get('content-type')).toBe(protobuf)
      expect(Buffer.from(await encoded.arrayBuffer()).includes('headgate_worker_up')).toBe(true)
    }
  })

  test('R16 SIGHUP reloads all workers, and a limit of requests is that of all together', async () => {
    const limit = 10
    writeSettings({ requests_per_minute: limit })
    server.signal('SIGHUP')
    await server.says(/(reloaded[\s\S]*){2}/)
    // Another key if a minute ended meanwhile, because the next begins with another limit.
    for (;;) {
      const key = await createKey()
      const minute = Math.floor(Date.now() / 60_000)
      const requests = Array.from({ length: 3 * limit }, () =>
        call('POST', '/api/v1/chat/completions', chat, key),
      )
      const statuses = (await Promise.all(requests)).map(({ status }) => status)
      if (Math.floor(Date.now() / 60_000) !== minute) continue
      expect(statuses.filter((status) => status === 200)).toHaveLength(limit)
      expect(statuses.filter((status) => status === 429)).toHaveLength(2 * limit)
      break
    }
    writeSettings({})
    server.signal('SIGHUP')
    await server.says(/(reloaded[\s\S]*){4}/)
  })

  test('a worker that is killed is started again, and no count is lost', async () => {
    const before = await countChats()
    const killed = await readWorkers()
    for (const [index, { pid }] of killed.entries()) {
      process.kill(pid, 'SIGKILL')
      await server.says(
        new RegExp(`"worker":${index + 1},"reason":"SIGKILL","msg":"a worker ended unexpectedly"`),
      )
      // The other one answers.
      expect(await countChats()).toBe(before)
      await waitUntil(areRunning)
    }
    const pids = (await readWorkers()).map(({ pid }) => pid)
    expect(pids.filter((pid) => killed.some((worker) => worker.pid === pid))).toEqual([])
    expect(await countChats()).toBe(before)
  })

  test(
    'I7 restarts of the workers under load refuse no connection and cut none off',
    async () => {
      const key = await createKey()
      const before = await countChats()
      const totals = { requests: 0, connections: 0, failures: [] as string[] }
      let isDone = false
      const clients = Array.from({ length: clientCount }, async (_, index) => {
        while (!isDone) await useConnection(new URL(url), key, totals, index % 2 === 0 ? 1 : 200)
      })
      for (let round = 1; round <= rounds; round++) {
        const restart = new Program([...program, 'restart'], environment())
        expect(await restart.end()).toBe(0)
        await waitUntil(() => server.output.split('"msg":"workers restarted"').length > round)
        await waitUntil(areRunning)
      }
      isDone = true
      await Promise.all(clients)
      expect(totals.failures.slice(0, 5)).toEqual([])
      expect(await countChats()).toBe(before + totals.requests)
      const { requests, connections } = totals
      printTotals('restarts of workers', { requests, connections, restarts: rounds * workerCount })
    },
    testTimeoutMs,
  )

  test('a stop waits for a stream in flight and leaves nothing running', async () => {
    const key = await createKey()
    const workers = await readWorkers()
    const messages = [{ role: 'user', content: 'sandbox:length=40 sandbox:slow=20' }]
    const response = await fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'sandbox/echo', stream: true, messages }),
    })
    server.signal('SIGTERM')
    expect(await response.text()).toContain('data: [DONE]')
    expect(await server.end()).toBe(0)
    for (const { pid } of workers) expect(() => process.kill(pid, 0)).toThrow()
  })

  test('without the process that started them, workers end by themselves; the next start takes their place', async () => {
    server = new Program([...program, 'serve'], environment())
    url = await server.url()
    await server.says(/workers started/)
    const workers = await readWorkers()
    server.signal('SIGKILL')
    await server.exit()
    for (const { pid } of workers) await waitUntil(() => !isRunning(pid))
    server = new Program([...program, 'serve'], environment())
    url = await server.url()
    expect((await call('GET', '/healthz')).status).toBe(200)
    server.signal('SIGTERM')
    expect(await server.exit()).toBe(0)
  })

  test('a server whose workers cannot start ends with the reason', async () => {
    const broken = { ...environment(), DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/none' }
    const failing = new Program([...program, 'serve'], broken)
    expect(await failing.end()).toBe(1)
    expect(failing.output).toContain('headgate: Cannot open the database')
    expect(failing.output).toContain('headgate: Worker 1 did not start (exit code 1).')
    expect(failing.output).not.toContain('hunter2')
  })
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

interface LoadTotals {
  requests: number
  connections: number
  failures: string[]
}

/** Sends requests over one connection, until the server asks for its end or there were as many as `most`. */
function useConnection(
  { hostname, port }: URL,
  key: string,
  totals: LoadTotals,
  most: number,
): Promise<void> {
  const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] })
  const head = [
    'POST /api/v1/chat/completions HTTP/1.1',
    'host: workers',
    `authorization: Bearer ${key}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  const request = `${head.join('\r\n')}\r\n\r\n${body}`
  const { promise, resolve } = Promise.withResolvers<void>()
  const socket = connect({ host: hostname, port: Number(port) })
  let [text, served, isAnswered] = ['', 0, false]
  const send = () => {
    isAnswered = false
    socket.write(request)
  }
  socket.on('connect', () => {
    totals.connections++
    send()
  })
  socket.on('data', (data) => {
    text += data.toString('latin1')
    const [headers = '', content] = text.split('\r\n\r\n')
    const length = Number(/^content-length: (\d+)/im.exec(headers)?.[1])
    if (content === undefined || content.length < length) return
    if (headers.startsWith('HTTP/1.1 200')) totals.requests++
    else totals.failures.push(headers)
    isAnswered = true
    text = ''
    if (++served === most || /^connection: close\r?$/im.test(headers)) socket.end()
    else send()
  })
  socket.on('error', (error) => totals.failures.push(`${error.message} after ${served} requests`))
  socket.on('close', () => {
    if (!isAnswered) totals.failures.push(`the connection ended after ${served} requests`)
    resolve()
  })
  return promise
}
