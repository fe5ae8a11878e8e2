import { chownSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { findPostgres } from '../../../scripts/postgres.mjs'
import { waitUntil } from '../../support/wait-until.ts'
import { Machine, runCommand } from './machine.ts'

const port = 5432
const user = 'headgate'
const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=200', 'hot_standby=on']

const installed = findPostgres()

/** A PostgreSQL server on a machine of its own. */
export class PostgresServer {
  readonly target: { host: string; port: number }
  readonly #machine: Machine
  readonly #data: string
  #process: Bun.Subprocess | null = null

  private constructor(machine: Machine, folder: string) {
    this.#machine = machine
    this.#data = join(folder, 'data')
    this.target = { host: machine.address, port }
    mkdirSync(folder, { recursive: true })
    if (installed?.uid !== undefined) chownSync(folder, installed.uid, installed.gid ?? installed.uid)
  }

  static async createPrimary(number: number, folder: string): Promise<PostgresServer> {
    const server = new PostgresServer(await Machine.create(number), folder)
    await server.#run('initdb', '-D', server.#data, '-U', user, '-A', 'trust', '-E', 'UTF8', '--no-sync')
    await server.#run('sh', '-c', `echo 'host all,replication all all trust' >> ${server.#data}/pg_hba.conf`)
    await server.#start()
    return server
  }

  /** A standby of `primary`, which then confirms a transaction only when the standby has it. */
  static async createStandby(
    number: number,
    folder: string,
    primary: PostgresServer,
  ): Promise<PostgresServer> {
    const server = new PostgresServer(await Machine.create(number), folder)
    const source = ['-h', primary.target.host, '-U', user, '-c', 'fast', '-X', 'stream', '-R']
    await server.#run('pg_basebackup', ...source, '-D', server.#data)
    await server.#start()
    await primary.query("alter system set synchronous_standby_names = '*'")
    await primary.query('select pg_reload_conf()')
    return server
  }

  urlOf(database: string): string {
    return `postgres://${user}@${this.target.host}:${port}/${database}`
  }

  async query(statement: string, database = 'postgres'): Promise<unknown[]> {
    const sql = new SQL(this.urlOf(database), { max: 1, connectionTimeout: 5 })
    try {
      return [...(await sql.unsafe(statement))]
    } finally {
      await sql.close({ timeout: 1 })
    }
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.query('select pg_promote()')
  }

  freeze(): void {
    this.#signal('SIGSTOP')
  }

  resume(): void {
    this.#signal('SIGCONT')
  }

  /** Ends all its processes at once, as a power cut does. */
  async kill(): Promise<void> {
    this.#signal('SIGKILL')
    await this.#process?.exited
  }

  /** Sends a signal to the server and its processes. */
  #signal(signal: NodeJS.Signals): void {
    const pid = this.#process?.pid
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    for (const target of [`${pid}`, ...children]) if (target) process.kill(Number(target), signal)
  }

  async #start(): Promise<void> {
    const options = settings.flatMap((setting) => ['-c', setting])
    const address = ['-h', this.#machine.address, '-p', `${port}`, '-k', '']
    this.#process = Bun.spawn(this.#command('postgres', '-D', this.#data, ...address, ...options), {
      cwd: '/',
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await waitUntil(() =>
      this.query('select 1').then(
        () => true,
        () => false,
      ),
    )
  }

  #command(tool: string, ...args: string[]): string[] {
    const program = tool === 'sh' ? tool : join(installed?.binaries ?? '', tool)
    const account = installed?.uid === undefined ? [] : ['-S', `${installed.uid}`, '-G', `${installed.gid}`]
    return [...this.#machine.enter, ...account, '--wd=/', program, ...args]
  }

  async #run(tool: string, ...args: string[]): Promise<void> {
    await runCommand(...this.#command(tool, ...args))
  }
}
