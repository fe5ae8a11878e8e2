import { afterAll, expect, test } from 'bun:test'
import { databaseKinds } from '../support/harness.ts'
import { closeScenarios, createScenario } from './gateways.ts'
import { testTimeoutMs } from './options.ts'
import { settleOrphans } from './orphaned-holds.ts'
import { readLedgerSnapshot } from './reconciliation.ts'

afterAll(closeScenarios)

for (const kind of databaseKinds) {
  test(
    `R7 R2 kill -9 while audio is streamed: the client sees a broken reply, and no hold is left (${kind})`,
    async () => {
      const scene = await createScenario(kind)
      const gateway = await scene.start()
      const key = await gateway.createKey()
      const response = await fetch(`${gateway.url}/v1/audio/speech`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sandbox/speaker', input: 'sandbox:slow=20 Hello '.repeat(50) }),
      })
      const reader = response.body?.getReader()
      expect((await reader?.read())?.value?.length).toBeGreaterThan(0)
      await gateway.kill()
      const rest = (async () => {
        while (!(await reader?.read())?.done);
      })()
      expect(rest).rejects.toThrow()
      await settleOrphans(scene)
      const restarted = await scene.start()
      await restarted.manage('GET', '/credits')
      const { holds, generations } = await readLedgerSnapshot(scene.databaseUrl)
      expect(holds).toEqual([])
      expect(generations).toMatchObject([{ status: 'failed', cost_nanos: 0n }])
      await restarted.stop()
    },
    testTimeoutMs,
  )
}
