import { beforeEach, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { HealthHistory } from './health-history.ts'
import { HealthRegistry } from './health-registry.ts'

const hourMs = 3_600_000
const endpoint = 'acme/small acme'
const reply = { firstTokenMs: 200, tokensPerSecond: 40 }

describeOnEachDatabase('the history of health', (server) => {
  // The times of a test are in the slots that it expects.
  beforeEach(() => server().clock.freeze('2030-01-10T10:02:00Z'))

  async function startProcess() {
    const { db, clock } = server().gateway
    const health = new HealthRegistry()
    return { health, history: await HealthHistory.open({ db, clock, health }) }
  }

  test('is there after a restart, without what it left out', async () => {
    const { clock } = server()
    const first = await startProcess()
    const before = first.health.getOrCreate(endpoint)
    before.recordSuccess(clock.now(), reply)
    expect(await first.history.save()).toBe(true)
    expect(await first.history.save()).toBe(false)
    clock.advance(2 * hourMs)
    before.recordSuccess(clock.now(), reply)
    before.recordSuccess(clock.now(), reply)
    before.recordFailure(clock.now(), { kind: 'provider_overloaded', status: 529, retryAfterMs: hourMs })
    await first.history.save()

    clock.advance(1)
    const { health, history } = await startProcess()
    const after = health.find(endpoint)
    const now = clock.now()
    expect(after?.getStats(now)).toMatchObject({
      attempts1d: 4,
      uptime1d: 75,
      attempts30m: 3,
      completed30m: 2,
    })
    expect(after?.getHours(now)).toEqual(
      before.getHours(now).map((hour) => ({ ...hour, medianLatency: null, medianThroughput: null })),
    )
    expect(after?.lastFailure).toEqual({ kind: 'provider_overloaded', status: 529, at: now - 1 })
    expect([after?.isCoolingDown(now), after?.isUnstable(now)]).toEqual([false, false])
    expect(await history.save()).toBe(false)
  })

  test('adds up the attempts of all processes, in a slot that both used', async () => {
    const { clock } = server()
    const processes = [await startProcess(), await startProcess()]
    for (const { health, history } of processes) {
      health.getOrCreate('acme/both acme').recordSuccess(clock.now(), reply)
      await history.save()
      health.getOrCreate('acme/both acme').recordSuccess(clock.now(), reply)
      await history.save()
    }
    const { health } = await startProcess()
    expect(health.find('acme/both acme')?.getStats(clock.now()).attempts1d).toBe(4)
  })

  test('has neither what is older than 24 hours nor an endpoint that has changed', async () => {
    const { clock, gateway } = server()
    const { health, history } = await startProcess()
    health.getOrCreate('acme/old acme').recordSuccess(clock.now(), reply)
    health.getOrCreate('acme/moved acme').recordSuccess(clock.now(), reply)
    await history.save()
    health.forget('acme/moved acme')
    await history.save()
    const restored = await startProcess()
    expect(restored.health.find('acme/moved acme')).toBeNull()
    expect(restored.health.find('acme/old acme')).not.toBeNull()
    clock.advance(30 * hourMs)
    await history.save()
    expect(await gateway.db.selectFrom('endpoint_health').selectAll().execute()).toEqual([])
    expect((await startProcess()).health.find('acme/old acme')).toBeNull()
  })
})
