// Preloaded by `npm test`: tells the runner when each file starts and ends, which the output of Bun does not, and
// what CPU time the process had used by then.
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
  appendFileSync(log, `${event} ${at} ${Math.round((user + system) / 1000)} ${relative('.', Bun.main)}\n`)
}

beforeAll(() => report('start'))
afterAll(() => report('end'))
