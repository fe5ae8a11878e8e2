import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { SQL } from 'bun'

interface StartedPostgres {
  url: string
  stop: () => void
}

/** A PostgreSQL server for one test, which can be stopped and started. */
export class PrivatePostgres {
  readonly url: string
  readonly #started: StartedPostgres
  readonly #data: string
  readonly #tool: string
  readonly #options: string

  private constructor(started: StartedPostgres, data: string, binaries: string) {
    this.url = started.url
    this.#started = started
    this.#data = data
    this.#tool = join(binaries, 'pg_ctl')
    // Its first line is the command it was started with.
    const [, ...options] = readFileSync(join(data, 'postmaster.opts'), 'utf8').trim().split(' "')
    this.#options = options.map((option) => `'${option.replace(/"$/, '')}'`).join(' ')
  }

  /** Null where PostgreSQL is not installed. */
  static async start(): Promise<PrivatePostgres | null> {
    const { startPostgres } = (await import(resolve('scripts/postgres.mjs'))) as {
      startPostgres: () => Promise<StartedPostgres | null>
    }
    const started = await startPostgres()
    if (!started) return null
    const admin = new SQL(started.url, { max: 1 })
    const [{ data_directory }] = await admin`show data_directory`
    const [{ setting }] = await admin`select setting from pg_config where name = 'BINDIR'`
    await admin.close({ timeout: 1 })
    return new PrivatePostgres(started, data_directory, setting)
  }

  /** Stops like a crash: connections are not closed cleanly. */
  stop(): Promise<void> {
    return this.#control('stop', '-m', 'immediate')
  }

  start(): Promise<void> {
    return this.#control('start', '-l', join(dirname(this.#data), 'log'), '-o', this.#options)
  }

  close(): void {
    this.#started.stop()
  }

  async #control(...args: string[]): Promise<void> {
    const { uid, gid } = statSync(this.#data)
    const user = process.getuid?.() === 0 ? { uid, gid } : {}
    const command = ['-D', this.#data, '-w', '-t', '60', ...args]
    const child = spawn(this.#tool, command, { ...user, cwd: this.#data, stdio: 'ignore' })
    const status = await new Promise((resolve) => child.on('exit', resolve))
    if (status !== 0) throw new Error(`pg_ctl ${args[0]} ended with ${status}`)
  }
}
