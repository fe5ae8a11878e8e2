import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { utcDay, utcMonthStart, utcWeekStart } from '../../time/time.ts'
import { clustered, flag, index, key, organization, required } from './columns.ts'

export const money: Migration = {
  async up(db) {
    await createMeters(db)
    await createHolds(db)
    await extendGenerations(db)
    await createRecords(db)
    await fillMeters(db)
    await postOpening(db)
    await db.schema.dropTable('key_usage').execute()
  },
}

const windows = ['total', 'day', 'week', 'month']
const sums = ['', 'byok_', 'held_', 'held_byok_']

async function createMeters(db: Kysely<unknown>) {
  let table = db.schema.createTable('meters').addColumn('subject', 'text', key)
  for (const sum of sums) {
    for (const window of windows) table = table.addColumn(`${sum}${window}_nanos`, 'bigint', flag)
  }
  for (const window of ['day', 'week', 'month', 'minute']) {
    table = table.addColumn(window, 'text', (column) => column.notNull().defaultTo(''))
  }
  await clustered(db, table.addColumn('free_day', 'bigint', flag).addColumn('free_minute', 'bigint', flag))
}

async function createHolds(db: Kysely<unknown>) {
  await db.schema
    .createTable('nodes')
    .addColumn('id', 'text', key)
    .addColumn('started_at', 'text', required)
    .addColumn('seen_at', 'text', required)
    .execute()
  const holds = db.schema
    .createTable('holds')
    .addColumn('id', 'text', key)
    .addColumn('owner', 'text', required)
    .addColumn('subjects', 'text', required)
    .addColumn('amount_nanos', 'bigint', required)
    .addColumn('byok_nanos', 'bigint', required)
    .addColumn('day', 'text', required)
    .addColumn('expires_at', 'text', required)
    .addColumn('draft', 'text', required)
    .addColumn('checkpoint', 'text')
  await clustered(db, holds)
}

/** Earlier requests are ordered by the time they ended: no later search can find one before it. */
async function extendGenerations(db: Kysely<unknown>) {
  const text = ['posting_id', 'flag', 'api_type', 'user_agent', 'request_id', 'upstream_id', 'service_tier']
  for (const column of text) await db.schema.alterTable('generations').addColumn(column, 'text').execute()
  for (const column of ['hold_nanos', 'input_images', 'tokens_cache_read_audio']) {
    await db.schema.alterTable('generations').addColumn(column, 'bigint', flag).execute()
  }
  await db.schema
    .alterTable('generations')
    .addColumn('ended_at', 'text', (column) => column.notNull().defaultTo(''))
    .execute()
  await sql`update generations set ended_at = created_at, api_type = 'completions'`.execute(db)
  await db.schema.dropIndex('generations_organization').execute()
  await index(db, 'generations_ended', 'generations', ['ended_at'])
}

async function createRecords(db: Kysely<unknown>) {
  await db.schema
    .createTable('generation_contents')
    .addColumn('generation_id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text', required)
    .addColumn('sealed_content', 'text', required)
    .addColumn('created_at', 'text', required)
    .execute()
  await index(db, 'generation_contents_age', 'generation_contents', ['created_at'])
  await db.schema
    .createTable('generation_feedback')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('generation_id', 'text', required)
    .addColumn('category', 'text', required)
    .addColumn('comment', 'text')
    .addColumn('created_at', 'text', required)
    .execute()
  await index(db, 'generation_feedback_generation', 'generation_feedback', ['generation_id'])
}

/** Sums the past spending of keys, members, workspaces and organizations into their meters. */
async function fillMeters(db: Kysely<unknown>) {
  const now = Date.now()
  const [day, week, month] = [utcDay(now), utcWeekStart(now), utcMonthStart(now)]
  const since = (column: string, start: string) =>
    sql`coalesce(sum(case when key_usage.day >= ${start} then ${sql.ref(column)} else 0 end), 0)`
  const subjects = {
    key: sql`'key:' || key_usage.key_id`,
    organization: sql`'organization:' || key_usage.organization_id`,
    workspace: sql`'workspace:' || api_keys.workspace_id`,
    member: sql`'member:' || api_keys.workspace_id || ':' || api_keys.creator_user_id`,
  }
  for (const subject of Object.values(subjects)) {
    await sql`
      insert into meters (subject, total_nanos, day_nanos, week_nanos, month_nanos,
        byok_total_nanos, byok_day_nanos, byok_week_nanos, byok_month_nanos, day, week, month)
      select ${subject}, ${since('usage_nanos', '')}, ${since('usage_nanos', day)},
        ${since('usage_nanos', week)}, ${since('usage_nanos', month)},
        ${since('byok_usage_nanos', '')}, ${since('byok_usage_nanos', day)},
        ${since('byok_usage_nanos', week)}, ${since('byok_usage_nanos', month)},
        ${day}, ${week}, ${month}
      from key_usage left join api_keys on api_keys.id = key_usage.key_id
      where ${subject} is not null
      group by ${subject}`.execute(db)
  }
}

/** Posts the spending from before charges were posted, in one transaction for each organization. */
async function postOpening(db: Kysely<unknown>) {
  const now = new Date().toISOString()
  for (const [account, sign] of [
    ['credits', -1],
    ['revenue', 1],
  ] as const) {
    await sql`
      insert into ledger_entries (transaction_id, organization_id, account, amount_nanos, kind, created_at)
      select 'opening-' || organization_id, organization_id, ${sql.lit(account)},
        ${sql.lit(sign)} * sum(usage_nanos), 'charge', ${sql.lit(now)}
      from key_usage group by organization_id having sum(usage_nanos) <> 0`.execute(db)
  }
}
