/** The CPU time of this process for a run, in milliseconds: load beside it does not count. */
export function measureCpuTime(run: () => unknown): number {
  const started = process.cpuUsage()
  run()
  return since(started)
}

export async function measureCpuTimeOf<T>(run: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const started = process.cpuUsage()
  const result = await run()
  return { result, ms: since(started) }
}

function since(started: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000
}
