import { expect, test } from 'bun:test'
import { pino } from 'pino'
import { systemClock } from '../lib/clock.ts'
import type { AdmitOperation, LedgerEngine, LedgerOperation, Settlement } from './engine.ts'
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
    const ids = ops.map((op) => (op.op === 'admit' ? op.request.id : op.id))
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
  admitNow(): null {
    return null
  }
  run(ops: readonly LedgerOperation[]) {
    this.batches.push(ops.map((op) => (op.op === 'admit' ? op.request.id : op.id)))
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
    draft: [1, [], [], 0, 0],
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
