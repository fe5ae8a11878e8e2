import { expect, spyOn, test } from 'bun:test'
import { pino } from 'pino'
import { systemClock } from '../platform/time/clock.ts'
import { emptyDraft } from './draft.ts'
import {
  type AdmitOperation,
  type BatchOutcome,
  type LedgerEngine,
  type LedgerOperation,
  type Settlement,
  UnreadableRowsError,
} from './engine.ts'
import { Ledger } from './ledger.ts'
import { createRelease } from './settlement.ts'

const silent = pino({ level: 'silent' })

/** Rejects `gen-bad` and all extra statements, and does not complete `gen-slow` before `slow` resolves. */
class PickyEngine implements LedgerEngine {
  readonly fullSince = null
  readonly unflushedBytes = null
  readonly spooled: string[] = []
  readonly dropped: string[] = []
  readonly slow = Promise.withResolvers<void>()
  readonly reached = Promise.withResolvers<void>()

  open(): Promise<void> {
    return Promise.resolve()
  }

  admitNow(): undefined {
    return undefined
  }
  async run(ops: readonly LedgerOperation[]) {
    const ids = ops.map((op) => ('id' in op ? op.id : op.op === 'admit' ? op.request.id : ''))
    const hasExtras = ops.some((op) => op.op === 'settle' && op.extraStatements.length > 0)
    if (ids.includes('gen-bad') || hasExtras) throw Object.assign(new Error('refused'), { errno: '23503' })
    if (ids.includes('gen-slow')) {
      this.reached.resolve()
      await this.slow.promise
    }
    return { results: ids.map(() => null), durable: null }
  }

  async spool(settlements: readonly Settlement[]): Promise<void> {
    this.spooled.push(...settlements.map(({ id }) => id))
  }

  drop({ id }: Settlement): void {
    this.dropped.push(id)
  }

  flush(): null {
    return null
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

test('R7 a rejected settlement is not spooled for the next process', async () => {
  const engine = new PickyEngine()
  const ledger = new Ledger(engine, systemClock, silent)
  await expect(ledger.settle(createRelease('gen-bad', 'org'))).rejects.toThrow('refused')
  await ledger.close()
  expect(engine.dropped).toEqual(['gen-bad'])
  expect(engine.spooled).toEqual([])
})

test('R7 a charge whose extra statements are rejected is written without them', async () => {
  const engine = new PickyEngine()
  const ledger = new Ledger(engine, systemClock, silent)
  const extraStatements = [{ sql: 'insert into nowhere values ($1)', values: ['x'] }]
  await ledger.settle({ ...createRelease('gen-1', 'org'), extraStatements })
  await ledger.close()
  expect([engine.dropped, engine.spooled]).toEqual([[], []])
})

test('R7 settlements behind a rejected one are spooled when the process ends before their turn', async () => {
  const engine = new PickyEngine()
  const ledger = new Ledger(engine, systemClock, silent, 500)
  const bad = ledger.settle(createRelease('gen-bad', 'org')).catch(String)
  const others = ['gen-1', 'gen-slow', 'gen-2'].map((id) => ledger.settle(createRelease(id, 'org')))
  await bad
  await engine.reached.promise
  await ledger.close()
  expect([...new Set(engine.spooled)]).toEqual(['gen-slow', 'gen-2'])
  engine.slow.resolve()
  await Promise.all(others)
})

/** Decides everything at once, and stores what was run together. */
class InstantEngine implements LedgerEngine {
  readonly fullSince = null
  readonly unflushedBytes = null
  readonly batches: string[][] = []

  open(): Promise<void> {
    return Promise.resolve()
  }
  admitNow(): null | undefined {
    return null
  }
  run(ops: readonly LedgerOperation[]): BatchOutcome | Promise<BatchOutcome> {
    this.batches.push(ops.map((op) => ('id' in op ? op.id : op.op === 'admit' ? op.request.id : '')))
    return { results: ops.map(() => null), durable: Promise.resolve() }
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
}

function holdOf(id: string): AdmitOperation {
  const amounts = { amount: 1n, byok: 0n }
  return {
    op: 'admit',
    request: { id, subjects: [], day: '2031-01-01', limits: [], free: null, ...amounts },
    organizationId: 'org',
    owner: 'node',
    expiresAt: '2031-01-02',
    draft: emptyDraft,
  }
}

test('the only request is settled at once, and requests that end together share a batch', async () => {
  const engine = new InstantEngine()
  const ledger = new Ledger(engine, systemClock, silent)
  await ledger.admit(holdOf('gen-1'))
  const alone = ledger.settle(createRelease('gen-1', 'org'))
  expect(engine.batches).toEqual([['gen-1']])
  await alone
  for (const id of ['gen-2', 'gen-3']) await ledger.admit(holdOf(id))
  const together = ['gen-2', 'gen-3'].map((id) => ledger.settle(createRelease(id, 'org')))
  expect(engine.batches).toHaveLength(1)
  await Promise.all(together)
  expect(engine.batches).toEqual([['gen-1'], ['gen-2', 'gen-3']])
  await ledger.close()
})

test('an idle process is not woken, and the progress of a reply is stored after a pause', async () => {
  const engine = new InstantEngine()
  const ledger = new Ledger(engine, systemClock, silent)
  const intervals = spyOn(globalThis, 'setInterval')
  const cleared = spyOn(globalThis, 'clearInterval')
  const tick = async () => {
    const [run] = intervals.mock.calls.at(-1) ?? []
    ;(run as () => void)()
    for (let turns = 0; turns < 2; turns++) await new Promise((resolve) => setImmediate(resolve))
  }
  await ledger.settle(createRelease('gen-1', 'org'))
  await tick()
  expect([intervals.mock.calls.length, cleared.mock.calls.length]).toEqual([1, 1])
  await ledger.admit(holdOf('gen-2'))
  ledger.trackProgress('gen-2', { buildCheckpoint: () => '{}' })
  await tick()
  expect([intervals.mock.calls.length, cleared.mock.calls.length]).toEqual([2, 1])
  for (const spy of [intervals, cleared]) spy.mockRestore()
  expect(engine.batches).toEqual([['gen-1'], ['gen-2']])
  await ledger.settle(createRelease('gen-2', 'org'))
  await ledger.close()
})

/** An engine with everything in memory but `gen-unread`, whose rows cannot be read. */
class ForgetfulEngine extends InstantEngine {
  override admitNow(): undefined {
    return undefined
  }
  override run(ops: readonly LedgerOperation[]): BatchOutcome | Promise<BatchOutcome> {
    const unread = ops.filter((op) => op.op === 'settle' && op.id === 'gen-unread')
    return unread.length > 0 ? Promise.reject(new UnreadableRowsError(unread, 'locked')) : super.run(ops)
  }
}

test('R1 R7 the hold of a request that was admitted beside an unreadable one is not released', async () => {
  const engine = new ForgetfulEngine()
  const ledger = new Ledger(engine, systemClock, silent, 0)
  const intervals = spyOn(globalThis, 'setInterval')
  ledger.settle(createRelease('gen-unread', 'org')).catch(() => undefined)
  expect(await ledger.admit(holdOf('gen-1'))).toBeNull()
  const now = performance.now.bind(performance)
  const clock = spyOn(performance, 'now').mockImplementation(() => now() + 11_000)
  // The ledger looks for late operations every two seconds.
  const [[lookForLate] = []] = intervals.mock.calls
  ;(lookForLate as () => void)()
  await Bun.sleep(1)
  for (const spy of [clock, intervals]) spy.mockRestore()
  expect(engine.batches).toEqual([['gen-1']])
  expect(ledger.isOpen('gen-1')).toBe(true)
  await ledger.close()
})

/** Rejects every exchange, because of what others hold. */
class FullEngine extends InstantEngine {
  exchanges = 0

  override run(ops: readonly LedgerOperation[]): BatchOutcome {
    const limit = {
      kind: 'key',
      subject: 'key:1',
      window: 'total',
      includeByok: false,
      amount: 100n,
    } as const
    const amounts = { needed: 50n, available: 10n, attainable: 90n, held: 80n }
    const results = ops.map((op) => {
      if (op.op !== 'exchange') return null
      this.exchanges++
      return { reason: 'limit', kind: 'key', window: 'total', limit, ...amounts } as const
    })
    return { results, durable: null }
  }
}

test('a request that waits for the holds of others is not tried in a loop', async () => {
  const engine = new FullEngine()
  const ledger = new Ledger(engine, systemClock, silent)
  const client = new AbortController()
  const { holdQueue } = ledger
  const waiting = holdQueue.wait({
    attempt: () => holdQueue.exchangeInTurn({ op: 'exchange', releases: [], admits: [holdOf('gen-1')] }),
    limits: [],
    hasPaid: false,
    since: 0,
    held: () => ({ amount: 0n, byok: 0n }),
    signal: client.signal,
    onEnd: () => undefined,
  })
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
  // Once, and then four times a second.
  expect(engine.exchanges).toBeLessThan(20)
  const before = engine.exchanges
  await ledger.settle(createRelease('gen-2', 'org'))
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(engine.exchanges).toBeGreaterThan(before)
  client.abort(new Error('gone'))
  await expect(waiting).rejects.toThrow('gone')
  await ledger.close()
})

/** Reports once, and late, that leases are being recalled; remembers what is held. */
class RecallingEngine extends InstantEngine {
  readonly held = new Set<string>()
  readonly reached = Promise.withResolvers<void>()
  readonly recalled = Promise.withResolvers<void>()
  #isFirst = true

  override admitNow(): undefined {
    return undefined
  }
  override run(ops: readonly LedgerOperation[]): BatchOutcome | Promise<BatchOutcome> {
    if (this.#isFirst) {
      this.#isFirst = false
      this.reached.resolve()
      const results = ops.map(() => 'recalling' as const)
      return this.recalled.promise.then(() => ({ results, durable: null }))
    }
    for (const op of ops) {
      if (op.op === 'admit') this.held.add(op.request.id)
      if (op.op === 'settle') this.held.delete(op.id)
    }
    return { results: ops.map(() => null), durable: null }
  }
}

test('R2 an admission that was given up while leases were recalled leaves no hold', async () => {
  const engine = new RecallingEngine()
  const ledger = new Ledger(engine, systemClock, silent)
  const intervals = spyOn(globalThis, 'setInterval')
  const admitting = Promise.resolve(ledger.admit(holdOf('gen-late'))).catch((error: Error) => error.message)
  await engine.reached.promise
  const now = performance.now.bind(performance)
  const clock = spyOn(performance, 'now').mockImplementation(() => now() + 11_000)
  const [[lookForLate] = []] = intervals.mock.calls
  ;(lookForLate as () => void)()
  for (const spy of [clock, intervals]) spy.mockRestore()
  expect(await admitting).toContain('unavailable')
  engine.recalled.resolve()
  await ledger.close()
  expect([...engine.held]).toEqual([])
})
