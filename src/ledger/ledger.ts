import type { Logger } from 'pino'
import { isRefusedData } from '../db/batch.ts'
import { unavailable } from '../errors.ts'
import { type Clock, isoNow } from '../lib/clock.ts'
import type { Refusal } from './book.ts'
import { type Admit, type Engine, type Op, type Result, type Settle, UnreadableError } from './engine.ts'
import { again, hasCompanions, type Job } from './job.ts'

/** Bounds the size of one batch. */
const mostAtOnce = 256
/** Requests beyond this find the ledger too busy. */
const mostWaiting = 20_000
/** How long a request waits for a database that is away before it is told to come back. */
const admitMs = 10_000
/** How long the end of an answer waits. The charge itself waits for as long as it takes. */
const settleMs = 120_000
const retryMs = 250
/** An outage is told at its beginning, its end, and so often. */
const tellMs = 30_000
/** How often replies under way are noted down, and those who wait too long sent away. */
const lookMs = 2000
const closeMs = 10_000

/** What has come of a reply: JSON, or null when nothing new has. */
export type Progress = () => string | null

/**
 * The one way in and out of money. Group commit: an operation waits for the transaction that is under way,
 * then goes into the next one together with all others that came meanwhile. A quiet gateway commits at once.
 */
export class Ledger {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #log: Logger
  readonly #followed = new Map<string, Progress>()
  readonly #noted = new Set<string>()
  /** Holds of requests that are under way here. */
  readonly #open = new Set<string>()
  #queue: Job[] = []
  /** Taken from the queue, and neither done nor put back. */
  readonly #current = new Set<Job>()
  /** They need rows that cannot be read now, and are tried again after a while. */
  #deferred: Job[] = []
  /** Done, and not on disk yet. */
  readonly #unsynced = new Set<Job>()
  #running = false
  #downSince: number | null = null
  #toldAt = 0
  #unkeptAt = Number.NEGATIVE_INFINITY
  #looking: Timer | null = null
  #retrying: Timer | null = null

  constructor(engine: Engine, clock: Clock, log: Logger) {
    this.#engine = engine
    this.#clock = clock
    this.#log = log
  }

  /** When it could not be written any more; null while it can. */
  get downSince(): number | null {
    return this.#downSince ?? this.#engine.fullSince
  }

  /** Operations that are not written yet. */
  get waiting(): number {
    return this.#queue.length + this.#deferred.length
  }

  /** Takes up what an earlier process left; without it, the first operation does. */
  open(): Promise<void> {
    return this.#engine.open(async (settlements) => {
      if (settlements.length > 0) {
        this.#log.warn(
          { count: settlements.length },
          'charges are delivered that an earlier process could not',
        )
      }
      // One that is refused is logged and given up, as ever.
      await Promise.allSettled(settlements.map((op) => this.#push(op, Number.POSITIVE_INFINITY)))
    })
  }

  /** Until everything that anybody was told of is in the database; null when it is. */
  caughtUp(): Promise<void> | null {
    return (
      this.#engine.caughtUp()?.catch((cause: unknown) => {
        throw unavailable(cause)
      }) ?? null
    )
  }

  /** Resolves when the hold is committed, or with the limit that is in its way. */
  async admit(op: Admit): Promise<Refusal | null> {
    if (this.waiting > mostWaiting || this.#engine.fullSince !== null) throw unavailable()
    this.#open.add(op.wish.id)
    const result = await this.#push(op, admitMs)
    return typeof result === 'string' ? null : result
  }

  /** Resolves when the charge is durable. It goes on trying when waiting for it is given up. */
  async settle(op: Settle): Promise<void> {
    this.#followed.delete(op.id)
    await this.#push(op, settleMs)
  }

  /** Whether its request is still under way here. */
  isOpen(id: string): boolean {
    return this.#open.has(id)
  }

  /** Keeps the progress of a reply, so that a crash does not forget what was produced. */
  follow(id: string, progress: Progress): void {
    this.#followed.set(id, progress)
  }

  /** Waits a while for requests that are under way to be settled; what is left is settled after the next start. */
  async close(): Promise<void> {
    const isBusy = () =>
      this.#running || this.#open.size > 0 || this.#unsynced.size > 0 || this.#deferred.length > 0
    for (const deadline = performance.now() + closeMs; isBusy() && performance.now() < deadline; ) {
      await Bun.sleep(5)
    }
    if (this.#looking) clearInterval(this.#looking)
    await this.#keepWaiting(0)
    await this.#engine.close()
  }

  #push(op: Op, waitMs: number): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const at = performance.now()
    this.#queue.push({ op, at, until: at + waitMs, done: resolve, failed: reject })
    if (!this.#running) this.#start()
    return promise
  }

  /** After what is at hand now: what came in together is committed together. */
  #start(): void {
    this.#running = true
    this.#looking ??= setInterval(() => this.#look(), lookMs).unref()
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const jobs = this.#queue.splice(0, mostAtOnce)
      for (const job of jobs) this.#current.add(job)
      await this.#attempt(jobs)
    }
    this.#running = false
  }

  async #attempt(jobs: Job[]): Promise<void> {
    try {
      await this.#commit(jobs)
      this.#isUp()
    } catch (error) {
      if (error instanceof UnreadableError) await this.#withoutUnreadable(jobs, error)
      else if (isRefusedData(error)) await this.#oneByOne(jobs, error)
      else await this.#isDown(jobs, error)
    }
  }

  async #commit(jobs: Job[]): Promise<void> {
    const ops = jobs.map(({ op }) => op)
    const { results, lasting } = await this.#engine.run(ops, isoNow(this.#clock))
    for (const job of jobs) this.#current.delete(job)
    const unsynced: [Job, Result][] = []
    for (const [place, job] of jobs.entries()) {
      const result = results[place] ?? null
      if (lasting && job.op.op === 'settle') unsynced.push([job, result])
      else this.#finish(job, result)
    }
    if (lasting) void this.#finishWhen(lasting, unsynced)
  }

  /** Others need not wait for the disk meanwhile. */
  async #finishWhen(lasting: Promise<void>, unsynced: [Job, Result][]): Promise<void> {
    for (const [job] of unsynced) this.#unsynced.add(job)
    const error = await lasting.then(() => null, unavailable)
    for (const [job, result] of unsynced) {
      this.#unsynced.delete(job)
      if (error) job.failed(error)
      this.#finish(job, result)
    }
  }

  #finish({ op, done }: Job, result: Result): void {
    if (op.op === 'settle') this.#open.delete(op.id)
    else if (op.op === 'admit' && result !== null) this.#open.delete(op.wish.id)
    if (op.op === 'settle') this.#tellUnusual(op, result)
    done(result)
  }

  #tellUnusual({ id, again: isRepeated }: Settle, result: Result): void {
    if (result === 'corrected')
      this.#log.warn({ id }, 'a late charge corrected what another node had settled')
    // Whoever repeats what may have been done expects to find it done.
    if (result === 'closed before' && !isRepeated) this.#log.warn({ id }, 'a charge found its hold closed')
  }

  /** One bad row must not cost the others theirs, and what goes along with a charge not the charge. */
  async #oneByOne(jobs: Job[], error: unknown): Promise<void> {
    const [only] = jobs
    if (only && jobs.length === 1 && !hasCompanions(only.op)) {
      this.#log.error({ err: error, op: only.op.op }, 'the ledger refused an operation')
      this.#current.delete(only)
      if (only.op.op === 'settle') {
        this.#open.delete(only.op.id)
        this.#engine.drop(only.op)
      }
      return this.#sendAway(only, error)
    }
    if (only && jobs.length === 1)
      this.#log.warn({ err: error }, 'a charge is written without what goes along')
    for (const job of jobs) {
      const op = jobs.length === 1 && job.op.op === 'settle' ? { ...job.op, companions: [] } : job.op
      job.op = again(op)
      await this.#attempt([job])
    }
  }

  /** One key whose meters cannot be read must not keep others from being charged. */
  async #withoutUnreadable(jobs: Job[], { ops, cause }: UnreadableError): Promise<void> {
    this.#tellDown(cause)
    const unreadable = jobs.filter(({ op }) => ops.has(op))
    const rest = jobs.filter(({ op }) => !ops.has(op))
    for (const job of unreadable) this.#current.delete(job)
    this.#deferred.push(...unreadable)
    this.#retrying ??= setTimeout(() => this.#retryDeferred(), retryMs).unref()
    if (rest.length > 0) await this.#attempt(rest)
  }

  #retryDeferred(): void {
    this.#retrying = null
    this.#queue.push(...this.#deferred.splice(0))
    if (!this.#running && this.#queue.length > 0) this.#start()
  }

  #isUp(): void {
    if (this.#downSince === null) return
    this.#log.warn({ seconds: (performance.now() - this.#downSince) / 1000 }, 'the ledger is back')
    this.#downSince = null
  }

  /** What there is to do stays in line until it is done. */
  async #isDown(jobs: Job[], error: unknown): Promise<void> {
    this.#downSince ??= performance.now()
    this.#tellDown(error)
    for (const job of jobs) {
      this.#current.delete(job)
      job.op = again(job.op)
    }
    this.#queue.unshift(...jobs)
    this.#sendAwayLate()
    await this.#keepWaiting(0)
    await Bun.sleep(retryMs)
  }

  #tellDown(err: unknown): void {
    const now = performance.now()
    if (now - this.#toldAt <= tellMs) return
    this.#toldAt = now
    this.#log.error({ err, waiting: this.waiting }, 'the ledger cannot be written')
  }

  /** A database that is away is noticed; a disk that hangs gives no sign at all. */
  #look(): void {
    this.#sendAwayLate()
    void this.#keepWaiting(lookMs)
    this.#checkpoint()
  }

  /** A process that ends while the database is away must not take with it what it is owed. */
  async #keepWaiting(forMs: number): Promise<void> {
    const since = performance.now() - forMs
    const waiting = [...this.#current, ...this.#deferred, ...this.#queue].filter(({ at }) => at <= since)
    try {
      await this.#engine.keep(waiting.map(({ op }) => op).filter((op) => op.op === 'settle'))
    } catch (err) {
      if (performance.now() - this.#unkeptAt < tellMs) return
      this.#unkeptAt = performance.now()
      this.#log.error({ err }, 'charges that wait for the database are not on disk')
    }
  }

  /** Charges are written all the same; holds of requests that were sent away are taken back. */
  #sendAwayLate(): void {
    const now = performance.now()
    const waiting = [...this.#current, ...this.#unsynced, ...this.#deferred, ...this.#queue]
    const late = waiting.filter(({ until }) => until < now)
    for (const job of late) {
      job.until = Number.POSITIVE_INFINITY
      this.#sendAway(job, unavailable())
    }
    const isLate = new Set(late.filter(({ op }) => op.op === 'admit'))
    if (isLate.size === 0) return
    this.#queue = this.#queue.filter((job) => !isLate.has(job))
    this.#deferred = this.#deferred.filter((job) => !isLate.has(job))
  }

  #sendAway({ op, failed }: Job, error: unknown): void {
    failed(error)
    if (op.op !== 'admit') return
    this.#open.delete(op.wish.id)
    // It may have been written all the same.
    this.#queue.push(withdrawal(op))
  }

  #checkpoint(): void {
    if (this.#downSince !== null) return
    for (const [id, progress] of this.#followed) {
      if (this.#noted.has(id)) continue
      const checkpoint = progress()
      if (checkpoint === null) continue
      this.#noted.add(id)
      const over = () => void this.#noted.delete(id)
      void this.#push({ op: 'note', id, checkpoint }, settleMs).then(over, over)
    }
  }
}

function withdrawal({ wish, organizationId }: Admit): Job {
  const nothing = () => undefined
  return {
    op: { ...release(wish.id, organizationId), again: true },
    at: performance.now(),
    until: Number.POSITIVE_INFINITY,
    done: nothing,
    failed: nothing,
  }
}

/** Closes a hold whose request reached no provider. */
export function release(id: string, organizationId: string): Settle {
  const spent = { amount: 0n, byok: 0n }
  return {
    op: 'settle',
    id,
    organizationId,
    isByok: false,
    spent,
    generation: null,
    countsIn: null,
    companions: [],
  }
}
