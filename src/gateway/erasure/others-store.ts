import { decodeCounter } from '../../governance/limits/applied-limits.ts'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import type { Db } from '../../platform/db/db.ts'

const batchSize = 500
/** Limits whose counters are examined with one slice. */
const limitsPerSlice = 50

/** Deletes rejected requests of an end user: they cost nothing. Returns how many; 0 if none is left. */
export async function deleteRefused(
  tx: Db,
  { organizationId, name, before }: { organizationId: string; name: string; before: string },
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('refused_requests')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('refused_requests')
        .select('id')
        .where('organization_id', '=', organizationId)
        .where('external_user', '=', name)
        .where('created_at', '<', before)
        .limit(batchSize),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** The next limits that count each end user separately. */
export async function listEndUserLimits(db: Db, organizationId: string, after: string): Promise<string[]> {
  const rows = await db
    .selectFrom('limits')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('per', 'like', '%"end_user"%')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limitsPerSlice)
    .execute()
  return rows.map(({ id }) => id)
}

export interface CounterOutcome {
  deleted: number
  /** Dollar limits that are in use this month: the ledger of a node may have them in memory. */
  inUse: number
}

/** Deletes what a limit has counted for an end user. */
export async function deleteCounters(
  tx: Db,
  limitId: string,
  { name, month }: { name: string; month: string },
): Promise<CounterOutcome> {
  const isTheirs = (counter: string) => decodeCounter(counter).end_user === name.slice(0, 256)
  const counts = await tx.selectFrom('limit_counts').select('name').where('limit_id', '=', limitId).execute()
  const names = counts.flatMap(({ name: stored }) =>
    isTheirs(stored.slice(stored.lastIndexOf(' ') + 1)) ? [stored] : [],
  )
  for (let at = 0; at < names.length; at += batchSize)
    await tx
      .deleteFrom('limit_counts')
      .where('name', 'in', names.slice(at, at + batchSize))
      .execute()
  const prefix = `${meterSubjects.limit(limitId, '')}:`
  const meters = await tx
    .selectFrom('meters')
    .select(['subject', 'month', 'held_total_nanos', 'held_byok_total_nanos'])
    .where('subject', 'like', `${prefix}%`)
    .execute()
  const theirs = meters.filter(
    ({ subject }) => subject.startsWith(prefix) && isTheirs(subject.slice(prefix.length)),
  )
  const ended = theirs
    .filter((meter) => meter.month < month && !meter.held_total_nanos && !meter.held_byok_total_nanos)
    .map(({ subject }) => subject)
  for (let at = 0; at < ended.length; at += batchSize) {
    const subjects = ended.slice(at, at + batchSize)
    await tx.deleteFrom('meters').where('subject', 'in', subjects).execute()
    await tx.deleteFrom('meter_days').where('subject', 'in', subjects).execute()
  }
  return { deleted: names.length + ended.length, inUse: theirs.length - ended.length }
}
