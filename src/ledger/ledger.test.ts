import { expect, test } from 'bun:test'
import { pino } from 'pino'
import { systemClock } from '../lib/clock.ts'
import type { LedgerEngine, LedgerOperation, Settlement } from './engine.ts'
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
