import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { databaseKinds, startTestServer } from '../support/harness.ts'
import { connectIdentityProvider } from '../support/scim.ts'
import { openScratchHome, programTimeoutMs, runProgram, type ScratchHome } from './scratch-home.ts'

/** The interpreter that scripts/test-long.mjs installed; without it this file has no tests. */
const python = process.env.HEADGATE_TEST_PYTHON ?? ''

let home: ScratchHome

if (python) {
  beforeAll(async () => {
    home = await openScratchHome()
  })
  afterAll(() => home.close())

  test.each(databaseKinds)(
    'scim2-tester finds no error (%s)',
    async (kind) => {
      const server = await startTestServer(kind)
      const { token } = await connectIdentityProvider(server)
      const { code, output, errors } = await runProgram(
        home,
        [python, join(import.meta.dir, 'python/scim.py')],
        { HEADGATE_URL: server.url, HEADGATE_SCIM_TOKEN: token, PYTHONDONTWRITEBYTECODE: '1' },
      )
      await server.stop()
      expect({ code, text: code === 0 ? '' : output + errors }).toEqual({ code: 0, text: '' })
      expect(home.blockedRequests).toEqual([])
    },
    programTimeoutMs + 10_000,
  )
}
