import { afterAll, expect, test } from 'bun:test'
import { verifyChains } from '../../src/governance/audit/verify.ts'
import { Vault } from '../../src/platform/crypto/crypto.ts'
import { closeDb, openDb } from '../../src/platform/db/db.ts'
import { databaseKinds } from '../support/harness.ts'
import { closeScenarios, createScenario, type GatewayProcess } from './gateways.ts'
import { isLong, testTimeoutMs } from './options.ts'

afterAll(closeScenarios)

const writers = 6
const kills = isLong ? 8 : 3
const body = { type: 'webhook', config: { url: 'https://127.0.0.1:9/' }, enabled: false, name: 'x' }

/** Creates and deletes records until the gateway is gone. */
async function write(gateway: GatewayProcess, onWrite: () => void): Promise<void> {
  for (;;) {
    try {
      const { id } = (await gateway.manage('POST', '/audit/destinations', body)).data
      onWrite()
      await gateway.manage('DELETE', `/audit/destinations/${id}`)
    } catch {
      return
    }
  }
}

for (const kind of databaseKinds) {
  test(
    `R7 S12 kill -9 between audited changes leaves a valid chain with one entry for each change (${kind})`,
    async () => {
      const scene = await createScenario(kind, undefined, 'egress: { allow_private: ["127.0.0.1:9"] }')
      for (let round = 0; round < kills; round++) {
        const gateway = await scene.start()
        const { promise: written, resolve } = Promise.withResolvers<void>()
        let count = 0
        const working = Array.from({ length: writers }, () =>
          write(gateway, () => {
            if (++count === 5 + round * 3) resolve()
          }),
        )
        await Promise.race([written, Promise.all(working)])
        await gateway.kill()
        await Promise.all(working)
        expect(count).toBeGreaterThan(0)
      }
      const db = openDb(scene.databaseUrl)
      const vault = new Vault('secret-key-of-the-fault-suite')
      const reports = await Array.fromAsync(verifyChains({ db, vault }, [], () => undefined))
      expect(reports.map(({ problem }) => problem)).toEqual(reports.map(() => null))
      const rows = await db.selectFrom('audit_destinations').select('id').execute()
      const entries = await db
        .selectFrom('audit_entries')
        .select(['action', 'target_id'])
        .where('target_type', '=', 'audit_destination')
        .execute()
      await closeDb(db)
      const idsOf = (action: string) =>
        entries.filter((entry) => entry.action === action).map(({ target_id }) => target_id)
      const deleted = new Set(idsOf('audit_destination.delete'))
      const remaining = idsOf('audit_destination.create').filter((id) => !deleted.has(id))
      expect(remaining.sort()).toEqual(rows.map(({ id }) => id).sort())
      expect(deleted.size).toBe(idsOf('audit_destination.delete').length)
    },
    testTimeoutMs,
  )
}
