import { tmpdir } from 'node:os'
import { pino } from 'pino'
import { Ledger } from '../../src/ledger/ledger.ts'
import { PostgresEngine } from '../../src/ledger/postgres-engine.ts'
import { ClusterNode } from '../../src/ledger/recovery.ts'
import { Spool } from '../../src/ledger/spool.ts'
import { closeDb, isPostgresUrl, openDb } from '../../src/platform/db/db.ts'
import { PostgresBatchConnection } from '../../src/platform/db/postgres-batch.ts'
import { isoNow, systemClock } from '../../src/platform/time/clock.ts'
import type { FaultScenario } from './gateways.ts'

/**
 * A node that shares its database notices a dead one only after a while. These holds are settled at once, because
 * no other node is running.
 */
export async function settleOrphans({ databaseUrl }: FaultScenario): Promise<void> {
  if (!isPostgresUrl(databaseUrl)) return
  const db = openDb(databaseUrl)
  const log = pino({ level: 'silent' })
  const engine = new PostgresEngine(new PostgresBatchConnection(databaseUrl), new Spool(tmpdir(), log))
  const ledger = new Ledger(engine, systemClock, log)
  await new ClusterNode(true).settleOrphans(db, ledger, isoNow(systemClock))
  await ledger.close()
  await closeDb(db)
}
