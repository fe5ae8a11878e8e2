import { describe, expect, test } from 'bun:test'
import { noAmounts } from './amounts.ts'
import { emptyDraft } from './draft.ts'
import type { ExchangeOperation } from './engine.ts'
import { HoldQueue, type QueuePlace } from './hold-queue.ts'
import { LedgerState, type Limit } from './ledger-state.ts'
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

  /** `retained`: what it has paid, and keeps while it waits. */
  async wait(
    op: ExchangeOperation,
    { retained = 0n, ...place }: Partial<QueuePlace> & { retained?: bigint },
  ) {
    const { signal } = new AbortController()
    const held = { amount: retained, byok: 0n }
    this.queue.retained.add([subject], held)
    const rejection = await this.queue.wait({
      attempt: () => this.queue.exchangeInTurn(op),
      limits: op.admits[0]?.request.limits ?? [],
      hasPaid: retained > 0n,
      since: 0,
      held: () => held,
      signal,
      onEnd: () => this.queue.retained.remove([subject], held),
      ...place,
    })
    if (!rejection) this.served.push(op.admits[0]?.request.id ?? '')
    return rejection
  }

  settle(id: string, amount: bigint) {
    this.state.settle(id, { amount, byok: 0n })
    this.queue.wake()
  }
}

describe('requests that wait for the holds of others', () => {
  test('R1 the oldest is served first, and those that have paid before the others', async () => {
    const scene = new Scene()
    await scene.hold('running', 90n)
    await scene.hold('paid-hold', 5n)
    const waiting = [
      scene.wait(scene.build('young', 40n), { since: 2 }),
      scene.wait(scene.build('old', 40n), { since: 1 }),
      scene.wait(scene.build('paid', 20n, ['paid-hold']), { since: 3, retained: 5n }),
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

  test('R1 a request that is tried again leaves nothing to those that are not in the queue any more', async () => {
    const scene = new Scene()
    await scene.hold('running', 90n)
    const client = new AbortController()
    const waiting = scene.wait(scene.build('waiting', 50n), { signal: client.signal })
    await scene.hold('too-much', 50n)
    const again = scene.build('again', 5n)
    expect(await scene.queue.exchange(again)).toMatchObject({ reason: 'limit' })
    client.abort()
    await expect(waiting).rejects.toBeDefined()
    expect(await scene.queue.exchange(again)).toBeNull()
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
      scene.wait(scene.build(`${id}-more`, 60n, [id]), { since, retained: 50n }),
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

/** Counts of what the queue reads of waiting requests, as a measure of its work. */
class Work {
  attempts = 0
  compared = 0
  examined = 0
  measured = 0
}

/** Requests that wait for one limit, or each also for its own, which nothing makes available. */
function fill(queue: HoldQueue, count: number, work: Work, limitOf: (index: number) => Limit): void {
  const { signal } = new AbortController()
  for (let index = 0; index < count; index++) {
    const limit = limitOf(index)
    const place: QueuePlace = {
      attempt: async () => {
        work.attempts++
        const amounts = { needed: 50n, available: 10n, attainable: 90n, held: 80n }
        return { reason: 'limit', kind: 'key', window: 'total', limit, ...amounts }
      },
      get limits() {
        work.examined++
        return [limit]
      },
      get since() {
        work.compared++
        // Neither in order nor in the reverse order.
        return (index * 7919) % count
      },
      hasPaid: false,
      held: () => {
        work.measured++
        return noAmounts
      },
      signal,
      onEnd: () => undefined,
    }
    void queue.wait(place)
  }
}

/** One pass over all that wait. */
async function runPass(queue: HoldQueue, work: Work): Promise<void> {
  Object.assign(work, new Work())
  queue.wake()
  for (let before = -1; before !== work.examined + work.attempts; ) {
    before = work.examined + work.attempts
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('with 5,000 requests in the queue', () => {
  const count = 5000
  const limit = { kind: 'key', subject, window: 'total', includeByok: false, amount: 100n } as const
  const never = async () => null

  test('each is inserted with few comparisons, and a pass tries one for each limit', async () => {
    const queue = new HoldQueue(never)
    const work = new Work()
    fill(queue, count, work, () => limit)
    expect(work.compared).toBeLessThan(count * 2 * 14)
    await runPass(queue, work)
    expect(work.attempts).toBeLessThanOrEqual(2)
    expect(work.examined).toBeLessThanOrEqual(count * 10)
  })

  test('a pass in which each waits for a limit of its own takes time in proportion', async () => {
    const queue = new HoldQueue(never)
    const work = new Work()
    fill(queue, count, work, (index) => ({ ...limit, subject: `key:${index}` }))
    await runPass(queue, work)
    expect(work.attempts).toBeLessThanOrEqual(count * 10)
    expect(work.measured).toBeLessThanOrEqual(count * 10)
    expect(work.compared).toBe(0)
  })

  test('a new hold looks only at the first that waits for its limits', async () => {
    const queue = new HoldQueue(never)
    const work = new Work()
    fill(queue, count, work, () => limit)
    await runPass(queue, work)
    Object.assign(work, new Work())
    const [admission] = new Scene().build('new', 10n).admits
    for (let index = 0; index < 100; index++) queue.setAside(admission?.request)
    expect(admission?.request.setAside).toEqual(new Map([[subject, 50n]]))
    expect(work).toEqual({ ...new Work(), measured: 100 })
  })

  test('those that leave cost the others nothing', async () => {
    const queue = new HoldQueue(never)
    const work = new Work()
    const clients = Array.from({ length: count }, () => new AbortController())
    const waiting = clients.map(({ signal }, since) => {
      const onEnd = () => undefined
      const place = {
        attempt: never,
        limits: [limit],
        hasPaid: false,
        since,
        held: () => noAmounts,
        signal,
        onEnd,
      }
      return queue.wait({ ...place, attempt: () => new Promise<null>(() => undefined) })
    })
    for (const client of clients) client.abort(new Error('gone'))
    // The first is being tried: its attempt decides.
    expect(await Promise.allSettled(waiting.slice(1))).toHaveLength(count - 1)
    expect(queue.length).toBe(1)
    expect(work).toEqual(new Work())
  })
})
