import type { Batch, Statement } from '../platform/db/batch.ts'
import { buildListQuery } from '../platform/db/statements.ts'
import { type Amounts, noAmounts } from './amounts.ts'
import {
  buildCorrectionStatements,
  differenceOf,
  findLateSettlements,
  type LateSettlement,
} from './correction.ts'
import { databaseTime } from './database-time.ts'
import { emptyDraft } from './draft.ts'
import {
  type AdmitOperation,
  collectSubjects,
  type ExchangeOperation,
  encodeHold,
  type GrantLeaseOperation,
  holdIdsOf,
  holdRequestsOf,
  type LeaseOperation,
  type LedgerOperation,
  type OperationResult,
  type Settlement,
  type UseLeaseOperation,
} from './engine.ts'
import { listRecordValues } from './generation.ts'
import { type Hold, LedgerState, type NearestLimit } from './ledger-state.ts'
import { applyOtherDays, planDayLookup } from './meter-days.ts'
import { buildEntries, type Postings, postCharge } from './posting.ts'
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
  writeLeases,
} from './tables.ts'

/** Another node, of a version that knows no journals, has released a lease of this one. */
export class LeaseLostError extends Error {}

/** A lease as a transaction leaves it. */
export interface LeaseState extends Amounts {
  /** What was added to it. */
  granted: Amounts
  nearest: NearestLimit | null
}

export interface LeaseOutcome {
  results: OperationResult[]
  /** The leases that it granted or wrote. */
  leases: ReadonlyMap<string, LeaseState>
}

/** The operations of one transaction. */
export class PostgresTransaction {
  readonly #batch: Batch
  readonly #state = new LedgerState()
  readonly #now: string
  readonly #touched = new Set<string>()
  readonly #settled: Settlement[] = []
  /** How many of `#settled` have their records in the database already. */
  #recorded = 0
  readonly #closedHolds: string[] = []
  /** Settlements of leases that a transaction whose result was lost has recorded. */
  readonly #recordedBefore = new Set<string>()
  #lateSettlements = new Map<string, LateSettlement>()
  readonly #corrected: LateSettlement[] = []
  readonly #admitted: AdmitOperation[] = []
  readonly #postings: Postings = new Map()
  readonly #leases = new Map<string, LeaseState>()
  readonly #leaseOwners = new Map<string, string>()

  constructor(batch: Batch, now: string) {
    this.#batch = batch
    this.#now = now
  }

  async run(ops: readonly (LedgerOperation | LeaseOperation)[]): Promise<LeaseOutcome> {
    await this.#loadHolds(ops.flatMap(holdIdsOf))
    const unheld = ops.flatMap(listHeldSettlements).filter(({ id }) => !this.#state.holds.has(id))
    this.#lateSettlements = await findLateSettlements(this.#batch, unheld.filter(canBeCorrected), this.#now)
    await this.#recordLeaseUses(ops.filter((op) => op.op === 'use lease'))
    await this.#loadMeters(collectSubjects(this.#state, ops))
    const grants = ops.filter((op) => op.op === 'grant lease')
    await this.#loadOtherDays([...ops.flatMap(requestsOf), ...grants])
    const recalled = await this.#findRecalled(grants)
    const results = ops.map((op) => this.#apply(op, recalled))
    await this.#batch.run(this.#buildStatements(ops))
    return { results, leases: this.#leases }
  }

  #apply(op: LedgerOperation | LeaseOperation, recalled: ReadonlySet<string>): OperationResult {
    if (op.op === 'admit') return this.#admit(op)
    if (op.op === 'exchange') return this.#exchange(op)
    if (op.op === 'grant lease') this.#grantLease(op, recalled)
    if (op.op === 'use lease') this.#useLease(op)
    return op.op === 'settle' ? this.#settle(op) : null
  }

  #admit(op: AdmitOperation): OperationResult {
    const isNew = !this.#state.holds.has(op.request.id)
    const rejection = this.#state.admit(op.request)
    if (!rejection && isNew) {
      this.#admitted.push(op)
      this.#touch(op.request.subjects)
    }
    return rejection
  }

  #exchange({ releases, admits }: ExchangeOperation): OperationResult {
    const requests = admits.map(({ request }) => request)
    const { rejection, isChanged, released } = this.#state.exchange(releases, requests)
    if (!isChanged) return rejection
    this.#admitted.push(...admits)
    this.#closedHolds.push(...released.map(({ id }) => id))
    for (const { subjects } of [...released, ...requests]) this.#touch(subjects)
    return null
  }

  #settle(op: Settlement): OperationResult {
    const hold = this.#state.settle(op.id, op.spent, op.uncharged)
    if (!hold) return this.#correct(op)
    this.#settled.push(op)
    this.#closedHolds.push(op.id)
    this.#touch(hold.subjects)
    return null
  }

  /** Another node considered this one dead and settled the request itself. */
  #correct({ id, meteredIn }: Settlement): OperationResult {
    const late = this.#lateSettlements.get(id)
    if (!late || !meteredIn) return 'closed before'
    this.#lateSettlements.delete(id)
    this.#state.correct(meteredIn, differenceOf(late))
    this.#touch(meteredIn.subjects)
    if (late.recorded) this.#corrected.push(late)
    else this.#settled.push(late.settlement)
    return 'corrected'
  }

  #grantLease(op: GrantLeaseOperation, recalled: ReadonlySet<string>): void {
    if (op.subjects.some((subject) => recalled.has(subject))) return
    const granted = this.#state.grantLease(op)
    const lease = this.#state.holds.get(op.id)
    if (!lease) return
    this.#touch(op.subjects)
    this.#leaseOwners.set(op.id, op.owner)
    this.#recordLease(lease, op, granted)
  }

  #useLease(op: UseLeaseOperation): void {
    const { id, admits, returned, writtenHolds, isLast } = op
    const settlements = op.settlements.filter((settlement) => !this.#recordedBefore.has(settlement.id))
    const direct = settlements.filter((settlement) => !writtenHolds.has(settlement.id))
    const lost = settlements.filter((settlement) => this.#isLost(op, settlement))
    const lease = this.#state.useLease(id, {
      placed: admits.map(({ request }) => request),
      closed: settlements.filter((settlement) => writtenHolds.has(settlement.id)),
      spent: sumSpent(direct),
      returned,
    })
    if (!lease) return
    for (const settlement of lost) this.#correct(settlement)
    this.#admitted.push(...admits)
    this.#closedHolds.push(
      ...settlements.map((settlement) => settlement.id).filter((held) => writtenHolds.has(held)),
    )
    this.#touch(op.subjects)
    if (isLast && this.#state.settle(id, noAmounts)) this.#closedHolds.push(id)
    this.#recordLease(lease, op, noAmounts)
  }

  #recordLease(lease: Hold, { limits }: Pick<GrantLeaseOperation, 'limits'>, granted: Amounts): void {
    const { amount, byok } = lease
    this.#leases.set(lease.id, { amount, byok, granted, nearest: this.#state.findNearest(limits) })
  }

  /**
   * Writes the records of what was settled within leases, before the meters are locked: other nodes wait for these, and
   * rows take most of the time.
   */
  async #recordLeaseUses(ops: readonly UseLeaseOperation[]): Promise<void> {
    for (const op of ops) {
      if (!this.#state.holds.has(op.id)) throw new LeaseLostError(`${op.id} does not exist`)
      const repeated = op.isRetry ? await this.#findRecorded(op) : []
      for (const id of repeated) this.#recordedBefore.add(id)
      this.#settled.push(
        ...op.settlements.filter(
          (settlement) => !this.#isLost(op, settlement) && !this.#recordedBefore.has(settlement.id),
        ),
      )
    }
    if (this.#settled.length === 0) return
    await this.#batch.run([...this.#buildRecords(this.#settled), ...this.#settled.flatMap(extraStatementsOf)])
    this.#recorded = this.#settled.length
  }

  async #findRecorded({ settlements, writtenHolds }: UseLeaseOperation): Promise<string[]> {
    const ids = settlements.map(({ id }) => id).filter((id) => !writtenHolds.has(id))
    const rows = await this.#batch.rows(buildListQuery('select id from generations where id in ($)', ids))
    return rows.map(({ id }) => String(id))
  }

  /** Its hold had a row: another node has settled it meanwhile. */
  #isLost({ writtenHolds }: UseLeaseOperation, { id }: Settlement): boolean {
    return writtenHolds.has(id) && !this.#state.holds.has(id)
  }

  #touch(subjects: readonly string[]): void {
    for (const subject of subjects) this.#touched.add(subject)
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

  async #loadOtherDays(requests: readonly { subjects: readonly string[]; day: string }[]): Promise<void> {
    const lookup = planDayLookup(this.#state, requests)
    if (!lookup) return
    const select = 'select * from meter_days where subject in ($) and day >= $2 and day <= $3'
    const { subjects, from, to } = lookup
    applyOtherDays(this.#state, lookup, await this.#batch.rows(buildListQuery(select, subjects, from, to)))
  }

  /** The meters, now locked, on which no lease may be granted. */
  async #findRecalled(grants: readonly GrantLeaseOperation[]): Promise<Set<string>> {
    const subjects = [...new Set(grants.flatMap((grant) => grant.subjects))]
    const select = `select subject from lease_recalls where subject in ($) and until > ${databaseTime}`
    const rows = await this.#batch.rows(buildListQuery(select, subjects))
    return new Set(rows.map(({ subject }) => String(subject)))
  }

  #buildStatements(ops: readonly (LedgerOperation | LeaseOperation)[]): Statement[] {
    const settled = this.#settled.slice(this.#recorded)
    const records = this.#buildRecords(settled)
    const corrections = this.#corrected.flatMap((late) =>
      late.recorded
        ? buildCorrectionStatements({ ...late, recorded: late.recorded }, this.#postings, this.#now)
        : [],
    )
    const meters = [...this.#touched].sort().flatMap((subject) => this.#state.meters.get(subject) ?? [])
    return [
      ...insertHolds.forRows(this.#admitted.map(encodeHold)),
      ...writeLeases.forRows(this.#encodeLeases()),
      ...buildListQuery('delete from holds where id in ($)', this.#closedHolds),
      ...records,
      ...corrections,
      ...insertEntries.forRows(buildEntries(this.#postings, this.#now)),
      ...replaceMeters.forRows(meters.map((meter) => encodeMeter(meter, this.#now))),
      ...addMeterDays.forRows(meters.flatMap(encodeChangedDays)),
      ...ops.flatMap(buildCheckpointStatements),
      ...[...settled, ...this.#corrected.map(({ settlement }) => settlement)].flatMap(extraStatementsOf),
    ]
  }

  #buildRecords(settled: readonly Settlement[]): Statement[] {
    const rows = settled.flatMap(({ generation, organizationId, isByok, spent }) => {
      const posting = postCharge(this.#postings, organizationId, isByok, spent.amount)
      return generation ? [[...listRecordValues(generation), posting, this.#now]] : []
    })
    return [...insertGenerations.forRows(rows), ...insertUnrolled.forRows(settled.flatMap(encodeUnrolled))]
  }

  #encodeLeases(): unknown[][] {
    return [...this.#leases.keys()].flatMap((id) => {
      const lease = this.#state.holds.get(id)
      if (!lease) return []
      const { subjects, day, amount, byok } = lease
      const owner = this.#leaseOwners.get(id) ?? ''
      const request = { id, subjects, day, amount, byok, limits: [], free: null }
      return [
        encodeHold({ op: 'admit', request, owner, organizationId: '', expiresAt: never, draft: emptyDraft }),
      ]
    })
  }
}

/** A lease ends with its node. */
const never = '9999-12-31T00:00:00.000Z'

/** The settlements whose holds have rows. */
function listHeldSettlements(op: LedgerOperation | LeaseOperation): readonly Settlement[] {
  if (op.op === 'use lease') return op.settlements.filter(({ id }) => op.writtenHolds.has(id))
  return op.op === 'settle' ? [op] : []
}

function requestsOf(op: LedgerOperation | LeaseOperation) {
  return op.op === 'grant lease' || op.op === 'use lease' ? [] : holdRequestsOf(op)
}

function sumSpent(settlements: readonly Settlement[]): Amounts {
  let [amount, byok] = [0n, 0n]
  for (const { spent } of settlements) {
    amount += spent.amount
    byok += spent.byok
  }
  return { amount, byok }
}

function extraStatementsOf({ extraStatements }: Settlement): readonly Statement[] {
  return extraStatements
}

function canBeCorrected({ generation, meteredIn }: Settlement): boolean {
  return generation !== null && meteredIn !== null
}

function encodeUnrolled({ id, organizationId, generation }: Settlement): string[][] {
  return generation ? [[id, organizationId]] : []
}

function buildCheckpointStatements(op: LedgerOperation | LeaseOperation): Statement[] {
  if (op.op !== 'note') return []
  return [{ sql: 'update holds set checkpoint = $1 where id = $2', values: [op.checkpoint, op.id] }]
}
