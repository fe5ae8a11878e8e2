// Preloaded by `npm test`: tells the runner when each file starts and ends, which the output of Bun does not, in which
// process, and what CPU time that had used by then.
import { afterAll, beforeAll } from 'bun:test'
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'

const log = process.env.TEST_FILE_TIMES
/** Tests may replace that of `performance`. */
const now = performance.now.bind(performance)

function report(event: 'start' | 'end'): void {
  if (!log) return
  const at = Math.round(performance.timeOrigin + now())
  const { user, system } = process.cpuUsage()
  const cpuMs = Math.round((user + system) / 1000)
  appendFileSync(log, `${event} ${at} ${cpuMs} ${process.pid} ${relative('.', Bun.main)}\n`)
}

beforeAll(() => report('start'))
afterAll(() => report('end'))
