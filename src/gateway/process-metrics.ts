import { Counter, collectDefaultMetrics, Registry } from 'prom-client'

/** How workers combine what prom-client would leave out or add up. */
export const processAggregators: Readonly<Record<string, string>> = {
  headgate_process_start_time_seconds: 'min',
  headgate_process_max_fds: 'max',
}

/**
 * CPU, memory and event loop: of the process, whichever gateways are open in it. Only for a process whose metrics are
 * read: it wakes up to measure how late it is.
 */
export function createProcessMetrics(): Registry {
  const registry = new Registry()
  // By default, it would do so a hundred times a second.
  collectDefaultMetrics({ register: registry, prefix: 'headgate_', eventLoopMonitoringPrecision: 100 })
  addEarlierCpuTime(registry)
  // Bun walks through the whole heap for these, and so would every scrape. It has no such spaces.
  for (const part of ['total', 'used', 'available'])
    registry.removeSingleMetric(`headgate_nodejs_heap_space_size_${part}_bytes`)
  return registry
}

/** Adds the CPU time so far: otherwise the counters would begin with the first scrape. */
function addEarlierCpuTime(registry: Registry): void {
  const { user, system } = process.cpuUsage()
  for (const [part, microseconds] of Object.entries({ user_: user, system_: system, '': user + system })) {
    const counter = registry.getSingleMetric(`headgate_process_cpu_${part}seconds_total`)
    if (counter instanceof Counter) counter.inc(microseconds / 1e6)
  }
}
