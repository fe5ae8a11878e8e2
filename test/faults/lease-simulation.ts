import { pino } from 'pino'
import { emptyDraft } from '../../src/ledger/draft.ts'
import type { AdmitOperation, LeaseOperation, LedgerOperation, Settlement } from '../../src/ledger/engine.ts'
import {
  type InterruptedRequests,
  type JournalIdentity,
  JournalTakenError,
  type LeaseDatabase,
  type OpenJournal,
} from '../../src/ledger/lease-database.ts'
import { newLeaseId } from '../../src/ledger/lease-id.ts'
import { leaseTerms } from '../../src/ledger/lease-rounds.ts'
import type { LeaseTime } from '../../src/ledger/lease-time.ts'
import { LeasedEngine } from '../../src/ledger/leased-engine.ts'
import { type Hold, LedgerState } from '../../src/ledger/ledger-state.ts'
import { newMeter } from '../../src/ledger/meter.ts'
import type { JournalFile, LeaseJournal, LeftoverSegment } from '../../src/ledger/node-journal.ts'
import { computeAllowance } from '../../src/ledger/postgres-leases.ts'
import { LeaseLostError, type LeaseOutcome, type LeaseState } from '../../src/ledger/postgres-transaction.ts'
import { createRelease } from '../../src/ledger/settlement.ts'
import type { Spool } from '../../src/ledger/spool.ts'
import { newId } from '../../src/platform/crypto/ids.ts'
import { emptyGeneration } from '../../src/platform/db/generation-table.ts'
import { toGenerationRecord } from '../support/generations.ts'
import { sampleExponential, seededRandom } from '../support/random.ts'

const day = '2030-05-01'
const startMs = Date.parse(`${day}T12:00:00.000Z`)
const silent = pino({ level: 'silent' })
/** After this time a call to the database has failed, whether or not it was carried out. */
const callTimeoutMs = 10_000
const watchMs = 2000

/** Virtual time: events run in their order, and everything that they cause before the next one. */
export class World {
  readonly random: () => number
  now = 0
  #count = 0
  readonly #events: { at: number; order: number; run: () => void }[] = []

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  between(low: number, high: number): number {
    return low + Math.floor(this.random() * (high - low + 1))
  }

  schedule(ms: number, run: () => void): void {
    const event = { at: this.now + ms, order: this.#count++, run }
    let [low, high] = [0, this.#events.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.#events[middle]
      if (other && (other.at < event.at || (other.at === event.at && other.order < event.order)))
        low = middle + 1
      else high = middle
    }
    this.#events.splice(low, 0, event)
  }

  async runUntil(end: number): Promise<void> {
    for (let first = this.#events[0]; first && first.at <= end; first = this.#events[0]) {
      this.#events.shift()
      this.now = Math.max(this.now, first.at)
      first.run()
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.now = end
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.schedule(ms, resolve))
  }
}

interface StoredHold {
  owner: string
  expiresAt: string
  op: AdmitOperation | null
}

interface StoredGeneration {
  cost: bigint
  isInterrupted: boolean
}

/** The database by the rules of `LedgerState`, without SQL: what `PostgresLeases` does, one transaction at a time. */
class SharedDatabase {
  readonly state = new LedgerState()
  readonly rows = new Map<string, StoredHold>()
  readonly generations = new Map<string, StoredGeneration>()
  readonly journals = new Map<
    string,
    { nodeId: string; flushed: number; renewals: number; isTaken: boolean }
  >()
  readonly recalls = new Map<string, number>()
  readonly heartbeats = new Map<string, number>()
  /** Charged by nodes that were considered dead, for requests that others had settled for them. */
  corrected = 0n
  transactions = 0

  /** Throws before it has changed anything. */
  transact(ops: readonly (LedgerOperation | LeaseOperation)[], now: number): LeaseOutcome {
    this.transactions++
    for (const op of ops)
      if (op.op === 'use lease' && !this.state.holds.has(op.id)) throw new LeaseLostError(op.id)
    const leases = new Map<string, LeaseState>()
    const results = ops.map((op) => this.#apply(op, leases, now))
    for (const id of this.rows.keys()) if (!this.state.holds.has(id)) this.rows.delete(id)
    return { results, leases }
  }

  #apply(op: LedgerOperation | LeaseOperation, leases: Map<string, LeaseState>, now: number) {
    if (op.op === 'admit') {
      for (const subject of op.request.subjects) this.#ensureMeter(subject)
      const rejection = this.state.admit(op.request)
      if (!rejection) this.#store(op)
      return rejection
    }
    if (op.op === 'settle') return this.#settle(op)
    if (op.op === 'grant lease') {
      for (const subject of op.subjects) this.#ensureMeter(subject)
      if (op.subjects.some((subject) => (this.recalls.get(subject) ?? 0) > now)) return null
      const granted = this.state.grantLease(op)
      const lease = this.state.holds.get(op.id)
      if (!lease) return null
      if (!this.rows.has(op.id)) this.rows.set(op.id, { owner: op.owner, expiresAt: '9999', op: null })
      leases.set(op.id, { ...lease, granted, nearest: null })
    }
    if (op.op === 'use lease') {
      const direct = op.settlements.filter(({ id }) => !op.writtenHolds.has(id))
      let [amount, byok] = [0n, 0n]
      for (const { spent } of direct) [amount, byok] = [amount + spent.amount, byok + spent.byok]
      const lost = op.settlements.filter(({ id }) => op.writtenHolds.has(id) && !this.state.holds.has(id))
      const lease = this.state.useLease(op.id, {
        placed: op.admits.map(({ request }) => request),
        closed: op.settlements.filter(({ id }) => op.writtenHolds.has(id)),
        spent: { amount, byok },
        returned: op.returned,
      })
      for (const admission of op.admits) this.#store(admission)
      for (const settlement of op.settlements) {
        if (lost.includes(settlement)) this.#settle(settlement)
        else this.#record(settlement)
      }
      if (op.isLast) this.state.settle(op.id, { amount: 0n, byok: 0n })
      if (lease) leases.set(op.id, { ...lease, granted: { amount: 0n, byok: 0n }, nearest: null })
    }
    return null
  }

  #settle(op: Settlement) {
    const known = this.generations.get(op.id)
    if (this.state.settle(op.id, op.spent)) {
      this.#record(op)
      return null
    }
    if (!op.meteredIn || !op.generation || (known && !known.isInterrupted)) return 'closed before'
    const difference = op.spent.amount - (known?.cost ?? 0n)
    this.state.correct(op.meteredIn, { amount: difference, byok: 0n })
    if (known || !op.isLeftover) this.corrected += difference
    this.generations.delete(op.id)
    this.#record(op)
    return 'corrected'
  }

  #record({ id, generation, spent, meteredIn }: Settlement): void {
    if (!generation) return
    if (this.generations.has(id)) throw new Error(`${id} is recorded twice`)
    this.generations.set(id, { cost: spent.amount, isInterrupted: meteredIn === null })
  }

  #store(op: AdmitOperation): void {
    this.rows.set(op.request.id, { owner: op.owner, expiresAt: op.expiresAt, op })
  }

  #ensureMeter(subject: string): void {
    if (!this.state.meters.has(subject)) this.state.meters.set(subject, newMeter(subject))
  }

  holdsOf(isMatch: (row: StoredHold, id: string) => boolean): Hold[] {
    return [...this.rows]
      .filter(([id, row]) => isMatch(row, id))
      .flatMap(([id]) => this.state.holds.get(id) ?? [])
  }

  release(holds: readonly Hold[], now: number): void {
    this.transact(
      holds.map(({ id }) => createRelease(id, '')),
      now,
    )
  }
}

/** How one node reaches the database: calls are delayed, lost on their way, or carried out without an answer. */
class DatabaseLink implements LeaseDatabase {
  readonly #database: SharedDatabase
  readonly #world: World
  readonly #node: SimulatedNode

  constructor(database: SharedDatabase, world: World, node: SimulatedNode) {
    this.#database = database
    this.#world = world
    this.#node = node
  }

  #call<T>(work: (database: SharedDatabase) => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const world = this.#world
    const { lossRate, delayMs, isCutOff } = this.#node.network
    const fail = () => reject(new Error('the database does not respond'))
    world.schedule(callTimeoutMs, fail)
    if (isCutOff || world.random() < lossRate) return promise
    world.schedule(sampleExponential(world.random, delayMs), () => {
      // A connection ends with its process.
      if (this.#node.isCrashed) return
      let answer: () => void
      try {
        const result = work(this.#database)
        answer = () => resolve(result)
      } catch (error) {
        answer = () => reject(error)
      }
      if (world.random() >= lossRate)
        world.schedule(sampleExponential(world.random, delayMs), () => this.#node.whenAwake(answer))
    })
    return promise
  }

  run(ops: readonly LedgerOperation[]): Promise<LeaseOutcome> {
    return this.#call((database) => database.transact(ops, this.#world.now))
  }

  grant(
    { id, nodeId, isNew }: JournalIdentity & { isNew: boolean },
    ops: readonly (LedgerOperation | LeaseOperation)[],
  ): Promise<LeaseOutcome> {
    return this.#call((database) => {
      if (isNew && !database.journals.has(id))
        database.journals.set(id, { nodeId, flushed: 0, renewals: 0, isTaken: false })
      const journal = database.journals.get(id)
      if (!journal || journal.isTaken) throw new JournalTakenError()
      return database.transact(ops, this.#world.now)
    })
  }

  write(
    { id }: JournalIdentity,
    segment: number | null,
    ops: readonly (LedgerOperation | LeaseOperation)[],
  ): Promise<LeaseOutcome | null> {
    return this.#call((database) => {
      const journal = database.journals.get(id)
      if (!journal || journal.isTaken) throw new JournalTakenError()
      if (segment !== null && journal.flushed >= segment) return null
      const outcome = database.transact(ops, this.#world.now)
      journal.renewals++
      if (segment !== null) journal.flushed = segment
      return outcome
    })
  }

  forget({ id }: JournalIdentity): Promise<void> {
    return this.#call((database) => endJournal(database, id, this.#world.now))
  }

  recall(subjects: readonly string[], ms: number): Promise<ReadonlySet<string>> {
    return this.#call((database) => {
      for (const subject of subjects) database.recalls.set(subject, this.#world.now + ms)
      const leases = database
        .holdsOf((row, id) => id.startsWith('lease-') && !row.owner.startsWith('journal'))
        .filter(({ amount }) => amount > 0n)
      return new Set(subjects.filter((subject) => leases.some((lease) => lease.subjects.includes(subject))))
    })
  }

  readRecalled(): Promise<ReadonlySet<string>> {
    return this.#call(
      ({ recalls }) =>
        new Set([...recalls].filter(([, until]) => until > this.#world.now).map(([subject]) => subject)),
    )
  }

  listOpenJournals(nodeId: string): Promise<OpenJournal[]> {
    return this.#call((database) =>
      [...database.journals].flatMap(([id, journal]) =>
        journal.isTaken || journal.nodeId === nodeId || leasesOf(database, id).length === 0
          ? []
          : [{ id, nodeId: journal.nodeId, renewedAt: String(journal.renewals) }],
      ),
    )
  }

  takeOver({ id, renewedAt }: OpenJournal, expiresAt: string): Promise<boolean> {
    return this.#call((database) => {
      const journal = database.journals.get(id)
      if (!journal || journal.isTaken || String(journal.renewals) !== renewedAt) return false
      journal.isTaken = true
      for (const lease of leasesOf(database, id)) {
        database.release([lease], this.#world.now)
        const { amount, byok } = computeAllowance(lease)
        if (amount + byok === 0n) continue
        const request = { ...lease, id: newLeaseId('allowance'), amount, byok, limits: [], free: null }
        const op = {
          op: 'admit',
          organizationId: '',
          owner: id,
          expiresAt,
          draft: emptyDraft,
          request,
        } as const
        database.transact([op], this.#world.now)
      }
      return true
    })
  }

  releaseExpired(): Promise<void> {
    return this.#call(() => undefined)
  }

  readFlushed(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#call(
      ({ journals }) =>
        new Map(ids.flatMap((id) => (journals.has(id) ? [[id, journals.get(id)?.flushed ?? 0]] : []))),
    )
  }

  retire(ids: readonly string[], interrupted: InterruptedRequests): Promise<string[]> {
    return this.#call((database) => {
      const own = new Set<string>()
      for (const id of ids) {
        const journal = database.journals.get(id)
        if (!journal) continue
        if (!journal.isTaken) own.add(id)
        endJournal(database, id, this.#world.now)
        database.heartbeats.delete(journal.nodeId)
      }
      placeInterrupted(database, interrupted, own, this.#world.now)
      return []
    })
  }

  placeInterrupted(interrupted: InterruptedRequests): Promise<void> {
    return this.#call((database) => placeInterrupted(database, interrupted, new Set(), this.#world.now))
  }

  sendHeartbeat(): Promise<void> {
    const { nodeId } = this.#node
    return this.#call(({ heartbeats }) => void heartbeats.set(nodeId, (heartbeats.get(nodeId) ?? 0) + 1))
  }

  /** The holds of nodes that are not among the living, and how often each node has shown that it is alive. */
  readHolds(): Promise<{ holds: (Hold & { owner: string })[]; heartbeats: Map<string, number> }> {
    return this.#call((database) => ({
      holds: [...database.rows].flatMap(([id, row]) => {
        const hold = database.state.holds.get(id)
        return hold && row.op?.draft.generation.id === id ? [{ ...hold, owner: row.owner }] : []
      }),
      heartbeats: new Map(database.heartbeats),
    }))
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

function placeInterrupted(
  database: SharedDatabase,
  interrupted: InterruptedRequests,
  own: ReadonlySet<string>,
  now: number,
): void {
  for (const { journal, hold } of interrupted.holds) {
    const [id, owner, subjects, heldAmount, , holdDay] = hold
    if (database.state.holds.has(id) || database.generations.has(id)) continue
    const amount = own.has(journal) ? BigInt(heldAmount) : 0n
    const meters = { subjects: subjects.split(' '), day: holdDay, limits: [], free: null }
    const draft = { ...emptyDraft, generation: { ...emptyGeneration, id } }
    const request = { ...meters, id, amount, byok: 0n }
    const op = { op: 'admit', organizationId: 'one', owner, expiresAt: '', draft, request } as const
    database.transact([op], now)
  }
}

function leasesOf(database: SharedDatabase, journal: string): Hold[] {
  return database.holdsOf((_, id) => id.startsWith(`lease-${journal}-`))
}

function endJournal(database: SharedDatabase, id: string, now: number): void {
  database.release([...leasesOf(database, id), ...database.holdsOf((row) => row.owner === id)], now)
  database.journals.delete(id)
}

interface DiskSegment {
  segmentId: { journal: string; number: number }
  lines: string[]
  synced: number
}

/** The data directory of a node, which outlives its processes. */
class Disk {
  segments: DiskSegment[] = []
  isFull = false

  /** A power cut leaves what was synced, and maybe some of the rest. */
  cutPower(random: () => number): void {
    let isLost = false
    for (const segment of this.segments) {
      if (isLost) segment.lines = []
      const kept = segment.synced + Math.floor(random() * (segment.lines.length - segment.synced + 1))
      isLost ||= kept < segment.lines.length
      segment.lines.length = Math.min(kept, segment.lines.length)
    }
    this.segments = this.segments.filter(({ lines }) => lines.length > 0)
  }
}

class DiskJournal implements LeaseJournal {
  id = newId('journal')
  #number = 0
  #segment: DiskSegment | null = null
  #leftovers: DiskSegment[] = []
  /** What a full disk did not take; it is written first the next time. */
  #unwritten: string[] = []
  readonly #disk: Disk
  readonly #world: World

  constructor(disk: Disk, world: World) {
    this.#disk = disk
    this.#world = world
  }

  get unflushedBytes(): number {
    return this.#disk.segments.filter(({ lines }) => lines.length > 1).length
  }
  readonly isSegmentFull = false

  readLeftovers(): LeftoverSegment[] {
    this.#leftovers = [...this.#disk.segments]
    return this.#leftovers.map(({ segmentId, lines }) => ({ segmentId, lines }))
  }
  async removeLeftovers(): Promise<void> {
    this.#disk.segments = this.#disk.segments.filter((segment) => !this.#leftovers.includes(segment))
  }
  prepare(): void {
    this.#segment ??= this.#begin()
  }
  append(lines: readonly string[]): void {
    this.#segment ??= this.#begin()
    this.#unwritten.push(...lines)
    if (this.#disk.isFull) throw new Error('no space left on device')
    this.#segment.lines.push(...this.#unwritten.splice(0))
  }
  #begin(): DiskSegment {
    if (this.#disk.isFull) throw new Error('no space left on device')
    const segment = {
      segmentId: { journal: this.id, number: ++this.#number },
      lines: [columnsLine],
      synced: 0,
    }
    this.#disk.segments.push(segment)
    return segment
  }
  /** Also syncs what was written before. */
  async sync(): Promise<void> {
    const reached = this.#disk.segments.map((segment) => [segment, segment.lines.length] as const)
    await this.#world.wait(sampleExponential(this.#world.random, 1))
    for (const [segment, count] of reached) segment.synced = Math.max(segment.synced, count)
  }
  close(): JournalFile | null {
    const segment = this.#segment
    if (!segment || (segment.lines.length === 1 && this.#unwritten.length === 0)) return null
    this.#segment = null
    this.#unwritten = []
    return segment
  }
  async recycle(segment: JournalFile): Promise<void> {
    this.#disk.segments = this.#disk.segments.filter((other) => other !== segment)
  }
  skip(): number {
    if (!this.#segment) return ++this.#number
    const { number } = this.#segment.segmentId
    this.#segment.segmentId = { journal: this.id, number: ++this.#number }
    return number
  }
  rename(): void {
    this.id = newId('journal')
    this.#number = 0
    this.#unwritten = []
    if (this.#segment) this.#segment.segmentId = { journal: this.id, number: ++this.#number }
  }
  end(): Promise<void> {
    return Promise.resolve()
  }
}

const { encodeColumns } = await import('../../src/ledger/journal-line.ts')
const { generationColumns } = await import('../../src/platform/db/generation-table.ts')
const columnsLine = encodeColumns(generationColumns)

const noSpool = {
  readLeftovers: () => [],
  write: async () => undefined,
  markDelivered: () => undefined,
  markRejected: () => undefined,
} as unknown as Spool

/** What clients and the provider know. */
class Books {
  /** Requests that were sent to the provider. */
  readonly sent = new Set<string>()
  /** Ends that clients have seen, with their cost. */
  readonly acknowledged = new Map<string, bigint>()
  /** Lost with the power before they were on disk: nobody has seen their end. */
  readonly mayBeLost = new Set<string>()
  rejected = 0
  local = 0
}

class SimulatedNode {
  network = { lossRate: 0, delayMs: 2, isCutOff: false }
  isCrashed = false
  nodeId = ''
  engine!: LeasedEngine
  readonly disk = new Disk()
  readonly #world: World
  readonly #database: SharedDatabase
  readonly #books: Books
  #link!: DatabaseLink
  #pausedUntil = 0
  #sleptMs = 0
  /** Clocks differ, and run at slightly different speeds. */
  readonly #offset: number
  readonly #rate: number
  readonly #open = new Set<string>()
  #generation = 0

  constructor(world: World, database: SharedDatabase, books: Books) {
    this.#world = world
    this.#database = database
    this.#books = books
    this.#offset = world.between(-2000, 2000)
    this.#rate = 1 + (world.random() - 0.5) / 500
  }

  /** Runs when the process is not paused; never if it has ended meanwhile. */
  whenAwake(run: () => void): void {
    const generation = this.#generation
    const wait = this.#pausedUntil - this.#world.now
    if (wait > 0) this.#world.schedule(wait, () => generation === this.#generation && this.whenAwake(run))
    else if (!this.isCrashed) run()
  }

  get #time(): LeaseTime {
    const generation = this.#generation
    return {
      now: () => (this.#world.now - this.#sleptMs) * this.#rate,
      wall: () => this.#world.now * this.#rate + this.#offset,
      setTimer: (run, ms) => {
        let isCanceled = false
        this.#world.schedule(ms, () =>
          this.whenAwake(() => {
            if (!isCanceled && generation === this.#generation) run()
          }),
        )
        return () => {
          isCanceled = true
        }
      },
    }
  }

  async start(): Promise<void> {
    this.#generation++
    this.isCrashed = false
    this.nodeId = newId('node')
    const generation = this.#generation
    this.#link = new DatabaseLink(this.#database, this.#world, this)
    const time = this.#time
    const engine = new LeasedEngine({
      database: this.#link,
      journal: new DiskJournal(this.disk, this.#world),
      spool: noSpool,
      nodeId: this.nodeId,
      clock: { now: () => startMs + Math.floor(this.#world.now) },
      log: silent,
      isRelaxed: () => false,
      time,
    })
    this.engine = engine
    for (;;) {
      try {
        await engine.open(async (settlements) => {
          if (settlements.length > 0) await engine.run(settlements, this.#now)
        })
        break
      } catch {
        await this.#world.wait(1000)
        if (generation !== this.#generation) return
      }
    }
    this.#watch(generation, time)
  }

  get #now(): string {
    return new Date(startMs + Math.floor(this.#world.now)).toISOString()
  }

  /** The periodic work of a gateway: heartbeats, takeovers, and recovery of the holds of dead nodes. */
  #watch(generation: number, time: LeaseTime): void {
    const observed = new Map<string, { count: number; since: number }>()
    let checkedAt = time.now()
    const run = async () => {
      if (generation !== this.#generation) return
      try {
        await this.#link.sendHeartbeat()
        await this.engine.takeOverLeases()
        const { holds, heartbeats } = await this.#link.readHolds()
        const now = time.now()
        if (now - checkedAt > leaseTerms.silentMs / 2) observed.clear()
        checkedAt = now
        for (const hold of holds) {
          if (hold.owner === this.nodeId) continue
          const count = heartbeats.get(hold.owner) ?? 0
          const known = observed.get(hold.owner)
          if (known?.count !== count) observed.set(hold.owner, { count, since: now })
          else if (now - known.since > leaseTerms.silentMs) await this.#recover(hold)
        }
      } catch {
        // The next run tries again.
      }
      time.setTimer(() => void run(), watchMs)
    }
    time.setTimer(() => void run(), this.#world.between(0, watchMs))
  }

  async #recover({ id, subjects, day: holdDay, amount }: Hold): Promise<void> {
    const cost = amount / 3n
    await this.#link.run([buildSettlement(id, cost, amount, null)])
    void [subjects, holdDay]
  }

  /** One request, from its hold to the end that its client sees. */
  async request(
    subjects: readonly string[],
    limits: AdmitOperation['request']['limits'],
    id: string,
  ): Promise<void> {
    if (this.isCrashed) return
    const { engine } = this
    const generation = this.#generation
    const isGone = () => generation !== this.#generation
    const amount = BigInt(this.#world.between(1, 100))
    const draft = {
      ...emptyDraft,
      generation: { ...emptyGeneration, id, organization_id: 'one', key_id: Number(subjects[1]?.slice(4)) },
    }
    const request = { id, subjects, day, limits, free: null, amount, byok: 0n }
    const op: AdmitOperation = {
      op: 'admit',
      organizationId: 'one',
      owner: this.nodeId,
      expiresAt: '9999',
      draft,
      request,
    }
    try {
      let result = engine.admitNow(op)
      if (result === null) this.#books.local++
      for (let tries = 0; result === undefined || result === 'recalling'; tries++) {
        if (tries > 0) await this.#world.wait(250)
        if (tries > 20) return
        result = (await engine.run([tries > 0 ? { ...op, isRetry: true } : op], this.#now)).results[0]
      }
      if (result !== null) return void this.#books.rejected++
    } catch {
      // The gateway would release it; here the hold stays until its node ends.
      this.#open.delete(id)
      if (!isGone())
        await this.#settle(engine, buildSettlement(id, 0n, amount, { subjects, day }, false), isGone)
      return
    }
    if (isGone()) return
    this.#books.sent.add(id)
    this.#open.add(id)
    await this.#world.wait(sampleExponential(this.#world.random, 1500))
    await new Promise<void>((resolve) => this.whenAwake(resolve))
    if (isGone()) return
    const cost = (amount * BigInt(this.#world.between(0, 100))) / 100n
    if (!(await this.#settle(engine, buildSettlement(id, cost, amount, { subjects, day }), isGone))) return
    this.#open.delete(id)
    this.#books.acknowledged.set(id, cost)
  }

  async #settle(engine: LeasedEngine, settlement: Settlement, isGone: () => boolean): Promise<boolean> {
    for (let isRetry = false; ; isRetry = true) {
      let durable: Promise<void> | null
      try {
        durable = (await engine.run([{ ...settlement, isRetry }], this.#now)).durable
      } catch {
        await this.#world.wait(500)
        if (isGone()) return false
        continue
      }
      try {
        await durable
        return !isGone()
      } catch {
        // The client sees an error; the charge stays in the journal.
        return false
      }
    }
  }

  crash(isPowerCut: boolean): void {
    this.#generation++
    this.isCrashed = true
    for (const id of this.#open) if (isPowerCut) this.#books.mayBeLost.add(id)
    this.#open.clear()
    if (isPowerCut) this.disk.cutPower(this.#world.random)
  }

  /** `isSuspended`: the machine sleeps, and its monotonic clock with it. */
  pause(ms: number, isSuspended: boolean): void {
    this.#pausedUntil = this.#world.now + ms
    if (isSuspended)
      this.#world.schedule(ms, () => {
        this.#sleptMs += ms
      })
  }
}

function buildSettlement(
  id: string,
  cost: bigint,
  held: bigint,
  meteredIn: Settlement['meteredIn'],
  isRecorded = true,
): Settlement {
  const { draft, outcome } = toGenerationRecord({
    ...emptyGeneration,
    id,
    cost_nanos: cost,
    hold_nanos: held,
  })
  return {
    op: 'settle',
    id,
    organizationId: 'one',
    isByok: false,
    spent: { amount: cost, byok: 0n },
    generation: isRecorded ? { draft: { ...draft, id, organization_id: 'one' }, outcome } : null,
    meteredIn,
    extraStatements: [],
  }
}

export interface SimulationResult {
  problems: string[]
  requests: number
  acknowledged: number
  rejected: number
  local: number
  corrected: bigint
  transactions: number
}

export interface Faults {
  crashes: boolean
  pauses: boolean
  network: boolean
}

/** Runs nodes that share limits under faults, and compares what the books say in the end. */
export async function simulateLeases(seed: number, faults: Faults): Promise<SimulationResult> {
  const world = new World(seed)
  const database = new SharedDatabase()
  const books = new Books()
  const problems: string[] = []
  const nodeCount = world.random() < 0.05 ? 100 : world.between(1, 12)
  const nodes = Array.from({ length: nodeCount }, () => new SimulatedNode(world, database, books))
  const limitOf = (max: bigint, subject: string) =>
    ({
      kind: subject.startsWith('key') ? 'key' : 'credits',
      subject,
      window: 'total',
      includeByok: false,
      amount: max,
    }) as const
  const organizationLimit = BigInt(world.between(500, 60_000))
  const keys = Array.from({ length: world.between(1, 4) }, (_, index) => {
    const key = `key:${index + 1}`
    const limit = BigInt(world.between(100, 40_000))
    return {
      limit,
      subjects: ['organization:one', key],
      limits: [limitOf(organizationLimit, 'organization:one'), limitOf(limit, key)],
    }
  })
  const load = 30_000
  const requestCount = world.between(100, 500)
  for (const node of nodes) world.schedule(0, () => void node.start())
  for (let index = 0; index < requestCount; index++) {
    const node = nodes[world.between(0, nodeCount - 1)]
    const key = keys[world.between(0, keys.length - 1)]
    const id = `gen-${String(index).padStart(6, '0')}`
    if (node && key)
      world.schedule(world.between(500, load), () =>
        node.whenAwake(() => void node.request(key.subjects, key.limits, id)),
      )
  }
  scheduleFaults(world, nodes, faults, load)
  for (let at = 0; at <= load; at += 500) {
    await world.runUntil(at)
    checkLimits()
  }
  // What is broken is repaired, and every node starts once more.
  for (const node of nodes) {
    node.network = { lossRate: 0, delayMs: 2, isCutOff: false }
    if (node.isCrashed) world.schedule(0, () => void node.start())
  }
  await world.runUntil(load + 40_000)
  checkLimits()
  for (const node of nodes) world.schedule(0, () => void node.engine.close())
  await world.runUntil(load + 55_000)
  checkBooks()
  return {
    problems,
    requests: requestCount,
    acknowledged: books.acknowledged.size,
    rejected: books.rejected,
    local: books.local,
    corrected: database.corrected,
    transactions: database.transactions,
  }

  function checkLimits(): void {
    const meters = [
      ['organization:one', organizationLimit] as const,
      ...keys.map(({ subjects: [, key = ''], limit }) => [key, limit] as const),
    ]
    for (const [subject, limit] of meters) {
      const meter = database.state.meters.get(subject)
      if (!meter) continue
      const excess = meter.spent.total - limit
      if (excess > 0n && excess > database.corrected)
        problems.push(
          `${subject} has spent ${meter.spent.total} of ${limit}, ${database.corrected} of it by corrections`,
        )
    }
  }

  function checkBooks(): void {
    for (const [id, cost] of books.acknowledged) {
      const recorded = database.generations.get(id)
      if (recorded?.cost !== cost)
        problems.push(`${id} was acknowledged for ${cost} and is recorded for ${recorded?.cost}`)
    }
    for (const id of books.sent)
      if (!database.generations.has(id) && !books.mayBeLost.has(id))
        problems.push(`${id} was sent and has no record`)
    let spent = 0n
    for (const { cost } of database.generations.values()) spent += cost
    const metered = database.state.meters.get('organization:one')?.spent.total ?? 0n
    if (spent !== metered) problems.push(`records sum to ${spent}, the meter says ${metered}`)
    // A node that has lost its journal with the power does not know what was reserved for it.
    const held = new Map<string, bigint>()
    for (const { id, subjects, amount } of database.state.holds.values()) {
      if (!database.rows.get(id)?.owner.startsWith('journal')) problems.push(`${id} is still held`)
      for (const subject of subjects) held.set(subject, (held.get(subject) ?? 0n) + amount)
    }
    for (const [subject, meter] of database.state.meters)
      if (meter.held.total !== (held.get(subject) ?? 0n))
        problems.push(`${subject} has ${meter.held.total} held`)
  }
}

function scheduleFaults(world: World, nodes: readonly SimulatedNode[], faults: Faults, load: number): void {
  const pick = () => nodes[world.between(0, nodes.length - 1)] as SimulatedNode
  const faultCount = world.between(1, 2 + nodes.length)
  for (let count = 0; count < faultCount; count++) {
    const at = world.between(1000, load - 1000)
    const node = pick()
    const kind = world.between(0, 3)
    if (kind === 0 && faults.crashes)
      world.schedule(at, () => {
        if (node.isCrashed) return
        node.crash(world.random() < 0.3)
        world.schedule(world.between(0, 30_000), () => node.isCrashed && void node.start())
      })
    if (kind === 1 && faults.pauses)
      world.schedule(at, () => node.pause(world.between(100, 25_000), world.random() < 0.3))
    if (kind === 3 && faults.crashes)
      world.schedule(at, () => {
        node.disk.isFull = true
        world.schedule(world.between(100, 10_000), () => {
          node.disk.isFull = false
        })
      })
    if (kind === 2 && faults.network)
      world.schedule(at, () => {
        node.network = {
          lossRate: world.random() / 2,
          delayMs: world.between(1, 400),
          isCutOff: world.random() < 0.3,
        }
        world.schedule(world.between(100, 20_000), () => {
          node.network = { lossRate: 0, delayMs: 2, isCutOff: false }
        })
      })
  }
}
