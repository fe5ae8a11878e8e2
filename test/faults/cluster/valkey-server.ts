import { tmpdir } from 'node:os'
import { waitUntil } from '../../support/wait-until.ts'
import { Machine } from './machine.ts'

const port = 6379

/** A Valkey server on a machine of its own, without files. */
export class ValkeyServer {
  readonly machine: Machine
  readonly #program: string
  #process: Bun.Subprocess | null = null

  private constructor(machine: Machine, program: string) {
    this.machine = machine
    this.#program = program
  }

  static async create(number: number, program: string): Promise<ValkeyServer> {
    const server = new ValkeyServer(await Machine.create(number), program)
    await server.start()
    return server
  }

  get url(): string {
    return `redis://${this.machine.address}:${port}`
  }

  /** Ends it, and with it all its data. */
  async kill(): Promise<void> {
    this.#process?.kill('SIGKILL')
    await this.#process?.exited
  }

  async start(): Promise<void> {
    const options = [
      '--port',
      `${port}`,
      '--bind',
      this.machine.address,
      '--protected-mode',
      'no',
      '--save',
      '',
    ]
    this.#process = Bun.spawn([...this.machine.enter, this.#program, ...options], {
      cwd: tmpdir(),
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await waitUntil(() =>
      this.countKeys().then(
        () => true,
        () => false,
      ),
    )
  }

  async countKeys(): Promise<number> {
    const client = new Bun.RedisClient(this.url, { autoReconnect: false })
    try {
      return Number(await client.send('DBSIZE', []))
    } finally {
      client.close()
    }
  }
}
