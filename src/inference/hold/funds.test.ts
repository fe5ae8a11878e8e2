import { afterAll, describe, expect, spyOn, test } from 'bun:test'
import { pino } from 'pino'
import { closeScenarios, createScenario } from '../../../test/faults/gateways.ts'
import { databaseKinds } from '../../../test/support/harness.ts'
import { requestHolds } from '../../../test/support/holds.ts'
import { createLeasedEngine } from '../../../test/support/leased-engine.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { Bill } from '../../ledger/bill.ts'
import { checkLedger } from '../../ledger/check.ts'
import { emptyDraft } from '../../ledger/draft.ts'
import type {
  AdmitOperation,
  BatchOutcome,
  LedgerEngine,
  LedgerOperation,
  OperationResult,
} from '../../ledger/engine.ts'
import { Ledger } from '../../ledger/ledger.ts'
import { type FreeLimit, LedgerState } from '../../ledger/ledger-state.ts'
import { newMeter } from '../../ledger/meter.ts'
import { createRelease } from '../../ledger/settlement.ts'
import { SqliteEngine } from '../../ledger/sqlite-engine.ts'
import type { Batch, BatchConnection } from '../../platform/db/batch.ts'
import { closeDb, isPostgresUrl, migrate, openDb } from '../../platform/db/db.ts'
import { PostgresBatchConnection } from '../../platform/db/postgres-batch.ts'
import { systemClock } from '../../platform/time/clock.ts'
import { ClientDisconnectedError } from '../failures/errors.ts'
import type { FundedRequest } from './extension.ts'
import { Funds } from './funds.ts'

const subject = 'key:1'
const day = '2031-01-01'
const log = pino({ level: 'silent' })
const amount = (nanos: bigint) => ({ amount: nanos, byok: 0n })

afterAll(closeScenarios)

/** A ledger in memory. */
class MemoryEngine implements LedgerEngine {
  readonly fullSince = null
  readonly unflushedBytes = null
  readonly state = new LedgerState()
  exchanges = 0

  constructor() {
    this.state.meters.set(subject, newMeter(subject))
  }

  open(): Promise<void> {
    return Promise.resolve()
  }
  admitNow({ request }: AdmitOperation): OperationResult {
    return this.state.admit(request)
  }
  run(ops: readonly LedgerOperation[]): BatchOutcome {
    return { results: ops.map((op) => this.#apply(op)), durable: null }
  }
  #apply(op: LedgerOperation): OperationResult {
    if (op.op === 'admit') return this.state.admit(op.request)
    if (op.op === 'settle') return this.state.settle(op.id, op.spent) ? null : 'closed before'
    if (op.op === 'note') return null
    this.exchanges++
    return this.state.exchange(
      op.releases,
      op.admits.map(({ request }) => request),
    ).rejection
  }
  spool(): Promise<void> {
    return Promise.resolve()
  }
  drop(): void {
    throw new Error('nothing is rejected')
  }
  flush(): null {
    return null
  }
  close(): Promise<void> {
    return Promise.resolve()
  }

  get held(): bigint {
    return [...this.state.holds.values()].reduce((sum, hold) => sum + hold.amount, 0n)
  }
}

/** Requests of one key, which has a limit of 100. */
class Scene {
  readonly ledger: Ledger
  readonly gateway: Gateway
  #count = 0

  constructor(engine: LedgerEngine) {
    this.ledger = new Ledger(engine, systemClock, log)
    const settings = { limits: { total: 600_000 } }
    this.gateway = { ledger: this.ledger, clock: systemClock, log, settings, node: { id: 'node' } } as Gateway
  }

  createRequest(startedAt = 0): FundedRequest {
    const limit = { kind: 'key', subject, window: 'total', includeByok: false, amount: 100n } as const
    return {
      id: `gen-${++this.#count}`,
      at: Date.parse(day),
      startedAt,
      format: { task: 'text' },
      caller: { organizationId: 'one' },
      keyContext: { meterScopes: [subject], limits: [limit] },
      limits: null,
      httpRequest: new Request('http://127.0.0.1/'),
    }
  }

  createFunds(outer: Funds | null = null): Funds {
    return new Funds(this.createRequest(), new Bill(), outer)
  }

  buildAdmission(id: string, nanos: bigint, free: FreeLimit | null = null): AdmitOperation {
    const { limits } = this.createRequest().keyContext
    return {
      op: 'admit',
      request: { id, subjects: [subject], day, limits, ...amount(nanos), free },
      organizationId: 'one',
      owner: 'node',
      expiresAt: '2031-01-02',
      draft: emptyDraft,
    }
  }

  /** Admits a request with steps: its own hold, and one for its turn. */
  async admit(funds: Funds, id: string, turn: bigint, steps = 0n): Promise<void> {
    expect(await funds.admitWithSteps(this.gateway, this.buildAdmission(id, turn), amount(steps))).toBeNull()
  }
}

/** Pays for a turn of a request. */
function pay(funds: Funds, cost: bigint): void {
  const line = { kind: 'tool', name: 'step', provider: null, quantity: 1, cost, durationMs: 0 } as const
  funds.bill?.addFee(line)
}

describe('the requests of a panel at a limit', () => {
  test('I12 one that waits for a limit does not stop what another holds', async () => {
    const engine = new MemoryEngine()
    const scene = new Scene(engine)
    const { gateway } = scene
    const outer = scene.createFunds()
    await scene.admit(outer, 'outer', 10n)
    const [first, second] = [scene.createFunds(outer), scene.createFunds(outer)]
    await scene.admit(first, 'first', 40n)
    await scene.admit(second, 'second', 30n)
    pay(first, 40n)
    pay(second, 20n)
    const waiting = first.coverTurn(gateway, amount(30n))
    // It needs less than what is available beside the other.
    await second.coverTurn(gateway, amount(10n))
    await second.close(gateway)
    await scene.ledger.settle({ ...createRelease('second', 'one'), spent: amount(20n) })
    await waiting
    expect(first.held).toMatchObject(amount(70n))
    await Promise.all([first.close(gateway), outer.close(gateway)])
    expect(engine.held).toBe(0n)
  })

  test('I12 of two that need more than there is, one is rejected at once, and the other continues', async () => {
    const engine = new MemoryEngine()
    const scene = new Scene(engine)
    const { gateway } = scene
    const outer = scene.createFunds()
    await scene.admit(outer, 'outer', 10n)
    const members = [scene.createFunds(outer), scene.createFunds(outer)]
    for (const [index, funds] of members.entries()) {
      await scene.admit(funds, `member-${index}`, 40n)
      pay(funds, 40n)
    }
    const before = engine.exchanges
    const results = await Promise.allSettled(
      members.map(async (funds) => {
        try {
          await funds.coverTurn(gateway, amount(30n))
        } finally {
          await funds.close(gateway)
        }
      }),
    )
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(engine.exchanges - before).toBeLessThan(20)
    await outer.close(gateway)
    expect(engine.held).toBe(0n)
  })

  test('I12 a fee that waits does not stop the requests of the same reply', async () => {
    const engine = new MemoryEngine()
    const scene = new Scene(engine)
    const { gateway } = scene
    const outer = scene.createFunds()
    await scene.admit(outer, 'outer', 10n)
    const member = scene.createFunds(outer)
    await scene.admit(member, 'member', 60n)
    const fee = outer.reserveFee(gateway, 50n)
    pay(member, 20n)
    await member.coverTurn(gateway, amount(30n))
    await member.close(gateway)
    await fee
    expect(outer.held).toMatchObject(amount(60n))
    await outer.close(gateway)
    expect(engine.held).toBe(0n)
  })

  test('I12 a request on behalf of a member draws on all that is held for the panel', async () => {
    const engine = new MemoryEngine()
    const scene = new Scene(engine)
    const outer = scene.createFunds()
    await scene.admit(outer, 'outer', 10n, 80n)
    const member = scene.createFunds(outer)
    const moderation = scene.createFunds(member)
    await member.reserveAhead(scene.gateway, amount(40n))
    expect(await moderation.admit(scene.gateway, scene.buildAdmission('moderation', 45n))).toBeNull()
    expect(engine.held).toBe(95n)
    expect(outer.held.amount).toBe(10n)
    for (const funds of [moderation, member, outer]) await funds.close(scene.gateway)
  })
})

describe('a request that has ended', () => {
  test('R2 cannot be drawn on by requests on its behalf', async () => {
    const engine = new MemoryEngine()
    const scene = new Scene(engine)
    const { gateway } = scene
    const outer = scene.createFunds()
    await scene.admit(outer, 'outer', 50n)
    const [late, later] = [scene.createFunds(outer), scene.createFunds(outer)]
    await scene.admit(late, 'late', 10n)
    await outer.close(gateway)
    const before = engine.held
    const admission = later.admit(gateway, scene.buildAdmission('later', 1n))
    await expect(admission).rejects.toBeInstanceOf(ClientDisconnectedError)
    await expect(late.coverTurn(gateway, amount(20n))).rejects.toBeInstanceOf(ClientDisconnectedError)
    expect(engine.held).toBe(before)
    await late.close(gateway)
    expect(engine.held).toBe(0n)
  })

  test('R2 leaves no hold of a request that it was about to admit', async () => {
    const engine = new MemoryEngine()
    const scene = new Scene(engine)
    const outer = scene.createFunds()
    await outer.reserveAhead(scene.gateway, amount(50n))
    const nested = scene.createFunds(outer)
    const admitting = nested.admit(scene.gateway, scene.buildAdmission('nested', 20n))
    await outer.close(scene.gateway)
    await expect(admitting).rejects.toBeInstanceOf(ClientDisconnectedError)
    expect([...engine.state.holds.keys()]).toEqual([])
    expect(scene.ledger.isOpen('nested')).toBe(false)
  })

  test('R2 leaves no hold if it ends while it gives up what it has not paid', async () => {
    const engine = new MemoryEngine()
    const scene = new Scene(engine)
    const { gateway, ledger } = scene
    const funds = scene.createFunds()
    await scene.admit(funds, 'one', 40n)
    pay(funds, 20n)
    await ledger.admit(scene.buildAdmission('other', 60n))
    const exchange = ledger.holdQueue.exchange.bind(ledger.holdQueue)
    const spy = spyOn(ledger.holdQueue, 'exchange').mockImplementation(async (op) => {
      const rejection = await exchange(op)
      if (!rejection) await funds.close(gateway)
      return rejection
    })
    await expect(funds.coverTurn(gateway, amount(30n))).rejects.toBeInstanceOf(ClientDisconnectedError)
    spy.mockRestore()
    expect(engine.held).toBe(60n)
  })
})

test('R3 a request that is rejected for what others found out does not count as one of a free model', async () => {
  const engine = new MemoryEngine()
  const scene = new Scene(engine)
  const { gateway } = scene
  const free = { subject, minute: `${day}T00:00`, perMinute: 20, perDay: 50 }
  const requestSteps = async (id: string) => {
    const funds = scene.createFunds()
    const rejection = await funds.admitWithSteps(gateway, scene.buildAdmission(id, 60n, free), amount(90n))
    return { funds, rejection }
  }
  const { funds, rejection } = await requestSteps('first')
  expect(rejection).toBeNull()
  pay(funds, 60n)
  await expect(funds.coverTurn(gateway, amount(80n))).rejects.toThrow('limit of this key')
  await funds.close(gateway)
  await scene.ledger.settle(createRelease('first', 'one'))
  const counted = { ...engine.state.meters.get(subject) }
  expect(counted).toMatchObject({ freeMinute: 1, freeDay: 1 })
  expect((await requestSteps('second')).rejection).toMatchObject({ reason: 'limit', needed: 150n })
  expect(engine.state.meters.get(subject)).toMatchObject({ freeMinute: 1, freeDay: 1 })
  expect([...engine.state.holds.keys()]).toEqual([])
})

/** Loses the connection after a transaction is committed, for longer than an admission waits. */
class LostAnswer {
  isNext = false
  readonly #now = performance.now.bind(performance)
  readonly #clock = spyOn(performance, 'now')

  after<T>(result: T): T {
    if (!this.isNext) return result
    this.isNext = false
    const now = this.#now
    this.#clock.mockImplementation(() => now() + 11_000)
    throw new Error('connection lost')
  }

  restore(): void {
    this.#clock.mockRestore()
  }
}

class LosingConnection implements BatchConnection {
  readonly #inner: BatchConnection
  readonly #lost: LostAnswer

  constructor(url: string, lost: LostAnswer) {
    this.#inner = new PostgresBatchConnection(url)
    this.#lost = lost
  }
  async transact<T>(work: (batch: Batch) => Promise<T>): Promise<T> {
    return this.#lost.after(await this.#inner.transact(work))
  }
  close(): Promise<void> {
    return this.#inner.close()
  }
}

class LosingSqliteEngine extends SqliteEngine {
  readonly #lost: LostAnswer

  constructor(path: string, lost: LostAnswer) {
    super(path, systemClock, log)
    this.#lost = lost
  }
  override async run(ops: readonly LedgerOperation[]): Promise<BatchOutcome> {
    return this.#lost.after(await super.run(ops))
  }
}

function openEngine(url: string, lost: LostAnswer): LedgerEngine {
  return isPostgresUrl(url)
    ? createLeasedEngine(url, { connection: new LosingConnection(url, lost) })
    : new LosingSqliteEngine(url, lost)
}

describe.each(databaseKinds)('an exchange of holds whose result is lost (%s)', (kind) => {
  test('R2 I4 leaves neither the old nor the new holds, and what is needed is held again', async () => {
    const { databaseUrl } = await createScenario(kind)
    const db = openDb(databaseUrl)
    await migrate(db)
    const lost = new LostAnswer()
    const scene = new Scene(openEngine(databaseUrl, lost))
    const { gateway, ledger } = scene
    const readHeld = async () => {
      await ledger.flush()
      const rows = await requestHolds(db).select('amount_nanos').execute()
      return rows.map(({ amount_nanos }) => amount_nanos)
    }
    try {
      const outer = scene.createFunds()
      await outer.reserveAhead(gateway, amount(50n))
      const nested = scene.createFunds(outer)
      lost.isNext = true
      const admitting = nested.admit(gateway, scene.buildAdmission('nested', 40n))
      await expect(admitting).rejects.toThrow('unavailable')
      expect([outer.held, nested.held]).toMatchObject([amount(0n), amount(0n)])
      // It waits for the releases that were queued before.
      await ledger.settle(createRelease('none', 'one'))
      expect(await readHeld()).toEqual([])
      await outer.coverTurn(gateway, amount(60n))
      expect(await readHeld()).toEqual([60n])
      const other = scene.createFunds()
      await expect(other.reserveFee(gateway, 101n)).rejects.toThrow('limit of this key')
      await other.reserveFee(gateway, 40n)
      expect((await checkLedger(db)).findings.flatMap(({ violations }) => violations)).toEqual([])
      await Promise.all([outer.close(gateway), other.close(gateway)])
      expect(await readHeld()).toEqual([])
    } finally {
      lost.restore()
      await ledger.close()
      await closeDb(db)
    }
  }, 30_000)
})
