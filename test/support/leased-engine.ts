import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { LeasedEngine, type LeasedEngineOptions } from '../../src/ledger/leased-engine.ts'
import { NodeJournal } from '../../src/ledger/node-journal.ts'
import { PostgresLeases } from '../../src/ledger/postgres-leases.ts'
import { Spool } from '../../src/ledger/spool.ts'
import type { BatchConnection } from '../../src/platform/db/batch.ts'
import { PostgresBatchConnection } from '../../src/platform/db/postgres-batch.ts'
import { systemClock } from '../../src/platform/time/clock.ts'

const log = pino({ level: 'silent' })

export interface TestEngineOptions extends Partial<Omit<LeasedEngineOptions, 'database' | 'spool'>> {
  /** For transactions that a request waits for. */
  connection?: BatchConnection
  background?: BatchConnection
  /** The data directory; a new one by default. */
  folder?: string
}

/** The engine of a node on PostgreSQL. */
export function createLeasedEngine(
  url: string,
  {
    connection = new PostgresBatchConnection(url),
    background = new PostgresBatchConnection(url),
    folder = mkdtempSync(join(tmpdir(), 'headgate-node-')),
    ...options
  }: TestEngineOptions = {},
): LeasedEngine {
  return new LeasedEngine({
    database: new PostgresLeases(connection, background),
    journal: new NodeJournal(folder),
    spool: new Spool(folder, log),
    nodeId: 'node',
    clock: systemClock,
    log,
    isRelaxed: () => false,
    ...options,
  })
}
