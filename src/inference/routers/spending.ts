import type { Logger } from 'pino'
import { readTaskSpending, type TaskSpending } from '../../analytics/datasets/task-spending.ts'
import type { Group } from '../../analytics/rollups/aggregator.ts'
import { queryRollups } from '../../analytics/rollups/query.ts'
import type { Db } from '../../platform/db/db.ts'
import { subsystemLog } from '../../platform/logging/subsystem-log.ts'
import { utcDay } from '../../platform/time/time.ts'

const dayMs = 86_400_000
const windowDays = 7
const minuteMs = 60_000
/** Age in milliseconds at which figures are read again, in the background. */
const refreshMs = 10 * minuteMs
/** Milliseconds that the first request of an organization waits for its figures. */
const firstWaitMs = 1000
const queryTimeoutMs = 10_000
/** Milliseconds between a failed reading and the next. */
const retryMs = minuteMs
/** Organizations in memory; beyond this number, those that were idle longest are evicted. */
const maxOrganizations = 2000

interface ModelUsage {
  nanos: number
  /** Tokens of prompts by the tag of the endpoint. */
  prompts: Map<string, { all: number; cached: number }>
}

/** The spending of an organization in the last seven days. */
export class SpendingFigures {
  readonly #models = new Map<string, ModelUsage>()
  #total = 0
  /** Totals of kinds of tasks, and of models within each. */
  readonly #tasks = new Map<string, { total: number; models: Map<string, number> }>()

  constructor(groups: readonly Group[], tasks: readonly TaskSpending[]) {
    for (const group of groups) {
      const [model, endpoint] = group.values
      if (model === null || model === undefined) continue
      const usage = this.#models.get(model) ?? { nanos: 0, prompts: new Map() }
      const nanos = Number(group.sum('credits') + group.sum('byok_upstream'))
      usage.nanos += nanos
      this.#total += nanos
      usage.prompts.set(endpoint ?? '', {
        all: Number(group.sum('prompt')),
        cached: Number(group.sum('cached')),
      })
      this.#models.set(model, usage)
    }
    for (const { tag, model, nanos } of tasks) {
      const task = this.#tasks.get(tag) ?? { total: 0, models: new Map() }
      task.total += nanos
      task.models.set(model, nanos)
      this.#tasks.set(tag, task)
    }
  }

  /** Computes the model's share of all spending, from 0 to 1. */
  shareOf(model: string): number {
    const nanos = this.#models.get(model)?.nanos ?? 0
    return this.#total > 0 ? nanos / this.#total : 0
  }

  /** Computes the model's share of the spending on a kind of task, from 0 to 1. */
  taskShareOf(tag: string, model: string): number {
    const task = this.#tasks.get(tag)
    return task && task.total > 0 ? (task.models.get(model) ?? 0) / task.total : 0
  }

  /** The average of the prices of its endpoints, by the tokens that were sent to each; null without any. */
  averagePrice(
    model: string,
    priceOf: (tag: string) => { prompt: number; cached: number } | null,
  ): number | null {
    let [tokens, cost] = [0, 0]
    for (const [tag, { all, cached }] of this.#models.get(model)?.prompts ?? []) {
      const price = priceOf(tag)
      if (!price) continue
      tokens += all
      cost += (all - cached) * price.prompt + cached * price.cached
    }
    return tokens > 0 ? cost / tokens : null
  }
}

interface Entry {
  figures: SpendingFigures | null
  /** Time at which the next reading may start. */
  due: number
  loading: Promise<void> | null
}

/** The spending of each organization, from memory: requests do not wait for the database, except the first. */
export class ModelSpending {
  readonly #entries = new Map<string, Entry>()

  /** Finds the figures; null while nothing is known: after a failure, or while the first reading takes too long. */
  async find(
    { db, log }: { db: Db; log: Logger },
    organizationId: string,
    now: number,
  ): Promise<SpendingFigures | null> {
    const entry = this.#touch(organizationId)
    // A due time further away than any that is set means that the clock was set back.
    if (!entry.loading && (now >= entry.due || entry.due - now > refreshMs))
      entry.loading = load(entry, readFigures(db, organizationId, now), now, log)
    if (entry.figures === null && entry.loading) await waitAtMost(entry.loading, firstWaitMs)
    return entry.figures
  }

  #touch(organizationId: string): Entry {
    const entry = this.#entries.get(organizationId) ?? { figures: null, due: 0, loading: null }
    this.#entries.delete(organizationId)
    this.#entries.set(organizationId, entry)
    const [idle] = this.#entries.keys()
    if (this.#entries.size > maxOrganizations && idle !== undefined) this.#entries.delete(idle)
    return entry
  }
}

/** Loads figures into an entry. Never rejects: routers rank without figures, or by older ones. */
async function load(
  entry: Entry,
  reading: Promise<SpendingFigures>,
  now: number,
  log: Logger,
): Promise<void> {
  try {
    entry.figures = await reading
    entry.due = now + refreshMs
  } catch (err) {
    entry.due = now + retryMs
    subsystemLog(log, 'inference').warn({ err }, 'failed to read the spending that router models rank by')
  } finally {
    entry.loading = null
  }
}

async function waitAtMost(work: Promise<void>, ms: number): Promise<void> {
  let timer: Timer | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}

async function readFigures(db: Db, organizationId: string, now: number): Promise<SpendingFigures> {
  const groups = await readSpending(db, organizationId, now)
  const sinceDay = utcDay(now - windowDays * dayMs)
  return new SpendingFigures(groups, await readTaskSpending(db, organizationId, sinceDay))
}

function readSpending(db: Db, organizationId: string, now: number): Promise<Group[]> {
  const read = (value: string | null) => value
  return queryRollups(db, {
    organizationId,
    timeoutMs: queryTimeoutMs,
    query: {
      from: now - windowDays * dayMs,
      to: now + 1,
      granularity: null,
      dimensions: [
        { column: 'model', read },
        { column: 'endpoint', read },
      ],
      filters: [],
      measures: ['credits', 'byok_upstream', 'prompt', 'cached'],
      histograms: [],
    },
  })
}
