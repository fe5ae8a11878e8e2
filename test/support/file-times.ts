// Preloaded by `npm test`: tells the runner when each file starts and ends, which the output of Bun does not.
import { afterAll, beforeAll } from 'bun:test'
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'

const log = process.env.TEST_FILE_TIMES

function report(event: 'start' | 'end'): void {
  if (log)
    appendFileSync(
      log,
      `${event} ${Math.round(performance.timeOrigin + performance.now())} ${relative('.', Bun.main)}\n`,
    )
}

beforeAll(() => report('start'))
afterAll(() => report('end'))
