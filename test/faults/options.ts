import { seededRandom } from '../support/random.ts'

/** `npm run faults` runs everything at full length, `npm test` a short form of it. */
export const isLong = process.env.HEADGATE_FAULTS === 'long'

/** Maximum time of a single test. */
export const testTimeoutMs = isLong ? 3_600_000 : 120_000

const seed = Number(process.env.HEADGATE_FAULTS_SEED ?? 20_260_514)

/** The same sequence of numbers from 0 to 1 in every run. */
export function createRandom(): () => number {
  return seededRandom(seed)
}

/** Prints the totals of a run. */
export function printTotals(run: string, totals: object): void {
  const list = Object.entries(totals).map(([name, count]) => `${Number(count).toLocaleString('en')} ${name}`)
  console.log(`faults: ${run}: ${list.join(', ')}`)
}
