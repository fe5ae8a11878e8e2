import type { Logger } from 'pino'
import { isRejectedData } from '../platform/db/batch.ts'
import { unavailableError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { WorkTimer } from '../platform/time/work-timer.ts'
import { type CheckpointSource, CheckpointTracker } from './checkpoint-tracker.ts'
import { DeferredOperations } from './deferred-operations.ts'
import {
  type AdmitOperation,
  type BatchOutcome,
  type ExchangeOperation,
  type LedgerEngine,
  type LedgerOperation,
  type OperationResult,
  type Settlement,
  UnreadableRowsError,
} from './engine.ts'
import { HoldQueue } from './hold-queue.ts'
import { InFlightHolds } from './in-flight-holds.ts'
import type { Rejection } from './ledger-state.ts'
import { OperationQueues } from './operation-queues.ts'
import { LedgerOutage } from './outage.ts'
import {
  createQueuedRelease,
  hasExtraStatements,
  listAdmissions,
  logUnusual,
  markRetry,
  type QueuedOperation,
  toRejection,
  withoutExtraStatements,
} from './queued-operation.ts'
import { UnsyncedBatches } from './unsynced-batches.ts'

/** Queue length above which admissions are rejected. */
const maxQueueLength = 20_000
/** Maximum wait of an admission for an unavailable database before it is rejected with 503. */
const admitTimeoutMs = 10_000
/** Maximum wait of a reply's end for its settlement. The settlement itself is retried until it succeeds. */
const settleTimeoutMs = 120_000
const retryDelayMs = 250
/** Interval at which checkpoints are written and operations past their deadline are rejected. */
const tickIntervalMs = 2000
const defaultCloseTimeoutMs = 10_000

/**
 * Every hold and charge goes through here. Group commit: an operation waits for the transaction in progress,
 * then joins the next one with all others that arrived meanwhile. A hold that memory can decide does not wait, and
 * the only request of a gateway is settled at once.
 */
export class Ledger {
  readonly #engine: LedgerEngine
  readonly #clock: Clock
  readonly #log: Logger
  readonly #closeTimeoutMs: number
  readonly #checkpoints = new CheckpointTracker()
  readonly #inFlight = new InFlightHolds()
  readonly #queue = new OperationQueues((batch) => this.#runBatch(batch))
  /** Taken from the queue, and neither finished nor put back. */
  readonly #executing = new Set<QueuedOperation>()
  readonly #deferred = new DeferredOperations((queued) => this.#queue.shared.push(queued))
  readonly #unsynced = new UnsyncedBatches()
  /** Replaces holds, at once or when others are settled. */
  readonly holdQueue = new HoldQueue((op) => this.#exchange(op))
  readonly #outage: LedgerOutage
  readonly #timer = new WorkTimer(() => this.#tick(), tickIntervalMs)

  constructor(engine: LedgerEngine, clock: Clock, log: Logger, closeTimeoutMs = defaultCloseTimeoutMs) {
    this.#engine = engine
    this.#clock = clock
    this.#log = log
    this.#outage = new LedgerOutage(log)
    this.#closeTimeoutMs = closeTimeoutMs
  }

  /** Start of the time in which the ledger cannot be written; null while it can. */
  get downSince(): number | null {
    return this.#outage.since ?? this.#engine.fullSince
  }

  /** The nodes that earlier processes with the same data directory were, known once it is open. */
  get endedNodes(): readonly string[] {
    return this.#engine.endedNodes ?? []
  }

  /** The leases of this node, and what they reserve beyond its holds. */
  get leases(): { count: number; free: bigint } {
    return this.#engine.leases ?? { count: 0, free: 0n }
  }

  /** Operations that are not written yet. */
  get waiting(): number {
    const { shared, local } = this.#queue
    return shared.waiting.length + local.waiting.length + this.#deferred.waiting.length
  }

  /** Bytes of what is not in the database yet; null without a journal. */
  get unflushedBytes(): number | null {
    return this.#engine.unflushedBytes
  }

  /** Takes over what dead nodes have reserved; returns how many nodes that were. */
  takeOverLeases(): Promise<number> | undefined {
    return this.#engine.takeOverLeases?.()
  }

  /** Recovers what an earlier process left; without it, the first operation does. */
  open(): Promise<void> {
    return this.#engine.open(async (settlements) => {
      if (settlements.length > 0) {
        this.#log.warn(
          { count: settlements.length },
          'delivering charges that an earlier process could not commit',
        )
      }
      // One that is rejected is logged and dropped, as usual.
      await Promise.allSettled(settlements.map((op) => this.#enqueue(op, Number.POSITIVE_INFINITY)))
    })
  }

  /** Resolves when everything that was acknowledged is in the database; null when it already is. */
  flush(): Promise<void> | null {
    return (
      this.#engine.flush()?.catch((cause: unknown) => {
        throw unavailableError(cause)
      }) ?? null
    )
  }

  /** Null when the hold is committed, or the limit that it exceeds; without a promise if memory decides. */
  admit(op: AdmitOperation): Rejection | null | Promise<Rejection | null> {
    this.#assertAccepting()
    if (this.holdQueue.length > 0) this.holdQueue.setAside(op.request)
    this.#inFlight.add(op)
    let pending: LedgerOperation = op
    try {
      // During an outage it waits with the others, unless it needs nothing that is out.
      const decided =
        this.#outage.since === null || this.#engine.isLocal ? this.#engine.admitNow(op) : undefined
      if (decided === null) return null
      if (decided !== undefined) return toRejection(this.#inFlight.finish(op, decided))
    } catch {
      // It may be in memory, but not written: running it again writes it.
      pending = markRetry(op)
    }
    return this.#enqueue(pending, admitTimeoutMs).then(toRejection)
  }

  #assertAccepting(): void {
    if (this.waiting > maxQueueLength || this.#engine.fullSince !== null) throw unavailableError()
  }

  async #exchange(op: ExchangeOperation): Promise<Rejection | null> {
    this.#assertAccepting()
    for (const admission of op.admits) this.#inFlight.add(admission)
    return toRejection(await this.#enqueue(op, admitTimeoutMs))
  }

  /** Resolves when the charge is durable. Retries continue after the caller stops waiting. */
  settle(op: Settlement): Promise<unknown> {
    this.#checkpoints.untrack(op.id)
    return this.#enqueue(op, settleTimeoutMs)
  }

  /** Whether its request is still in progress on this node. */
  isOpen(id: string): boolean {
    return this.#inFlight.has(id)
  }

  /** Stores the progress of a reply from now on, so that a crash does not lose what was produced. */
  trackProgress(id: string, progress: CheckpointSource): void {
    this.#checkpoints.track(id, progress)
    this.#timer.start()
  }

  /** Stores what a request has used so far; resolves when it survives the end of this process. */
  async writeCheckpoint(id: string, checkpoint: string): Promise<void> {
    await this.#enqueue({ op: 'note', id, checkpoint }, admitTimeoutMs)
  }

  /** Waits a while for requests in progress to be settled; the rest is settled after the next start. */
  async close(): Promise<void> {
    const deadline = performance.now() + this.#closeTimeoutMs
    while (this.#isBusy && performance.now() < deadline) await Bun.sleep(5)
    this.#timer.stop()
    await this.#spoolPending(0)
    await this.#engine.close()
  }

  get #isBusy(): boolean {
    const open = this.#inFlight.size + this.#unsynced.size + this.#deferred.waiting.length
    return this.#queue.isRunning || open > 0
  }

  #enqueue(op: LedgerOperation, waitMs: number): Promise<OperationResult> {
    const { promise, resolve, reject } = Promise.withResolvers<OperationResult>()
    const enqueuedAt = performance.now()
    this.#timer.start()
    const queued: QueuedOperation = { op, enqueuedAt, deadline: enqueuedAt + waitMs, resolve, reject }
    queued.isLocal = this.#engine.isLocal?.(op) ?? false
    const queue = queued.isLocal ? this.#queue.local : this.#queue.shared
    if (op.op === 'settle' && this.#inFlight.isOnly(op.id)) queue.pushAndRun(queued)
    else queue.push(queued)
    return promise
  }

  /** Runs a batch; returns null if the engine needs no promise. */
  #runBatch(batch: QueuedOperation[]): Promise<void> | null {
    try {
      const ops = batch.map(({ op }) => op)
      const running = this.#engine.run(ops, isoNow(this.#clock))
      if (running instanceof Promise) return this.#awaitBatch(batch, running)
      this.#conclude(batch, running)
      return null
    } catch (error) {
      return this.#handleFailure(batch, error)
    }
  }

  async #awaitBatch(batch: QueuedOperation[], running: Promise<BatchOutcome>): Promise<void> {
    for (const queued of batch) this.#executing.add(queued)
    try {
      this.#conclude(batch, await running)
    } catch (error) {
      await this.#handleFailure(batch, error)
    }
  }

  async #handleFailure(batch: QueuedOperation[], error: unknown): Promise<void> {
    if (error instanceof UnreadableRowsError) await this.#deferUnreadable(batch, error)
    else if (isRejectedData(error)) await this.#retryIndividually(batch, error)
    else await this.#handleOutage(batch, error)
  }

  #conclude(batch: QueuedOperation[], { results, durable }: BatchOutcome): void {
    if (this.#outage.since !== null && !batch.every(({ isLocal }) => isLocal)) this.#outage.end()
    let index = 0
    for (const queued of batch) {
      // Also what ran in a batch that failed, and then without the operations at fault.
      this.#executing.delete(queued)
      const result = results[index++] ?? null
      if (result === 'recalling') this.#deferred.add([queued])
      else if (durable && queued.op.op === 'settle') queued.result = result
      else this.#finish(queued, result)
    }
    if (durable) this.#unsynced.add(batch, durable, (queued) => this.#finish(queued, queued.result ?? null))
  }

  #finish({ op, resolve }: QueuedOperation, result: OperationResult): void {
    resolve(this.#inFlight.finish(op, result))
    if (op.op === 'settle' && result !== null) logUnusual(this.#log, op, result)
    const isReleased = op.op === 'settle' || (op.op === 'exchange' && result === null)
    if (isReleased && this.holdQueue.length > 0) this.holdQueue.wake()
  }

  /** One rejected row must not fail the other operations, nor extra statements the charge they come with. */
  async #retryIndividually(batch: QueuedOperation[], error: unknown): Promise<void> {
    const [only] = batch
    if (only && batch.length === 1 && !hasExtraStatements(only.op)) {
      this.#log.error({ err: error, op: only.op.op }, 'the database rejected a ledger operation')
      this.#executing.delete(only)
      if (only.op.op === 'settle') {
        this.#inFlight.delete(only.op.id)
        this.#engine.drop(only.op)
      }
      return this.#rejectQueued(only, error)
    }
    if (only && batch.length === 1)
      this.#log.warn(
        { err: error },
        'the database rejected the extra statements of a charge: the charge is written without them',
      )
    for (const queued of batch) {
      queued.op = markRetry(batch.length === 1 ? withoutExtraStatements(queued.op) : queued.op)
      await this.#runBatch([queued])
    }
  }

  /** A key whose meters cannot be read must not delay the charges of others. */
  async #deferUnreadable(batch: QueuedOperation[], { ops, cause }: UnreadableRowsError): Promise<void> {
    this.#outage.log(cause, this.waiting)
    const unreadable = batch.filter(({ op }) => ops.has(op))
    const rest = batch.filter(({ op }) => !ops.has(op))
    for (const queued of unreadable) this.#executing.delete(queued)
    this.#deferred.add(unreadable)
    if (rest.length > 0) await this.#runBatch(rest)
  }

  /** Operations stay queued until they succeed. */
  async #handleOutage(batch: QueuedOperation[], error: unknown): Promise<void> {
    this.#outage.begin()
    this.#outage.log(error, this.waiting)
    for (const queued of batch) {
      this.#executing.delete(queued)
      queued.op = markRetry(queued.op)
    }
    this.#queue.putBack(batch)
    this.#expireLate()
    await this.#spoolPending(0)
    await Bun.sleep(retryDelayMs)
  }

  /** Runs on a timer, because a failing database throws, but a hanging disk does not. */
  async #tick(): Promise<boolean> {
    const wasBusy = this.#isBusy
    this.#expireLate()
    if (this.#outage.since === null) this.#checkpoints.writeAll((op) => this.#enqueue(op, settleTimeoutMs))
    // Until what was spooled is removed.
    return !(await this.#spoolPending(tickIntervalMs)) || wasBusy || this.#isBusy
  }

  /** A process that ends during an outage must not lose the charges that are waiting. Returns whether it succeeded. */
  async #spoolPending(minWaitMs: number): Promise<boolean> {
    const waiting = this.#unfinished.filter(({ enqueuedAt }) => enqueuedAt + minWaitMs <= performance.now())
    try {
      await this.#engine.spool(waiting.map(({ op }) => op).filter((op) => op.op === 'settle'))
      return true
    } catch (err) {
      this.#outage.logSpoolError(err)
      return false
    }
  }

  get #unfinished(): QueuedOperation[] {
    const { shared, local } = this.#queue
    return [...this.#executing, ...this.#deferred.waiting, ...shared.waiting, ...local.waiting]
  }

  /** Late settlements are still written; the holds of late admissions are released. */
  #expireLate(): void {
    const now = performance.now()
    const late = [...this.#unsynced.settlements, ...this.#unfinished].filter(({ deadline }) => deadline < now)
    for (const queued of late) {
      queued.deadline = Number.POSITIVE_INFINITY
      this.#rejectQueued(queued, unavailableError())
    }
    const isLate = new Set(late.filter(({ op }) => listAdmissions(op).length > 0))
    if (isLate.size === 0) return
    this.#queue.remove(isLate)
    this.#deferred.remove(isLate)
  }

  #rejectQueued({ op, reject }: QueuedOperation, error: unknown): void {
    reject(error)
    // The holds may have been committed nevertheless.
    for (const admission of this.#inFlight.abandon(op))
      this.#queue.shared.push(createQueuedRelease(admission))
  }
}
