import type { JsonObject } from '../../../platform/json/json-values.ts'
import { Budget } from './budget.ts'
import type { CodeRunner } from './code-runner.ts'
import type { GatewayClient } from './gateway-client.ts'
import { gradeReply } from './grade.ts'
import { RunError } from './run-error.ts'
import type { Answer, StateFile } from './state-file.ts'
import { buildTaskBody, promptOf, type Task } from './task.ts'

export interface RunPlan {
  tasks: readonly Task[]
  models: readonly string[]
  repeats: number
  concurrency: number
  /** Nano-dollars for the whole run; null: unlimited. */
  budget: bigint | null
  /** Fields of every request, such as the temperature. */
  fields: JsonObject
}

export interface RunParts {
  client: Pick<GatewayClient, 'complete' | 'quote'>
  codeRunner: CodeRunner | null
  state: Pick<StateFile, 'answers' | 'add'>
  onProgress: (progress: Progress) => void
}

export interface Progress {
  done: number
  total: number
  correct: number
  spent: bigint
}

export interface RunOutcome {
  answers: Answer[]
  /** The reasons why tasks have no answer. */
  failures: { model: string; task: number; message: string }[]
  stoppedBy: 'budget' | 'failures' | null
  spent: bigint
}

interface WorkItem {
  model: string
  task: number
  repeat: number
}

/** Something that affects every request is wrong. */
const maxConsecutiveFailures = 5

/** Sends every task to every model, several at the same time. */
export async function runTasks(plan: RunPlan, parts: RunParts): Promise<RunOutcome> {
  const run = new Run(plan, parts)
  const workers = Array.from({ length: plan.concurrency }, () => run.work())
  await Promise.all(workers)
  return run.outcome
}

class Run {
  readonly outcome: RunOutcome
  readonly #plan: RunPlan
  readonly #parts: RunParts
  readonly #queue: WorkItem[]
  readonly #total: number
  readonly #budget: Budget
  #inFlight = 0
  #correct = 0
  #consecutiveFailures = 0
  #wakeWaiting = Promise.withResolvers<void>()

  constructor(plan: RunPlan, parts: RunParts) {
    const { answers } = parts.state
    const done = new Set(answers.map(formatItem))
    const all = listItems(plan)
    this.#plan = plan
    this.#parts = parts
    this.#total = all.length
    this.#queue = all.filter((item) => !done.has(formatItem(item)))
    this.#budget = new Budget(
      plan.budget,
      answers.reduce((sum, { costNanos }) => sum + costNanos, 0n),
    )
    this.#correct = answers.filter(({ isCorrect }) => isCorrect).length
    this.outcome = { answers: [...answers], failures: [], stoppedBy: null, spent: this.#budget.spent }
  }

  /** One of several loops over the queue. */
  async work(): Promise<void> {
    for (let item = this.#queue.shift(); item && !this.outcome.stoppedBy; item = this.#queue.shift()) {
      await this.#process(item)
      this.#reportProgress()
    }
  }

  async #process(item: WorkItem): Promise<void> {
    const task = this.#plan.tasks[item.task]
    if (!task) return
    try {
      const body = { model: item.model, ...buildTaskBody(task), ...this.#plan.fields }
      const reserved = await this.#reserve(body)
      if (reserved === null) {
        this.outcome.stoppedBy ??= 'budget'
        return
      }
      await this.#send(item, task, body, reserved)
      this.#consecutiveFailures = 0
    } catch (error) {
      this.#recordFailure(item, error)
    }
  }

  /** Counts the request as in flight. Waits for the others: they may cost less than their worst case. Null if the budget does not suffice. */
  async #reserve(body: JsonObject): Promise<bigint | null> {
    const worst = this.#budget.isLimited ? await this.#parts.client.quote(body) : 0n
    if (worst === null)
      throw new RunError('The price of the model is unknown, so that a budget cannot be kept.')
    while (!this.#budget.reserve(worst)) {
      if (this.#inFlight === 0 || this.outcome.stoppedBy) return null
      await this.#wakeWaiting.promise
    }
    this.#inFlight += 1
    return worst
  }

  async #send(item: WorkItem, task: Task, body: JsonObject, reserved: bigint): Promise<void> {
    try {
      const { text, costNanos, latencyMs } = await this.#parts.client.complete(body)
      // A request that failed keeps its reservation: the provider may have billed it.
      this.#budget.settle(reserved, costNanos)
      this.outcome.spent = this.#budget.spent
      const isCorrect = await gradeReply(task, text, this.#parts.codeRunner)
      const answer = { ...item, isCorrect, costNanos, latencyMs, prompt: promptOf(task), reply: text }
      this.#parts.state.add(answer)
      this.outcome.answers.push(answer)
      if (isCorrect) this.#correct += 1
    } finally {
      this.#inFlight -= 1
      this.#wakeWaiting.resolve()
      this.#wakeWaiting = Promise.withResolvers()
    }
  }

  #recordFailure({ model, task }: WorkItem, error: unknown): void {
    if (!(error instanceof Error)) throw error
    this.outcome.failures.push({ model, task, message: error.message })
    this.#consecutiveFailures += 1
    if (this.#consecutiveFailures >= maxConsecutiveFailures) this.outcome.stoppedBy ??= 'failures'
  }

  #reportProgress(): void {
    const { answers, spent } = this.outcome
    this.#parts.onProgress({ done: answers.length, total: this.#total, correct: this.#correct, spent })
  }
}

/** Models take turns, so that an interrupted run has something of each. */
function listItems({ tasks, models, repeats }: RunPlan): WorkItem[] {
  return Array.from({ length: repeats }, (_, repeat) =>
    tasks.flatMap((_task, task) => models.map((model) => ({ model, task, repeat }))),
  ).flat()
}

function formatItem({ model, task, repeat }: WorkItem): string {
  return `${repeat} ${task} ${model}`
}
