import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { utcDay, utcWeekStart } from '../../platform/time/time.ts'

export const turnRanges = ['1-turn', '2-9-turns', '10-49-turns', '50-plus-turns'] as const
export type TurnRange = (typeof turnRanges)[number]

/** Sessions whose last request is at most this old. */
export const sessionWindowDays = 28

const dayMs = 86_400_000
const maxRowsPerStatement = 200
/** Groups with most sessions. */
const maxGroups = 10_000

export interface PublishContext {
  db: Db
  clock: Clock
  /** Days for which records of requests are retained; null: forever. */
  retentionDays: number | null
}

/** The last day that the published medians cover; no row before the first publication. */
export const sessionWindowKey = 'dataset_session_window'

interface SessionGroup {
  app_url: string
  model: string
  turn_range: TurnRange
  sessions: number
  organizations: number
  median: number
}

/** Publishes the medians of the weeks up to last Sunday, once a week. */
export async function publishSessionCosts({ db, clock, retentionDays }: PublishContext): Promise<void> {
  const end = utcDay(Date.parse(utcWeekStart(clock.now())) - dayMs)
  await deleteOldSessions(db, clock.now(), retentionDays)
  const published = await readSessionWindow(db)
  if (published !== null && published >= end) return
  const start = utcDay(Date.parse(end) - (sessionWindowDays - 1) * dayMs)
  const groups = await computeMedians(db, start, end)
  await db.transaction().execute(async (tx) => {
    await tx
      .insertInto('instance')
      .values({ name: sessionWindowKey, value: end })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: end }))
      .execute()
    await tx.deleteFrom('dataset_figures').where('kind', '=', 'session').execute()
    for (let at = 0; at < groups.length; at += maxRowsPerStatement) {
      const rows = groups.slice(at, at + maxRowsPerStatement).map((group) => toFigure(group, end))
      await tx.insertInto('dataset_figures').values(rows).execute()
    }
  })
}

export async function readSessionWindow(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', sessionWindowKey)
    .executeTakeFirst()
  return row?.value ?? null
}

function toFigure(
  { app_url, model, turn_range, sessions, organizations, median }: SessionGroup,
  day: string,
) {
  return {
    kind: 'session' as const,
    day,
    subject: `${app_url}\n${model}\n${turn_range}`,
    requests: sessions,
    tokens: 0,
    cost_nanos: BigInt(Math.round(median)),
    organizations,
  }
}

/** Computes the medians. For an even number of sessions, the median is the mean of the two in the middle. */
async function computeMedians(db: Db, start: string, end: string): Promise<SessionGroup[]> {
  const ranged = sql`select app_url, model, organization_id, cost_nanos,
      case when turns = 1 then '1-turn' when turns < 10 then '2-9-turns'
        when turns < 50 then '10-49-turns' else '50-plus-turns' end as turn_range
    from dataset_sessions where day >= ${start} and day <= ${end} and turns > 0
      and app_url in (select url from dataset_apps)`
  const groups = sql`partition by app_url, model, turn_range`
  const { rows } = await sql<SessionGroup>`select app_url, model, turn_range,
      max(size) as sessions, count(distinct organization_id) as organizations,
      cast(avg(case when place * 2 between size and size + 2 then cost_nanos end) as double precision) as median
    from (select ranged.*,
        row_number() over (${groups} order by cost_nanos) as place, count(*) over (${groups}) as size
      from (${ranged}) as ranged) as ranked
    group by app_url, model, turn_range
    order by sessions desc, app_url, model, turn_range limit ${sql.lit(maxGroups)}`.execute(db)
  return rows
}

/** The window, and the week in which it is not published yet; never longer than the requests themselves. */
async function deleteOldSessions(db: Db, now: number, retentionDays: number | null): Promise<void> {
  const days = Math.min(sessionWindowDays + 7, retentionDays ?? Number.POSITIVE_INFINITY)
  await db
    .deleteFrom('dataset_sessions')
    .where('day', '<', utcDay(now - days * dayMs))
    .execute()
}
