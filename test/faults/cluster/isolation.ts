import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `npm run faults` has checked for the tools that the lab needs. */
export const valkeyProgram = process.env.TEST_LAB_VALKEY

/** Namespaces of its own for network, mounts and processes: whatever the lab starts or changes ends with it. */
const isolated = ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/** The lab, in a process that reads a name of a fault in each line and writes a report in another. */
export class IsolatedLab {
  readonly #process: Bun.Subprocess<'pipe', 'pipe', 'inherit'>
  readonly #folder = mkdtempSync(join(tmpdir(), 'headgate-cluster-'))
  readonly #lines: AsyncIterator<string>

  constructor(valkey: string, requestCount: number) {
    const script = join(import.meta.dir, 'run.ts')
    const program = [process.execPath, '--no-env-file', script, valkey, `${requestCount}`]
    // PostgreSQL runs as another user.
    chmodSync(this.#folder, 0o711)
    this.#process = Bun.spawn([...isolated, ...program], {
      env: { ...process.env, TMPDIR: this.#folder },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    this.#lines = readLines(this.#process.stdout)
  }

  async read(): Promise<unknown> {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error('the lab has ended')
    return JSON.parse(value)
  }

  run(name: string): Promise<unknown> {
    this.#process.stdin.write(`${name}\n`)
    void this.#process.stdin.flush()
    return this.read()
  }

  async close(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#process.exited
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
