import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { RunError } from './run-error.ts'

const header = z.object({ run_id: z.string(), started_at: z.string() })

const line = z.object({
  model: z.string(),
  task: z.int(),
  repeat: z.int(),
  correct: z.boolean(),
  cost_nanos: z.string().regex(/^\d+$/),
  latency_ms: z.number(),
})

/** The outcome of one task with one model. */
export interface Answer {
  model: string
  task: number
  repeat: number
  isCorrect: boolean
  costNanos: bigint
  latencyMs: number
}

/** The answers of a run, written one by one, so that an interrupted run can be continued. */
export class StateFile {
  readonly path: string
  readonly runId: string
  readonly startedAt: string
  readonly answers: readonly Answer[]

  private constructor(path: string, { run_id, started_at }: z.output<typeof header>, answers: Answer[]) {
    this.path = path
    this.runId = run_id
    this.startedAt = started_at
    this.answers = answers
  }

  /** Continues the run if it was interrupted and `isResumed`, else starts it. */
  static open(path: string, { isResumed, runId, now }: { isResumed: boolean; runId: string; now: string }) {
    const interrupted = existsSync(path) ? StateFile.#read(path) : null
    if (isResumed) {
      if (interrupted) return interrupted
      throw new RunError('There is no interrupted run of these tasks, models and options.')
    }
    if (interrupted && interrupted.answers.length > 0)
      throw new RunError(
        `This run was interrupted. Continue it with --resume, or delete ${path} to start again.`,
      )
    mkdirSync(dirname(path), { recursive: true })
    const first = { run_id: runId, started_at: now }
    writeFileSync(path, `${JSON.stringify(first)}\n`)
    return new StateFile(path, first, [])
  }

  static #read(path: string): StateFile {
    const [first, ...rest] = readFileSync(path, 'utf8').split('\n').map(parseLine)
    const { data } = header.safeParse(first)
    if (!data) throw new RunError(`${path} is damaged. Delete it to start the run again.`)
    // The last line may be incomplete.
    const answers = rest.flatMap((value) => {
      const parsed = line.safeParse(value)
      return parsed.success ? toAnswer(parsed.data) : []
    })
    return new StateFile(path, data, answers)
  }

  add({ model, task, repeat, isCorrect, costNanos, latencyMs }: Answer): void {
    const entry: z.output<typeof line> = {
      model,
      task,
      repeat,
      correct: isCorrect,
      cost_nanos: String(costNanos),
      latency_ms: latencyMs,
    }
    appendFileSync(this.path, `${JSON.stringify(entry)}\n`)
  }

  delete(): void {
    rmSync(this.path, { force: true })
  }
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function toAnswer({ model, task, repeat, correct, cost_nanos, latency_ms }: z.output<typeof line>): Answer {
  return { model, task, repeat, isCorrect: correct, costNanos: BigInt(cost_nanos), latencyMs: latency_ms }
}
