import { afterAll, expect, test } from 'bun:test'
import { databaseKinds } from '../support/harness.ts'
import type { ClientOutcome, RequestSpec } from './clients.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'
import { type LedgerSnapshot, readLedgerSnapshot } from './reconciliation.ts'
import { listPrice } from './vendor.ts'

const tokens = 20
const times = isLong ? 100 : 5
const eventCounts = [0, 1, 10, tokens - 1]

afterAll(closeScenarios)

for (const kind of databaseKinds) {
  test(
    `R4 R5 I2 I5 clients that disconnect after ${eventCounts.join(', ')} events of ${tokens} are charged once each (${kind})`,
    async () => {
      const scene = await createScenario(kind)
      const gateway = await scene.start()
      await disconnectEarly(scene, gateway)
      await waitUntilSettled(scene, times * 2 * eventCounts.length)
      await gateway.stop()
      const totals = await scene.reconcile()
      const { generations } = await readLedgerSnapshot(scene.databaseUrl)
      const byNumber = new Map(generations.map((row) => [row.external_user, row]))
      const outcomes = scene.clients.log.filter(({ status }) => status === 200)
      const late = outcomes.filter((outcome) => wasLate(outcome, byNumber.get(outcome.number)))
      for (const outcome of outcomes)
        if (!late.includes(outcome)) expectCharge(outcome, byNumber.get(outcome.number))
      expect(late.length).toBeLessThan(2 * times)
      printTotals(`clients that disconnected, on ${kind}`, totals)
    },
    testTimeoutMs,
  )
}

async function disconnectEarly(scene: FaultScenario, gateway: GatewayProcess): Promise<void> {
  const key = await gateway.createKey()
  const send = (spec: RequestSpec) =>
    scene.clients.send(gateway.url, key, { stream: true, tokens, paceMs: 60, ...spec })
  for (let count = 0; count < times; count++) {
    await Promise.all([
      ...eventCounts.map((leaveAfter) => send({ leaveAfter })),
      ...eventCounts.map((leaveAfter) => send({ leaveAfter, model: 'faults/stubborn' })),
      // Before the response begins.
      send({ leaveAfterMs: count % 8 }),
      send({ leaveAfterMs: count % 8, stream: false, paceMs: 20 }),
    ])
  }
}

/** Abandoned requests are settled after their clients have disconnected. */
async function waitUntilSettled(scene: FaultScenario, least: number): Promise<void> {
  await scene.vendor.idle()
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; await Bun.sleep(20)) {
    const { generations, holds } = await readLedgerSnapshot(scene.databaseUrl)
    if (generations.length >= least && holds.length === 0) return
  }
}

type Generation = LedgerSnapshot['generations'][number] | undefined

/** Whether a disconnect in the second half of a reply was noticed too late, as on a busy machine. */
function wasLate({ events }: ClientOutcome, row: Generation): boolean {
  return row?.status === 'completed' && events >= tokens / 2
}

function expectCharge({ events }: ClientOutcome, row: Generation): void {
  expect(row?.status).toBe('cancelled')
  if (row?.provider === 'stubborn') {
    // It completes the reply regardless, bills all of it, and reports that at the end.
    const cost_nanos = listPrice('faults/stubborn', tokens)
    expect(row).toMatchObject({ usage_source: 'reported', cost_nanos })
    return
  }
  expect(row?.usage_source).toBe('estimated')
  expect(row?.tokens_output).toBeGreaterThanOrEqual(Math.max(1, events))
  expect(row?.tokens_output).toBeLessThanOrEqual(tokens)
}
