import type { Db } from '../../platform/db/db.ts'
import { backfillBatch } from './backfill.ts'
import { ClickHouseError } from './client.ts'
import { type ExportContext, type GenerationRow, sendGenerations } from './send.ts'
import {
  acknowledge,
  beginStream,
  findStream,
  nothingSent,
  type QueueRow,
  readQueue,
  releaseLease,
  resumeStream,
  type Stream,
  takeLease,
  updateStream,
} from './stream-store.ts'
import { createTables, dropTables, readStreamId, writeStreamId } from './tables.ts'
import { trimTables } from './trim.ts'

/** Rows in memory at once, and of one insert. */
const batchRows = 5000
const rowsPerRead = 1000
/** Longer than an insert takes. */
const leaseMs = 180_000
/** A run ends after this time, and the next one continues. */
const runMs = 10_000

/** `waiting`: there is more to send. */
export type ExportOutcome = 'waiting' | 'idle' | 'other node'

/** The outcome of a run, or why it failed. */
export type ExportReport = { outcome: ExportOutcome; problem: null } | { outcome: 'failed'; problem: string }

/** Exports, and tells whether ClickHouse failed. An error of the database is thrown. */
export async function reportExport(context: ExportContext): Promise<ExportReport> {
  try {
    return { outcome: await exportGenerations(context), problem: null }
  } catch (error) {
    if (error instanceof ClickHouseError) return { outcome: 'failed', problem: error.message }
    throw error
  }
}

/**
 * Sends what is queued, then older generations. What was sent is removed from the queue once ClickHouse has stored it,
 * so nothing is lost; what is sent twice replaces itself.
 */
export async function exportGenerations(context: ExportContext): Promise<ExportOutcome> {
  const { db, owner, now } = context
  const at = new Date(now).toISOString()
  const until = new Date(now + leaseMs).toISOString()
  if (!(await findStream(db))) await beginStream(db, at)
  if (!(await takeLease(db, { owner, now: at, until }))) return 'other node'
  try {
    await resumeEnded(context)
    const stream = await prepareTables(context)
    const endsAt = performance.now() + runMs
    while (performance.now() < endsAt) {
      if (await exportQueued(context)) continue
      if (!(await backfillBatch(context))) {
        await trimTables(context, stream)
        return 'idle'
      }
    }
    return 'waiting'
  } finally {
    await releaseLease(db, owner)
  }
}

/** Begins from nothing: corrections since the end are in no queue. */
async function resumeEnded({ db, client }: ExportContext): Promise<void> {
  if ((await findStream(db))?.is_ended !== 1) return
  await dropTables(client)
  await resumeStream(db)
}

/** Creates the tables, and verifies that they are those that the database describes. */
async function prepareTables({ db, client, prepared }: ExportContext): Promise<Stream> {
  const stream = await findStream(db)
  if (!stream) throw new ClickHouseError('the stream was ended meanwhile')
  const streamId = await readStreamId(client)
  if (streamId !== null && streamId !== stream.stream_id) {
    await updateStream(db, stream.stream_id, nothingSent)
    throw new ClickHouseError(
      'the database in ClickHouse has the generations of another installation, or of another state of this one. Set CLICKHOUSE_URL to another database, or run: headgate clickhouse reset',
    )
  }
  // Tables that are new contain nothing, whatever was sent before: no query may read them until then.
  if (streamId === null) await updateStream(db, stream.stream_id, nothingSent)
  if (streamId === null || !prepared.has(stream.stream_id)) await createTables(client)
  if (streamId === null) await writeStreamId(client, stream.stream_id)
  prepared.add(stream.stream_id)
  return streamId === null ? { ...stream, ...nothingSent } : stream
}

/** Sends the oldest of the queue. Returns false if it is empty. */
async function exportQueued({ db, client, now }: ExportContext): Promise<boolean> {
  const queued = await readQueue(db, batchRows)
  if (queued.length === 0) return false
  const rows = await readRows(db, queued)
  await sendGenerations(client, rows, new Map(queued.map((row) => [row.generation_id, row])))
  await acknowledge(db, queued, new Date(now).toISOString())
  return true
}

async function readRows(db: Db, queued: readonly QueueRow[]): Promise<GenerationRow[]> {
  const rows: GenerationRow[] = []
  for (let at = 0; at < queued.length; at += rowsPerRead) {
    const ids = queued.slice(at, at + rowsPerRead).map((row) => row.generation_id)
    rows.push(...(await db.selectFrom('generations').selectAll().where('id', 'in', ids).execute()))
  }
  return rows
}
