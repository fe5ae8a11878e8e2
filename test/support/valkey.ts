import { tmpdir } from 'node:os'
import type { RedisConfig } from '../../src/config/redis.ts'
import { readConfig } from '../../src/config.ts'
import { newId } from '../../src/platform/crypto/ids.ts'
import { waitUntil } from './wait-until.ts'

const url = process.env.TEST_REDIS_URL
const program = process.env.TEST_VALKEY

/** The test runner fails in CI when there is no Valkey server. */
export const hasValkey = url !== undefined && program !== undefined

/** Variables for keys that nobody else uses, by default on the server of the test run. */
export function newRedisEnvironment(address = url): Record<string, string> {
  // A busy machine takes longer than the default of an installation.
  return { REDIS_URL: `${address}`, REDIS_PREFIX: newId('test'), REDIS_TIMEOUT_MS: '5000' }
}

export function newRedisConfig(overrides: Record<string, string> = {}): RedisConfig {
  const { redis } = readConfig({ ...newRedisEnvironment(), ...overrides })
  if (!redis) throw new Error('there is no Valkey server')
  return redis
}

/** A server of one test, which it may stop and freeze. */
export class TestValkey {
  readonly port: number
  readonly #options: readonly string[]
  #process: Bun.Subprocess

  private constructor(port: number, options: readonly string[], first: readonly string[]) {
    this.port = port
    this.#options = [...first, '--port', String(port), '--bind', '127.0.0.1', ...options]
    this.#process = this.#spawn()
  }

  static start(...options: string[]): Promise<TestValkey> {
    return TestValkey.#launch(['--save', '', ...options])
  }

  /** A Sentinel, which writes to its file of settings. */
  static startSentinel(file: string): Promise<TestValkey> {
    return TestValkey.#launch(['--sentinel'], [file])
  }

  static async #launch(options: readonly string[], first: readonly string[] = []): Promise<TestValkey> {
    const server = new TestValkey(findFreePort(), options, first)
    await server.#waitUntilReady()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#process.exited
  }

  /** Starts it again on the same port, without its data. */
  async restart(): Promise<void> {
    this.#process = this.#spawn()
    await this.#waitUntilReady()
  }

  freeze(): void {
    this.#process.kill('SIGSTOP')
  }

  resume(): void {
    this.#process.kill('SIGCONT')
  }

  /** Sends a command on a connection of its own. */
  async send(...command: string[]): Promise<unknown> {
    const client = new Bun.RedisClient(this.url, { autoReconnect: false })
    try {
      return await client.send(command[0] ?? '', command.slice(1))
    } finally {
      client.close()
    }
  }

  #spawn(): Bun.Subprocess {
    return Bun.spawn([program ?? '', ...this.#options], {
      // A replica writes a file.
      cwd: tmpdir(),
      stdout: 'ignore',
      stderr: 'ignore',
    })
  }

  async #waitUntilReady(): Promise<void> {
    await waitUntil(() =>
      this.send('PING').then(
        () => true,
        // One with a password answers too.
        (error: unknown) => String(error).includes('NOAUTH'),
      ),
    )
  }
}

export function findFreePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  const { port } = listener
  listener.stop(true)
  return port
}
