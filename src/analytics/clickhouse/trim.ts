import { utcDay } from '../../platform/time/time.ts'
import { segmentRetentionDays } from '../rollups/retention.ts'
import { generationsTable } from './generation-rows.ts'
import type { ExportContext } from './send.ts'
import { quoteText, quoteTime } from './sql.ts'
import { type Stream, updateStream } from './stream-store.ts'
import { usageTable } from './usage-table.ts'

const timeoutMs = 60_000
const intervalMs = 3_600_000
const dayMs = 86_400_000

/**
 * Deletes generations that are too old to be read, once an hour, also after a failure: ClickHouse may still be at it, and
 * repetitions would add up. Whole months are deleted as partitions, the rest by rows. Queries do not read them even
 * before that.
 */
export async function trimTables({ db, client, now }: ExportContext, stream: Stream): Promise<void> {
  if (stream.trimmed_at !== null && now - Date.parse(stream.trimmed_at) < intervalMs) return
  await updateStream(db, stream.stream_id, { trimmed_at: new Date(now).toISOString() })
  const usageSince = Date.parse(utcDay(now - segmentRetentionDays * dayMs))
  await deleteBefore({ client }, usageTable, 'time', usageSince)
  const retainedFrom = stream.retained_from
  if (retainedFrom !== null)
    await deleteBefore({ client }, generationsTable, 'ended_at', Date.parse(retainedFrom))
}

async function deleteBefore(
  { client }: Pick<ExportContext, 'client'>,
  table: string,
  column: string,
  time: number,
): Promise<void> {
  const partitions = await client.select(
    `SELECT _partition_id, max(${column}) < ${quoteTime(time)} FROM ${table}
     WHERE ${column} < ${quoteTime(time)} OR _partition_id IN (SELECT DISTINCT _partition_id FROM ${table} WHERE ${column} < ${quoteTime(time)})
     GROUP BY _partition_id`,
    { timeoutMs },
  )
  for (const [id, isOld] of partitions) {
    if (Number(isOld) === 1)
      await client.query(`ALTER TABLE ${table} DROP PARTITION ID ${quoteText(String(id))}`, { timeoutMs })
  }
  if (partitions.some(([, isOld]) => Number(isOld) === 0))
    await client.query(`DELETE FROM ${table} WHERE ${column} < ${quoteTime(time)}`, { timeoutMs })
}
