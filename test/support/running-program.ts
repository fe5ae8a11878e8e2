import { tmpdir } from 'node:os'

/** Time limit of a start, which takes long on a busy machine. */
export const patienceMs = 50_000

/** The whole program as an operator runs it: a process, its output, its exit code. */
export class Program {
  readonly #process: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  readonly #collecting: Promise<void>[]
  output = ''

  constructor(command: string[], environment: Record<string, string>) {
    this.#process = Bun.spawn(command, {
      // Not the project's own folder, whose .env may name a real database.
      cwd: tmpdir(),
      env: {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        PORT: '0',
        LOG_LEVEL: 'info',
        // Compiling hot functions is not worth it for a few requests.
        BUN_JSC_useDFGJIT: 'false',
        ...environment,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    this.#collecting = [this.#process.stdout, this.#process.stderr].map((stream) => this.#collect(stream))
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    for await (const chunk of stream) this.output += decoder.decode(chunk, { stream: true })
  }

  /** Waits until the output matches. */
  async says(pattern: RegExp): Promise<RegExpMatchArray> {
    for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await Bun.sleep(10)) {
      const match = this.output.match(pattern)
      if (match) return match
      if (this.#process.exitCode !== null) break
    }
    throw new Error(`no output matched ${pattern}: ${this.output}`)
  }

  async url(): Promise<string> {
    return (await this.says(/Base URL: (\S+)\/api\/v1/))[1] ?? ''
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  async exit(): Promise<number> {
    return this.#process.exited
  }

  /** Waits for the end and the rest of its output. */
  async end(): Promise<number> {
    await Promise.all(this.#collecting)
    return this.exit()
  }
}
