import { tmpdir } from 'node:os'
import { pino } from 'pino'
import { closeDb, isPostgresUrl, openDb } from '../../src/db/db.ts'
import { PostgresBatches } from '../../src/db/postgres-batches.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { Node } from '../../src/ledger/recovery.ts'
import { SharedEngine } from '../../src/ledger/shared-engine.ts'
import { Spool } from '../../src/ledger/spool.ts'
import { isoNow, systemClock } from '../../src/lib/clock.ts'
import type { Scene } from './gateways.ts'

/**
 * Where nodes share a database, a dead one is missed only after a while. Here somebody looks after its holds
 * who knows that nobody else is there.
 */
export async function settleOrphans({ databaseUrl }: Scene): Promise<void> {
  if (!isPostgresUrl(databaseUrl)) return
  const db = openDb(databaseUrl)
  const log = pino({ level: 'silent' })
  const engine = new SharedEngine(new PostgresBatches(databaseUrl), new Spool(tmpdir(), log))
  const ledger = new Ledger(engine, systemClock, log)
  await new Node(true).settleOrphans(db, ledger, isoNow(systemClock))
  await ledger.close()
  await closeDb(db)
}
