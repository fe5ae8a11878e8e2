import { expect, test } from 'bun:test'
import { cpuMicros } from './cpu-clock.ts'

test.if(process.platform === 'linux')('the CPU clock of a process counts what it computes', () => {
  const before = cpuMicros(process.pid)
  const usage = process.cpuUsage()
  while (process.cpuUsage(usage).user + process.cpuUsage(usage).system < 20_000);
  const passed = cpuMicros(process.pid) - before
  expect(passed).toBeGreaterThan(15_000)
  expect(() => cpuMicros(2 ** 22 + 1)).toThrow('the process has ended')
})
