import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { clustered, flag, key, required } from './columns.ts'

/**
 * Roll-ups follow the order of settlement instead of the time a request ended; and meters have totals for
 * every day, so that a clock may go back.
 */
export const settlementOrder: Migration = { up }

async function up(db: Kysely<unknown>) {
  await createUnrolled(db)
  await unrollBrokenDays(db)
  await sql`insert into unrolled_generations (generation_id, organization_id)
      select id, organization_id from generations
      where ended_at > (select value from instance where name = 'rolled_until')
      on conflict do nothing`.execute(db)
  await sql`delete from instance where name = 'rolled_until'`.execute(db)
  await sql`insert into instance (name, value) values ('roll_up_steps', '0')`.execute(db)
  await createMeterDays(db)
  await fillSpent(db)
  await fillHeld(db)
  await clearWindows(db)
}

async function createUnrolled(db: Kysely<unknown>) {
  const table = db.schema
    .createTable('unrolled_generations')
    .addColumn('generation_id', 'text', key)
    .addColumn('organization_id', 'text', required)
    .addColumn('previous', 'text')
  await clustered(db, table)
}

interface Day {
  organization_id: string
  day: string
}

/** Days with more generations than were rolled up, because a clock was once ahead, are rolled up again. */
async function unrollBrokenDays(db: Kysely<unknown>) {
  const { rows } = await sql<Day>`
    select recorded.organization_id, recorded.day from (
      select organization_id, substr(created_at, 1, 10) as day, count(*) as requests from generations
      where ended_at <= (select value from instance where name = 'rolled_until')
      group by organization_id, substr(created_at, 1, 10)) as recorded
    left join (
      select organization_id, day, sum(requests) as requests from key_days group by organization_id, day) as rolled
      on rolled.organization_id = recorded.organization_id and rolled.day = recorded.day
    where recorded.requests > coalesce(rolled.requests, 0)`.execute(db)
  for (const day of rows) await unroll(db, day)
}

async function unroll(db: Kysely<unknown>, { organization_id, day }: Day) {
  const isOfDay = sql`organization_id = ${organization_id} and day = ${day}`
  await sql`delete from usage_columns
    where segment_id in (select id from usage_segments where ${isOfDay})`.execute(db)
  await sql`delete from usage_segments where ${isOfDay}`.execute(db)
  await sql`delete from key_days where ${isOfDay}`.execute(db)
  await sql`insert into unrolled_generations (generation_id, organization_id)
    select id, organization_id from generations
    where organization_id = ${organization_id} and substr(created_at, 1, 10) = ${day}`.execute(db)
}

async function createMeterDays(db: Kysely<unknown>) {
  const table = db.schema
    .createTable('meter_days')
    .addColumn('subject', 'text', required)
    .addColumn('day', 'text', required)
    .addColumn('spent_nanos', 'bigint', flag)
    .addColumn('byok_nanos', 'bigint', flag)
    .addColumn('held_nanos', 'bigint', flag)
    .addColumn('held_byok_nanos', 'bigint', flag)
    .addColumn('free', 'bigint', flag)
    .addPrimaryKeyConstraint('meter_days_pk', ['subject', 'day'])
  await clustered(db, table)
}

const subjects = [
  sql`'organization:' || organization_id`,
  sql`'workspace:' || workspace_id`,
  sql`'key:' || key_id`,
  sql`'member:' || workspace_id || ':' || user_id`,
]

/** Computes past spending from the records, which have the day each request began. */
async function fillSpent(db: Kysely<unknown>) {
  for (const subject of subjects) {
    await sql`insert into meter_days (subject, day, spent_nanos, byok_nanos)
      select ${subject}, day, sum(usage_nanos), sum(byok_usage_nanos) from (
        select organization_id, workspace_id, key_id, user_id, day, usage_nanos, byok_usage_nanos from key_days
        union all select organization_id, workspace_id, key_id, coalesce(user_id, ''), substr(created_at, 1, 10),
          cost_nanos, case when is_byok = 1 then upstream_cost_nanos else 0 end from generations
          where id in (select generation_id from unrolled_generations)) as spent
      where ${subject} in (select subject from meters)
      group by ${subject}, day`.execute(db)
  }
}

interface Hold {
  id: string
  subjects: string
  day: string
  draft: string
  amount_nanos: bigint
  byok_nanos: bigint
}

async function fillHeld(db: Kysely<unknown>) {
  const { rows } =
    await sql<Hold>`select id, subjects, day, amount_nanos, byok_nanos, draft from holds`.execute(db)
  for (const hold of rows) {
    const { id, subjects: names, amount_nanos, byok_nanos } = hold
    const day = dayBegan(hold)
    await sql`update holds set day = ${day} where id = ${id}`.execute(db)
    for (const subject of names.split(' ')) {
      await sql`insert into meter_days (subject, day, held_nanos, held_byok_nanos)
        values (${subject}, ${day}, ${amount_nanos}, ${byok_nanos})
        on conflict (subject, day) do update set held_nanos = meter_days.held_nanos + excluded.held_nanos,
          held_byok_nanos = meter_days.held_byok_nanos + excluded.held_byok_nanos`.execute(db)
    }
  }
}

/** A request counts on the day it began, even where a clock that was ahead counted it later. */
function dayBegan({ day, draft }: Hold): string {
  const createdAt = /"(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d\.\d{3}Z"/.exec(draft)?.[1]
  return createdAt ?? day
}

/** The next request of each meter moves it to the windows of its day, even where a clock had frozen them. */
async function clearWindows(db: Kysely<unknown>) {
  await sql`insert into meter_days (subject, day, free)
    select subject, day, free_day from meters where free_day > 0
    on conflict (subject, day) do update set free = excluded.free`.execute(db)
  const sums = ['', 'byok_', 'held_', 'held_byok_'].flatMap((sum) =>
    ['day', 'week', 'month'].map((window) => `${sum}${window}_nanos = 0`),
  )
  const set = [...sums, 'free_day = 0', "day = ''", "week = ''", "month = ''"]
  await sql.raw(`update meters set ${set.join(', ')}`).execute(db)
}
