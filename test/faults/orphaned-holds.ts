import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { MemoryCluster } from '../../src/cluster/memory.ts'
import { createLedger } from '../../src/ledger/create-ledger.ts'
import { ClusterNode } from '../../src/ledger/recovery.ts'
import { closeDb, isPostgresUrl, openDb } from '../../src/platform/db/db.ts'
import { isoNow, systemClock } from '../../src/platform/time/clock.ts'
import type { FaultScenario } from './gateways.ts'

/**
 * A node that shares its database notices a dead one only after a while. These holds are settled at once, because
 * no other node is running.
 */
export async function settleOrphans({ databaseUrl }: FaultScenario): Promise<void> {
  if (!isPostgresUrl(databaseUrl)) return
  const db = openDb(databaseUrl)
  const ledger = createLedger({
    databaseUrl,
    nodeDir: mkdtempSync(join(tmpdir(), 'headgate-node-')),
    nodeId: 'recovery',
    clock: systemClock,
    log: pino({ level: 'silent' }),
    settings: () => ({ ledger: { durability: 'strict' } }),
    cluster: new MemoryCluster(),
  })
  await new ClusterNode(true).settleOrphans(db, ledger, isoNow(systemClock))
  await ledger.close()
  await closeDb(db)
}
