import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { databaseKinds, startTestServer } from '../support/harness.ts'
import { connectIdentityProvider } from '../support/scim.ts'
import { openWorkshop, patience, runProgram, type Workshop } from './scratch-home.ts'

/** The interpreter that scripts/test-long.mjs made; without it this file is not for this run. */
const python = process.env.HEADGATE_TEST_PYTHON ?? ''

let workshop: Workshop

if (python) {
  beforeAll(async () => {
    workshop = await openWorkshop()
  })
  afterAll(() => workshop.close())

  test.each(databaseKinds)(
    'scim2-tester finds no error (%s)',
    async (kind) => {
      const server = await startTestServer(kind)
      const { token } = await connectIdentityProvider(server)
      const { code, output, complaints } = await runProgram(
        workshop,
        [python, join(import.meta.dir, 'python/scim.py')],
        { HEADGATE_URL: server.url, HEADGATE_SCIM_TOKEN: token, PYTHONDONTWRITEBYTECODE: '1' },
      )
      await server.stop()
      expect({ code, said: code === 0 ? '' : output + complaints }).toEqual({ code: 0, said: '' })
      expect(workshop.strayed).toEqual([])
    },
    patience + 10_000,
  )
}
