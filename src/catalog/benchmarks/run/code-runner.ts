import type { ContainerService } from '../../../containers/service.ts'
import type { ContainerOwner } from '../../../containers/session.ts'
import { LinkedAbortController } from '../../../platform/concurrency/linked-abort-controller.ts'
import { newId } from '../../../platform/crypto/ids.ts'
import { RunError } from './run-error.ts'
import type { CodeTask } from './task.ts'

type Language = CodeTask['language']

/** Runs code that a model wrote, with the tests of its task. */
export interface CodeRunner {
  passesTests(task: CodeTask, code: string): Promise<boolean>
}

interface Toolchain {
  solution: string
  tests: string
  /** Runs the tests. */
  command: string
  /** Succeeds wherever the language works. */
  probe: string
}

const toolchains: Record<Language, Toolchain> = {
  python: {
    solution: 'solution.py',
    tests: 'tests.py',
    command: 'python3 tests.py',
    probe: 'python3 -c pass',
  },
  javascript: {
    solution: 'solution.mjs',
    tests: 'tests.mjs',
    command: 'node tests.mjs',
    probe: 'node --eval 0',
  },
  bash: { solution: 'solution.sh', tests: 'tests.sh', command: 'bash tests.sh', probe: 'bash -c true' },
}

const timeoutMs = 60_000
/** Longer code is wrong: a command has a maximum length. */
const maxCodeLength = 100_000

type Containers = Pick<ContainerService, 'resolve' | 'run'>
type Session = Awaited<ReturnType<Containers['resolve']>>

/** Each solution has a container of its own, without network. */
export class ContainerCodeRunner implements CodeRunner {
  readonly #containers: Containers
  readonly #owner: ContainerOwner

  constructor(containers: Containers, owner: ContainerOwner) {
    this.#containers = containers
    this.#owner = owner
  }

  /** Throws if a language cannot be run here: before any request is paid. */
  async check(languages: Iterable<Language>): Promise<void> {
    const session = await this.#open()
    for (const language of new Set(languages)) await this.#assertWorks(session, language)
  }

  async passesTests({ language, tests }: CodeTask, code: string): Promise<boolean> {
    if (code.length > maxCodeLength) return false
    const toolchain = toolchains[language]
    const session = await this.#open()
    const command = [
      writeFileCommand(toolchain.solution, code),
      writeFileCommand(toolchain.tests, tests),
      `exec ${toolchain.command}`,
    ].join('\n')
    const { exitCode, timedOut } = await this.#run(session, command)
    if (exitCode === 0 && !timedOut) return true
    // A failure counts against the model only where the environment works.
    await this.#assertWorks(session, language)
    return false
  }

  async #assertWorks(session: Session, language: Language): Promise<void> {
    const { probe } = toolchains[language]
    const { exitCode, timedOut, stderr } = await this.#run(session, probe)
    if (exitCode === 0 && !timedOut) return
    const outcome = timedOut ? 'does not end' : `ends with exit code ${exitCode}`
    const detail = stderr.trim().split('\n').at(-1)?.slice(0, 200)
    throw new RunError(
      `The container cannot run ${language}: "${probe}" ${outcome}${detail ? ` (${detail})` : ''}. Install it where containers.system of headgate.yaml finds it, and check containers.memory_bytes and containers.processes.`,
    )
  }

  #open(): Promise<Session> {
    const origin = { generationId: newId('benchmark') }
    return this.#containers.resolve(this.#owner, { type: 'container_auto' }, origin)
  }

  async #run(session: Session, command: string) {
    const abort = new LinkedAbortController([], 2 * timeoutMs)
    try {
      return await this.#containers.run(session, { command, timeoutMs, signal: abort.signal })
    } finally {
      abort.close()
    }
  }
}

/** Writes a file from base64: the text may contain anything. */
function writeFileCommand(name: string, text: string): string {
  return `base64 -d > ${name} <<'END' || exit 1\n${Buffer.from(text).toString('base64')}\nEND`
}
