import type { Batch, BatchConnection, Statement } from '../platform/db/batch.ts'
import { buildListQuery } from '../platform/db/statements.ts'
import {
  buildCorrectionStatements,
  differenceOf,
  findLateSettlements,
  type LateSettlement,
} from './correction.ts'
import {
  type AdmitOperation,
  type BatchOutcome,
  collectSubjects,
  type ExchangeOperation,
  encodeHold,
  holdIdsOf,
  holdRequestsOf,
  type LedgerEngine,
  type LedgerOperation,
  type OperationResult,
  type Settlement,
} from './engine.ts'
import { listRecordValues } from './generation.ts'
import { type HoldRequest, LedgerState } from './ledger-state.ts'
import { applyOtherDays, planDayLookup } from './meter-days.ts'
import { buildEntries, type Postings, postCharge } from './posting.ts'
import { createRelease } from './settlement.ts'
import type { Spool } from './spool.ts'
import {
  addMeterDays,
  decodeHold,
  decodeMeter,
  encodeChangedDays,
  encodeMeter,
  insertEntries,
  insertGenerations,
  insertHolds,
  insertUnrolled,
  replaceMeters,
} from './tables.ts'

/**
 * Engine for a database that other nodes write to as well: every batch is a transaction that reads and locks the rows
 * it touches.
 */
export class PostgresEngine implements LedgerEngine {
  readonly fullSince = null
  readonly unflushedBytes = null
  readonly #batches: BatchConnection
  readonly #spool: Spool

  constructor(batches: BatchConnection, spool: Spool) {
    this.#batches = batches
    this.#spool = spool
  }

  async open(deliver: (settlements: Settlement[]) => Promise<void>): Promise<void> {
    await deliver(this.#spool.readLeftovers())
  }

  /** Other nodes hold amounts in the same meters: only the database can decide. */
  admitNow(): undefined {
    return undefined
  }

  async run(ops: readonly LedgerOperation[], now: string): Promise<BatchOutcome> {
    const results = await this.#batches.transact((batch) => new BatchTransaction(batch, now).run(ops))
    this.#spool.markDelivered(ops.filter((op) => op.op === 'settle'))
    return { results, durable: null }
  }

  spool(settlements: readonly Settlement[]): Promise<void> {
    return this.#spool.write(settlements)
  }

  drop(settlement: Settlement): void {
    this.#spool.markRejected(settlement)
  }

  flush(): null {
    return null
  }

  close(): Promise<void> {
    return this.#batches.close()
  }
}

/** One transaction. */
class BatchTransaction {
  readonly #batch: Batch
  readonly #state = new LedgerState()
  readonly #now: string
  readonly #touched = new Set<string>()
  readonly #settled: Settlement[] = []
  #lateSettlements = new Map<string, LateSettlement>()
  readonly #corrected: LateSettlement[] = []
  readonly #admitted: AdmitOperation[] = []

  constructor(batch: Batch, now: string) {
    this.#batch = batch
    this.#now = now
  }

  async run(ops: readonly LedgerOperation[]): Promise<OperationResult[]> {
    await this.#loadHolds(ops.flatMap(holdIdsOf))
    const unheld = ops.filter((op) => op.op === 'settle').filter(({ id }) => !this.#state.holds.has(id))
    this.#lateSettlements = await findLateSettlements(this.#batch, unheld.filter(canBeCorrected), this.#now)
    await this.#loadMeters(collectSubjects(this.#state, ops))
    await this.#loadOtherDays(ops.flatMap(holdRequestsOf))
    const results = ops.map((op) => this.#apply(op))
    await this.#batch.run(this.#buildStatements(ops))
    return results
  }

  #apply(op: LedgerOperation): OperationResult {
    if (op.op === 'admit') return this.#admit(op)
    if (op.op === 'exchange') return this.#exchange(op)
    return op.op === 'settle' ? this.#settle(op) : null
  }

  #admit(op: AdmitOperation): OperationResult {
    const isNew = !this.#state.holds.has(op.request.id)
    const rejection = this.#state.admit(op.request)
    if (!rejection && isNew) {
      this.#admitted.push(op)
      for (const subject of op.request.subjects) this.#touched.add(subject)
    }
    return rejection
  }

  #exchange({ releases, admits }: ExchangeOperation): OperationResult {
    const requests = admits.map(({ request }) => request)
    const { rejection, isChanged, released } = this.#state.exchange(releases, requests)
    if (!isChanged) return rejection
    this.#admitted.push(...admits)
    this.#settled.push(...released.map(({ id }) => createRelease(id, '')))
    for (const { subjects } of [...released, ...requests])
      for (const subject of subjects) this.#touched.add(subject)
    return null
  }

  #settle(op: Settlement): OperationResult {
    const hold = this.#state.settle(op.id, op.spent)
    if (!hold) return this.#correct(op)
    this.#settled.push(op)
    for (const subject of hold.subjects) this.#touched.add(subject)
    return null
  }

  /** Another node considered this one dead and settled the request itself. */
  #correct({ id, meteredIn }: Settlement): OperationResult {
    const late = this.#lateSettlements.get(id)
    if (!late || !meteredIn) return 'closed before'
    this.#lateSettlements.delete(id)
    this.#state.correct(meteredIn, differenceOf(late))
    for (const subject of meteredIn.subjects) this.#touched.add(subject)
    if (late.recorded) this.#corrected.push(late)
    else this.#settled.push(late.settlement)
    return 'corrected'
  }

  async #loadHolds(ids: string[]): Promise<void> {
    const select =
      'select id, subjects, day, amount_nanos, byok_nanos from holds where id in ($) order by id for update'
    for (const row of await this.#batch.rows(buildListQuery(select, ids.toSorted()))) {
      this.#state.holds.set(String(row.id), decodeHold(row))
    }
  }

  /** Loads and locks meters in a fixed order, so that two nodes cannot deadlock. */
  async #loadMeters(subjects: string[]): Promise<void> {
    const sorted = subjects.toSorted()
    await this.#readMeters(sorted)
    const unknown = sorted.filter((subject) => !this.#state.meters.has(subject))
    if (unknown.length === 0) return
    // A row that does not exist cannot be locked.
    const insert = 'insert into meters (subject) values ($1) on conflict do nothing'
    await this.#batch.run(unknown.map((subject) => ({ sql: insert, values: [subject] })))
    await this.#readMeters(unknown)
  }

  async #readMeters(subjects: string[]): Promise<void> {
    const select = 'select * from meters where subject in ($) order by subject for update'
    for (const row of await this.#batch.rows(buildListQuery(select, subjects))) {
      this.#state.meters.set(String(row.subject), decodeMeter(row))
    }
  }

  async #loadOtherDays(requests: HoldRequest[]): Promise<void> {
    const lookup = planDayLookup(this.#state, requests)
    if (!lookup) return
    const select = 'select * from meter_days where subject in ($) and day >= $2 and day <= $3'
    const { subjects, from, to } = lookup
    applyOtherDays(this.#state, lookup, await this.#batch.rows(buildListQuery(select, subjects, from, to)))
  }

  #buildStatements(ops: readonly LedgerOperation[]): Statement[] {
    const postings: Postings = new Map()
    const generations = this.#buildGenerations(postings)
    const corrections = this.#corrected.flatMap((late) =>
      late.recorded
        ? buildCorrectionStatements({ ...late, recorded: late.recorded }, postings, this.#now)
        : [],
    )
    const meters = [...this.#touched].sort().flatMap((subject) => this.#state.meters.get(subject) ?? [])
    return [
      ...insertHolds.forRows(this.#admitted.map(encodeHold)),
      ...buildListQuery(
        'delete from holds where id in ($)',
        this.#settled.map(({ id }) => id),
      ),
      ...insertGenerations.forRows(generations),
      ...insertUnrolled.forRows(this.#settled.flatMap(encodeUnrolled)),
      ...corrections,
      ...insertEntries.forRows(buildEntries(postings, this.#now)),
      ...replaceMeters.forRows(meters.map((meter) => encodeMeter(meter, this.#now))),
      ...addMeterDays.forRows(meters.flatMap(encodeChangedDays)),
      ...ops.flatMap(buildCheckpointStatements),
      ...[...this.#settled, ...this.#corrected.map(({ settlement }) => settlement)].flatMap(
        ({ extraStatements }) => extraStatements,
      ),
    ]
  }

  #buildGenerations(postings: Postings): unknown[][] {
    return this.#settled.flatMap(({ generation, organizationId, isByok, spent }) => {
      const posting = postCharge(postings, organizationId, isByok, spent.amount)
      return generation ? [[...listRecordValues(generation), posting, this.#now]] : []
    })
  }
}

function canBeCorrected({ generation, meteredIn }: Settlement): boolean {
  return generation !== null && meteredIn !== null
}

function encodeUnrolled({ id, organizationId, generation }: Settlement): string[][] {
  return generation ? [[id, organizationId]] : []
}

function buildCheckpointStatements(op: LedgerOperation): Statement[] {
  if (op.op !== 'note') return []
  return [{ sql: 'update holds set checkpoint = $1 where id = $2', values: [op.checkpoint, op.id] }]
}
