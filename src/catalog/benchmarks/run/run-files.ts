import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { RunError } from './run-error.ts'
import { StateFile } from './state-file.ts'

/** Older finished runs are deleted; their scores stay in the database. */
const maxFinishedRuns = 100

/** The files of runs below the data directory: interrupted ones by what they run, finished ones by their id. */
export class RunFiles {
  readonly #folder: string

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'benchmarks')
  }

  get #finished(): string {
    return join(this.#folder, 'finished')
  }

  pathOf(name: string): string {
    return join(this.#folder, `${name}.jsonl`)
  }

  /** The newest first. A file that cannot be read is not a run. */
  list(): { run: StateFile; isFinished: boolean }[] {
    return [
      ...readRuns(this.#folder).map((run) => ({ run, isFinished: false })),
      ...readRuns(this.#finished).map((run) => ({ run, isFinished: true })),
    ].sort((a, b) => (a.run.startedAt < b.run.startedAt ? 1 : -1))
  }

  find(runId: string): { run: StateFile; isFinished: boolean } | undefined {
    return this.list().find(({ run }) => run.runId === runId)
  }

  finish(run: StateFile): void {
    run.finish(this.#finished)
    const files = listFiles(this.#finished).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
    for (const path of files.slice(maxFinishedRuns)) StateFile.read(path).delete()
  }
}

function readRuns(folder: string): StateFile[] {
  return listFiles(folder).flatMap((path) => {
    try {
      return [StateFile.read(path)]
    } catch (error) {
      if (error instanceof RunError) return []
      throw error
    }
  })
}

function listFiles(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => join(folder, name))
}
