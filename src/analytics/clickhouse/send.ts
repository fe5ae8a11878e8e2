import type { Selectable } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { GenerationTable } from '../../platform/db/generation-table.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import type { ClickHouseClient } from './client.ts'
import {
  encodeGeneration,
  encodeRemovedGeneration,
  generationRowColumns,
  generationsTable,
} from './generation-rows.ts'
import type { QueueRow } from './stream-store.ts'
import { encodeRemovedUsage, encodeUsage, usageColumns, usageTable } from './usage-table.ts'

export type GenerationRow = Selectable<GenerationTable>

const insertTimeoutMs = 60_000
const rowsPerTurn = 1000

export interface ExportContext {
  db: Db
  client: ClickHouseClient
  /** The node that exports. */
  owner: string
  now: number
  /** The streams whose tables this process has verified. */
  prepared: Set<string>
}

/** The version of a generation, and an arrival under which ClickHouse may have it. */
export type Versions = ReadonlyMap<string, Pick<QueueRow, 'version' | 'moved_from'>>

/** Resolves once ClickHouse has stored all of them. */
export async function sendGenerations(
  client: ClickHouseClient,
  rows: readonly GenerationRow[],
  versions: Versions,
): Promise<void> {
  if (rows.length === 0) return
  const usage: string[] = []
  const generations: string[] = []
  for (const [index, row] of rows.entries()) {
    const { version = 0, moved_from = null } = versions.get(row.id) ?? {}
    usage.push(JSON.stringify(encodeUsage(row, version)))
    generations.push(JSON.stringify(encodeGeneration(row, version)))
    if (moved_from !== null) {
      usage.push(JSON.stringify(encodeRemovedUsage(row, moved_from, version)))
      generations.push(JSON.stringify(encodeRemovedGeneration(row, moved_from, version)))
    }
    if (index % rowsPerTurn === 0) await yieldToEventLoop()
  }
  await insert(client, usageTable, usageColumns, usage)
  await insert(client, generationsTable, generationRowColumns, generations)
}

async function insert(
  client: ClickHouseClient,
  table: string,
  columns: readonly { name: string }[],
  lines: readonly string[],
): Promise<void> {
  const names = columns.map(({ name }) => name).join(', ')
  await client.query(`INSERT INTO ${table} (${names}) FORMAT JSONCompactEachRow`, {
    timeoutMs: insertTimeoutMs,
    // Acknowledged when it can be read, not when it is queued.
    settings: { async_insert: 0, date_time_input_format: 'best_effort' },
    body: lines.join('\n'),
  })
}
