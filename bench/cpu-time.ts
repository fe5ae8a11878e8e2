import { median } from './statistics.ts'

/** The CPU time of one run, of several in a row if one is too short for the clock. */
export function measureMillis(run: () => unknown, rounds: number): number {
  const samples: number[] = []
  let repeats = 1
  for (let round = 0; round < rounds; round++) {
    const started = process.cpuUsage()
    for (let repeat = 0; repeat < repeats; repeat++) run()
    const { user, system } = process.cpuUsage(started)
    const millis = (user + system) / 1000
    samples.push(millis / repeats)
    if (millis < 1) repeats = Math.min(1000, repeats * 2)
  }
  // The first rounds run before the code is compiled.
  return median(samples.slice(Math.floor(rounds / 4)))
}
