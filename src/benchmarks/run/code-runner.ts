import type { ContainerService } from '../../containers/service.ts'
import type { ContainerOwner } from '../../containers/session.ts'
import { newId } from '../../lib/ids.ts'
import type { CodeTask } from './task.ts'

/** Runs code that a model wrote, with the tests of its task. */
export interface CodeRunner {
  passesTests(task: CodeTask, code: string): Promise<boolean>
}

/** The file of the solution, that of the tests, and how they are run. */
const languages: Record<CodeTask['language'], { solution: string; tests: string; command: string }> = {
  python: { solution: 'solution.py', tests: 'tests.py', command: 'python3 tests.py' },
  javascript: { solution: 'solution.mjs', tests: 'tests.mjs', command: 'node tests.mjs' },
  bash: { solution: 'solution.sh', tests: 'tests.sh', command: 'bash tests.sh' },
}

const timeoutMs = 60_000
/** Longer code is wrong: a command has a maximum length. */
const maxCodeLength = 100_000

/** Each solution has a container of its own, without network. */
export class ContainerCodeRunner implements CodeRunner {
  readonly #containers: Pick<ContainerService, 'resolve' | 'run'>
  readonly #owner: ContainerOwner

  constructor(containers: Pick<ContainerService, 'resolve' | 'run'>, owner: ContainerOwner) {
    this.#containers = containers
    this.#owner = owner
  }

  async passesTests({ language, tests }: CodeTask, code: string): Promise<boolean> {
    if (code.length > maxCodeLength) return false
    const files = languages[language]
    const origin = { generationId: newId('benchmark') }
    const session = await this.#containers.resolve(this.#owner, { type: 'container_auto' }, origin)
    const command = [
      writeFileCommand(files.solution, code),
      writeFileCommand(files.tests, tests),
      `exec ${files.command}`,
    ].join('\n')
    const { exitCode, timedOut } = await this.#containers.run(session, {
      command,
      timeoutMs,
      signal: AbortSignal.timeout(2 * timeoutMs),
    })
    return exitCode === 0 && !timedOut
  }
}

/** In base64: the text may contain anything. */
function writeFileCommand(name: string, text: string): string {
  return `base64 -d > ${name} <<'END' || exit 1\n${Buffer.from(text).toString('base64')}\nEND`
}
