import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { clustered, key, required } from './columns.ts'

/** What is rolled up no longer follows from the time a request ended, but from the order of settlement. */
export const settlementOrder: Migration = {
  async up(db) {
    await createUnrolled(db)
    await unrollBrokenDays(db)
    await sql`insert into unrolled_generations (generation_id, organization_id)
      select id, organization_id from generations
      where ended_at > (select value from instance where name = 'rolled_until')
      on conflict do nothing`.execute(db)
    await sql`delete from instance where name = 'rolled_until'`.execute(db)
    await sql`insert into instance (name, value) values ('roll_up_steps', '0')`.execute(db)
  },
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

/** Days with more generations than were rolled up, because a clock was ahead once, are rolled up anew. */
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
