import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId } from '../../src/platform/crypto/ids.ts'

const interpreter = process.env.HEADGATE_TEST_CLICKHOUSE

/** `npm run test:long -- clickhouse` installs the engine, and then `npm test` uses it as well. */
export const hasClickHouse = interpreter !== undefined

const login = { username: 'headgate', password: 'pass"word' }

/** The engine of ClickHouse behind its HTTP interface, and a proxy that can cut connections to it. */
export class TestClickHouse {
  readonly #engine: Bun.Subprocess<'ignore', 'pipe', 'inherit'>
  readonly #origin: string
  readonly #proxy: Server
  readonly #folder: string
  /** What happens to statements that match: not delivered, or delivered without the reply. */
  fault: { when: Pick<RegExp, 'test'>; kind: 'refused' | 'unacknowledged' } | null = null

  private constructor(engine: Bun.Subprocess<'ignore', 'pipe', 'inherit'>, port: number, folder: string) {
    this.#engine = engine
    this.#origin = `http://127.0.0.1:${port}`
    this.#folder = folder
    this.#proxy = createServer((request, response) => {
      this.#forward(request, response).catch(() => request.socket.destroy())
    })
  }

  static async start(): Promise<TestClickHouse> {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-clickhouse-'))
    const script = 'test/long/clickhouse/server.py'
    const engine = Bun.spawn([interpreter!, script, login.username, login.password, folder], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const { value } = await engine.stdout.getReader().read()
    const server = new TestClickHouse(engine, Number(new TextDecoder().decode(value)), folder)
    server.#proxy.listen(0, '127.0.0.1')
    await once(server.#proxy, 'listening')
    return server
  }

  /** Variables for a database that nobody else uses. */
  async newEnvironment(): Promise<Record<string, string>> {
    const database = newId('test').replaceAll('-', '_')
    await this.query(`CREATE DATABASE ${database}`)
    const { port } = this.#proxy.address() as AddressInfo
    const user = `${login.username}:${encodeURIComponent(login.password)}`
    return {
      CLICKHOUSE_URL: `http://${user}@127.0.0.1:${port}/${database}`,
      CLICKHOUSE_TIMEOUT_MS: '60000',
    }
  }

  /** The rows of a query, past the proxy. */
  async query(sql: string, database = 'default'): Promise<Record<string, unknown>[]> {
    const response = await fetch(this.#origin, {
      method: 'POST',
      headers: {
        'x-clickhouse-user': login.username,
        'x-clickhouse-key': login.password,
        'x-clickhouse-database': database,
      },
      body: sql,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const { search, searchParams } = new URL(request.url ?? '/', this.#origin)
    const statement = searchParams.get('query') ?? body
    const isFaulty = this.fault?.when.test(statement) === true
    if (isFaulty && this.fault?.kind === 'refused') return void request.socket.destroy()
    const headers = ['user', 'key', 'database'].map((name) => `x-clickhouse-${name}`)
    const reply = await fetch(`${this.#origin}/${search}`, {
      method: 'POST',
      headers: Object.fromEntries(headers.map((name) => [name, String(request.headers[name])])),
      body,
    })
    const text = await reply.text()
    if (isFaulty) request.socket.destroy()
    else response.writeHead(reply.status).end(text)
  }

  async stop(): Promise<void> {
    this.#proxy.closeAllConnections()
    this.#proxy.close()
    this.#engine.kill('SIGKILL')
    await this.#engine.exited
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
