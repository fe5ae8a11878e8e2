import { describe, expect, test } from 'bun:test'
import type { Amounts } from './amounts.ts'
import { emptyDraft } from './draft.ts'
import type { ExchangeOperation } from './engine.ts'
import { HoldQueue, type QueuePlace } from './hold-queue.ts'
import { LedgerState } from './ledger-state.ts'
import { newMeter } from './meter.ts'

const subject = 'key:1'
const day = '2031-01-01'

/** The queue of a ledger with one key, which has a limit. */
class Scene {
  readonly state = new LedgerState()
  readonly queue = new HoldQueue(async ({ releases, admits }) => {
    const requests = admits.map(({ request }) => request)
    return this.state.exchange(releases, requests).rejection
  })
  readonly served: string[] = []

  constructor() {
    this.state.meters.set(subject, newMeter(subject))
  }

  build(id: string, amount: bigint, releases: string[] = []): ExchangeOperation {
    const limit = { kind: 'key', subject, window: 'total', includeByok: false, amount: 100n } as const
    const request = { id, subjects: [subject], day, limits: [limit], amount, byok: 0n, free: null }
    const fields = { organizationId: 'one', owner: 'node', expiresAt: '', draft: emptyDraft }
    return { op: 'exchange', releases, admits: [{ op: 'admit', request, ...fields }] }
  }

  hold(id: string, amount: bigint) {
    return this.queue.exchange(this.build(id, amount))
  }

  async wait(op: ExchangeOperation, place: Partial<QueuePlace>) {
    const { signal } = new AbortController()
    const full = { hasPaid: false, since: 0, retained: new Map<string, Amounts>(), signal, ...place }
    const rejection = await this.queue.wait(op, full)
    if (!rejection) this.served.push(op.admits[0]?.request.id ?? '')
    return rejection
  }

  settle(id: string, amount: bigint) {
    this.state.settle(id, { amount, byok: 0n })
    this.queue.wake()
  }
}

const keep = (id: string, amount: bigint) => new Map([[id, { amount, byok: 0n }]])

describe('requests that wait for the holds of others', () => {
  test('R1 the oldest is served first, and those that have paid before the others', async () => {
    const scene = new Scene()
    await scene.hold('running', 90n)
    await scene.hold('paid-hold', 5n)
    const waiting = [
      scene.wait(scene.build('young', 40n), { since: 2 }),
      scene.wait(scene.build('old', 40n), { since: 1 }),
      scene.wait(scene.build('paid', 20n, ['paid-hold']), {
        since: 3,
        hasPaid: true,
        retained: keep('paid-hold', 5n),
      }),
    ]
    scene.settle('running', 0n)
    expect(await Promise.all(waiting)).toEqual([null, null, null])
    expect(scene.served).toEqual(['paid', 'old', 'young'])
  })

  test('R1 a new request does not take what the first in the queue waits for', async () => {
    const scene = new Scene()
    await scene.hold('running', 90n)
    const waiting = scene.wait(scene.build('waiting', 50n), {})
    // The queue has tried it meanwhile.
    expect(await scene.hold('too-much', 50n)).not.toBeNull()
    scene.state.settle('running', { amount: 40n, byok: 0n })
    expect(await scene.hold('new', 20n)).toMatchObject({ reason: 'limit', available: 10n })
    expect(await scene.hold('small', 10n)).toBeNull()
    scene.queue.wake()
    expect(await waiting).toBeNull()
  })

  test('R1 what no settlement can make available is rejected', async () => {
    const scene = new Scene()
    await scene.hold('running', 90n)
    const waiting = scene.wait(scene.build('waiting', 50n), {})
    scene.settle('running', 60n)
    expect(await waiting).toMatchObject({ needed: 50n, available: 40n })
  })

  test('of two that have paid and wait for each other, the first is rejected, and the other is not stuck', async () => {
    const scene = new Scene()
    await scene.hold('a', 50n)
    await scene.hold('b', 50n)
    const [first, second] = ['a', 'b'].map((id, since) =>
      scene.wait(scene.build(`${id}-more`, 60n, [id]), { since, hasPaid: true, retained: keep(id, 50n) }),
    )
    expect(await first).toMatchObject({ needed: 60n, held: 50n })
    scene.settle('a', 30n)
    expect(await second).toBeNull()
  })

  test('R2 a client that disconnects leaves the queue', async () => {
    const scene = new Scene()
    await scene.hold('running', 90n)
    const client = new AbortController()
    const waiting = scene.wait(scene.build('gone', 50n), { signal: client.signal })
    client.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    expect(scene.queue.length).toBe(0)
  })
})
