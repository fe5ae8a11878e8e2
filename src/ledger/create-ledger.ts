import type { Logger } from 'pino'
import { recallsChannel } from '../cluster/channels.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { isPostgresUrl } from '../platform/db/db.ts'
import { PostgresBatchConnection } from '../platform/db/postgres-batch.ts'
import { subsystemLog } from '../platform/logging/subsystem-log.ts'
import type { Clock } from '../platform/time/clock.ts'
import type { RecallChannel } from './lease-recalls.ts'
import { LeasedEngine } from './leased-engine.ts'
import { Ledger } from './ledger.ts'
import { NodeJournal } from './node-journal.ts'
import { PostgresLeases } from './postgres-leases.ts'
import { Spool } from './spool.ts'
import { SqliteEngine } from './sqlite-engine.ts'

export interface LedgerOptions {
  databaseUrl: string
  /** The data directory of this process. */
  nodeDir: string
  nodeId: string
  clock: Clock
  log: Logger
  /** `relaxed`: charges are acknowledged before they are on disk. */
  settings: () => { ledger: { durability: string } }
  /** Carries recalls of leases to other nodes. */
  cluster: Cluster
}

/** The ledger of the only process of a SQLite database, or of one of several nodes of a PostgreSQL database. */
export function createLedger(options: LedgerOptions): Ledger {
  const { databaseUrl, nodeDir, nodeId, clock, settings, cluster } = options
  const log = subsystemLog(options.log, 'ledger')
  const isRelaxed = () => settings().ledger.durability === 'relaxed'
  if (!isPostgresUrl(databaseUrl))
    return new Ledger(new SqliteEngine(databaseUrl, clock, log, isRelaxed), clock, log)
  const connect = () => new PostgresBatchConnection(databaseUrl, isRelaxed)
  const engine = new LeasedEngine({
    database: new PostgresLeases(connect(), connect()),
    journal: new NodeJournal(nodeDir),
    spool: new Spool(nodeDir, log),
    nodeId,
    clock,
    log,
    isRelaxed,
    recallChannel: createRecallChannel(cluster),
  })
  return new Ledger(engine, clock, log)
}

function createRecallChannel(cluster: Cluster): RecallChannel {
  return {
    publish: (subjects) => cluster.publish(recallsChannel, JSON.stringify(subjects)),
    subscribe: (listener) => cluster.subscribe(recallsChannel, (message) => listener(JSON.parse(message))),
  }
}
