/** `npm run faults` runs everything at full length, `npm test` a short form of it. */
export const isLong = process.env.HEADGATE_FAULTS === 'long'

/** How long a single test may take. */
export const patienceMs = isLong ? 3_600_000 : 120_000

const seed = Number(process.env.HEADGATE_FAULTS_SEED ?? 20_260_514)

/** The same row of numbers from 0 to 1 for the same seed. */
export function randomly(): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The figures of a run, for whoever reads the output. */
export function report(run: string, figures: object): void {
  const list = Object.entries(figures).map(([name, count]) => `${Number(count).toLocaleString('en')} ${name}`)
  console.log(`faults: ${run}: ${list.join(', ')}`)
}
