import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { DatasetKind } from '../../platform/db/schema.ts'
import { utcDay } from '../../platform/time/time.ts'
import { type PublishContext, publishSessionCosts } from './session-costs.ts'

const dayMs = 86_400_000
/** Corrections arrive within a day; a published day older than this is final. */
const contributionDays = 40
/** Maximum apps of one day: clients choose the addresses of apps, and could invent any number. */
const maxAppsPerDay = 500

/** Sums the contributions of complete days and weeks that have changed, over all organizations. */
export async function publishFigures(context: PublishContext): Promise<void> {
  const { db, clock } = context
  const today = utcDay(clock.now())
  const finalBefore = daysBefore(today, contributionDays)
  for (const { kind, day } of await findDueDays(db, today)) {
    if (day < finalBefore && (await hasFigures(db, kind, day))) continue
    await db.transaction().execute((tx) => publishDay(tx, kind, day, new Date(clock.now()).toISOString()))
  }
  await publishSessionCosts(context)
  await deleteOldContributions(db, finalBefore)
}

function daysBefore(day: string, count: number): string {
  return utcDay(Date.parse(day) - count * dayMs)
}

/** Whether a day is published. The contributions of a final day are gone: nothing can be added later. */
async function hasFigures(db: Db, kind: DatasetKind, day: string): Promise<boolean> {
  const row = await db
    .selectFrom('dataset_figures')
    .select('day')
    .where('kind', '=', kind)
    .where('day', '=', day)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

function findDueDays(db: Db, today: string) {
  return db
    .selectFrom('dataset_days')
    .select(['kind', 'day'])
    .whereRef('changes', '<>', 'published_changes')
    .where((eb) =>
      eb.or([
        eb.and([eb('kind', '<>', 'topic'), eb('day', '<', today)]),
        eb.and([eb('kind', '=', 'topic'), eb('day', '<=', daysBefore(today, 7))]),
      ]),
    )
    .orderBy('day')
    .execute()
}

/** The first statement locks the day: of several nodes one publishes it. */
async function publishDay(tx: Db, kind: DatasetKind, day: string, now: string): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('dataset_days')
    .set((eb) => ({ published_changes: eb.ref('changes'), published_at: now }))
    .where('kind', '=', kind)
    .where('day', '=', day)
    .whereRef('changes', '<>', 'published_changes')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return
  if (kind === 'app') await nameApps(tx, day)
  await tx.deleteFrom('dataset_figures').where('kind', '=', kind).where('day', '=', day).execute()
  await sql`insert into dataset_figures (kind, day, subject, requests, tokens, cost_nanos, organizations)
    select kind, day, subject, sum(requests), sum(tokens), sum(cost_nanos),
      sum(case when requests > 0 then 1 else 0 end)
    from dataset_contributions where kind = ${kind} and day = ${day}
    group by kind, day, subject having sum(requests) > 0
    ${kind === 'app' ? largestFirst : sql``}`.execute(tx)
}

const largestFirst = sql`order by sum(tokens) desc, subject limit ${sql.lit(maxAppsPerDay)}`

/**
 * An app has a number from the first day on that it is among the largest. Its title is that of the organization with
 * most requests, so that another one cannot rename it.
 */
async function nameApps(tx: Db, day: string): Promise<void> {
  await sql`insert into dataset_apps (url, slug, title)
    select subject, lower(replace(replace(subject, '/', '-'), ':', '-')),
      (select label from dataset_contributions as labeled
        where labeled.kind = 'app' and labeled.day = ${day} and labeled.subject = largest.subject
          and label is not null
        order by requests desc limit 1)
    from (select subject from dataset_contributions where kind = 'app' and day = ${day}
      group by subject having sum(requests) > 0 ${largestFirst}) as largest
    where true
    on conflict (url) do update set title = coalesce(excluded.title, dataset_apps.title)`.execute(tx)
}

/** Deletes contributions. Published figures remain, except for tasks, which are read for a week. */
async function deleteOldContributions(db: Db, before: string): Promise<void> {
  const days = await db.selectFrom('dataset_days').select(['kind', 'day']).where('day', '<', before).execute()
  for (const { kind, day } of days) {
    const tables = kind === 'task' ? taskTables : otherTables
    await db.transaction().execute(async (tx) => {
      for (const table of tables)
        await tx.deleteFrom(table).where('kind', '=', kind).where('day', '=', day).execute()
    })
  }
}

const otherTables = ['dataset_contributions', 'dataset_days'] as const
const taskTables = [...otherTables, 'dataset_figures'] as const
