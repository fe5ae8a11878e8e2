import { expect, spyOn, test } from 'bun:test'
import perfHooks from 'node:perf_hooks'

test('the event loop is measured only in a process whose metrics are read', async () => {
  const monitor = spyOn(perfHooks, 'monitorEventLoopDelay')
  // Imported here: the import must not begin to measure.
  const { Metrics } = await import('./metrics.ts')
  const metrics = new Metrics()
  expect(monitor).not.toHaveBeenCalled()
  const { user, system } = process.cpuUsage()
  const { body } = await metrics.render()
  monitor.mockRestore()
  expect(body).toContain('headgate_nodejs_eventloop_lag_p99_seconds')
  const seconds = Number(/^headgate_process_cpu_seconds_total ([\d.]+)/m.exec(body)?.[1])
  expect(seconds).toBeGreaterThanOrEqual((user + system) / 1e6)
})
