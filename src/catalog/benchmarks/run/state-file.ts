import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { RunError } from './run-error.ts'

/** Identifies the run. Earlier versions wrote only the id and the start. */
const header = z.object({
  run_id: z.string(),
  started_at: z.string(),
  benchmark: z.string().optional(),
  models: z.array(z.string()).optional(),
  tasks: z.int().optional(),
  repeats: z.int().optional(),
})

export type RunHeader = z.output<typeof header>

const line = z.object({
  model: z.string(),
  task: z.int(),
  repeat: z.int(),
  correct: z.boolean(),
  cost_nanos: z.string().regex(/^\d+$/),
  latency_ms: z.number(),
  prompt: z.string().optional(),
  reply: z.string().optional(),
})

/** The outcome of one task with one model. */
export interface Answer {
  model: string
  task: number
  repeat: number
  isCorrect: boolean
  costNanos: bigint
  latencyMs: number
  /** The beginnings of the prompt and of the reply; absent in runs of earlier versions. */
  prompt?: string | undefined
  reply?: string | undefined
}

/** Enough to judge an answer by, without storing whole programs. */
const maxTextLength = 2000

/** The answers of a run, written one by one, so that an interrupted run can be continued and a finished one inspected. */
export class StateFile {
  readonly path: string
  readonly header: RunHeader
  readonly answers: readonly Answer[]

  private constructor(path: string, runHeader: RunHeader, answers: Answer[]) {
    this.path = path
    this.header = runHeader
    this.answers = answers
  }

  get runId(): string {
    return this.header.run_id
  }

  get startedAt(): string {
    return this.header.started_at
  }

  /** Continues the run if it was interrupted and `isResumed`, else starts it. */
  static open(path: string, { isResumed, header }: { isResumed: boolean; header: RunHeader }) {
    const interrupted = existsSync(path) ? StateFile.read(path) : null
    if (isResumed) {
      if (interrupted) {
        // Ends a line that a crash cut off, which would swallow the next answer.
        if (!readFileSync(path, 'utf8').endsWith('\n')) appendFileSync(path, '\n')
        return interrupted
      }
      throw new RunError('There is no interrupted run of these tasks, models and options.')
    }
    if (interrupted && interrupted.answers.length > 0)
      throw new RunError(
        `This run was interrupted. Continue it with --resume, or start again after "benchmark delete ${interrupted.runId}".`,
      )
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${JSON.stringify(header)}\n`)
    return new StateFile(path, header, [])
  }

  static read(path: string): StateFile {
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

  add({ model, task, repeat, isCorrect, costNanos, latencyMs, prompt, reply }: Answer): void {
    const entry: z.output<typeof line> = {
      model,
      task,
      repeat,
      correct: isCorrect,
      cost_nanos: String(costNanos),
      latency_ms: latencyMs,
      ...(prompt !== undefined && { prompt: prompt.slice(0, maxTextLength) }),
      ...(reply !== undefined && { reply: reply.slice(0, maxTextLength) }),
    }
    appendFileSync(this.path, `${JSON.stringify(entry)}\n`)
  }

  /** Frees the name for another run of the same tasks; the answers remain for inspection. */
  finish(folder: string): void {
    mkdirSync(folder, { recursive: true })
    renameSync(this.path, join(folder, `${this.runId}.jsonl`))
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

function toAnswer({ correct, cost_nanos, latency_ms, ...entry }: z.output<typeof line>): Answer {
  return { ...entry, isCorrect: correct, costNanos: BigInt(cost_nanos), latencyMs: latency_ms }
}
