import { expect, test } from 'bun:test'
import { type Faults, simulateLeases } from './lease-simulation.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'

const seeds = Number(process.env.HEADGATE_LEASE_SEEDS ?? (isLong ? 10_000 : 24))
const firstSeed = Number(process.env.HEADGATE_LEASE_SEED ?? 1)

const scenarios: [name: string, faults: Faults][] = [
  ['no faults', { crashes: false, pauses: false, network: false }],
  ['crashes, power cuts and full disks', { crashes: true, pauses: false, network: false }],
  ['lost and slow calls to the database', { crashes: false, pauses: false, network: true }],
  ['everything at once, with pauses and sleeping machines', { crashes: true, pauses: true, network: true }],
]

for (const [name, faults] of scenarios) {
  test(
    `R1 R2 R7 I1 I2 I4 leases of up to 100 nodes lose nothing, double nothing and exceed no limit: ${name}`,
    async () => {
      const totals = {
        seeds: 0,
        requests: 0,
        acknowledged: 0,
        rejected: 0,
        'held by leases': 0,
        transactions: 0,
      }
      for (let seed = firstSeed; seed < firstSeed + seeds / scenarios.length; seed++) {
        const result = await simulateLeases(seed, faults)
        expect({ seed, problems: result.problems.slice(0, 5) }).toEqual({ seed, problems: [] })
        totals.seeds++
        totals.requests += result.requests
        totals.acknowledged += result.acknowledged
        totals.rejected += result.rejected
        totals['held by leases'] += result.local
        totals.transactions += result.transactions
      }
      expect(totals['held by leases']).toBeGreaterThan(0)
      expect(totals.rejected).toBeGreaterThan(0)
      printTotals(`leases with ${name}`, totals)
    },
    testTimeoutMs,
  )
}
