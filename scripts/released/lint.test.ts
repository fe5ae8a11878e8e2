import { expect, test } from 'bun:test'
import { sql } from 'kysely'
import {
  createIndex,
  fillColumns,
  inTransaction,
  type SchemaMigration,
} from '../../src/platform/db/migrate/steps.ts'
import { migrations } from '../../src/platform/db/migrations/all.ts'
import { lintMigrations } from './lint.ts'
import { readReleased } from './released.ts'

const released = readReleased()

function lint(migration: SchemaMigration): Promise<string[]> {
  return lintMigrations({ ...migrations, '999-test': migration }, released)
}

function statement(text: string): SchemaMigration {
  return { steps: [inTransaction('test', async (db) => void (await sql.raw(text).execute(db)))] }
}

test('the migrations since the last release pass', async () => {
  expect(await lintMigrations(migrations, released)).toEqual([])
})

test.each([
  ['drop table api_keys', 'api_keys is dropped'],
  ['alter table "api_keys" drop column "label"', 'api_keys loses a column'],
  ['alter table api_keys rename to keys', 'api_keys is renamed'],
  ['alter table api_keys rename column label to title', 'api_keys is renamed, or a column'],
  ['alter table api_keys alter column label type integer using 1', 'whose type changes'],
  ['alter table api_keys alter column label set data type varchar', 'whose type changes'],
  ['alter table api_keys alter column label set not null', 'must not be null any more'],
  ['alter table api_keys alter column disabled drop default', 'loses its default'],
  ['alter table api_keys add column mark text not null', 'is not nullable and has no default'],
  ['alter table api_keys add column mark text default gen_random_uuid()', 'default is computed'],
  ['alter table api_keys add constraint short check (length(label) < 9)', 'gets a constraint'],
  ['create unique index by_label on api_keys (label)', 'gets a unique index'],
  ['create index by_label on api_keys (label)', 'use createIndex'],
  ["update api_keys set label = ''", 'use backfill'],
  ['drop index api_keys_page', 'an index is dropped'],
])('rejects %p', async (text, problem) => {
  const problems = await lint(statement(text))
  expect(problems).toHaveLength(1)
  expect(problems[0]).toStartWith('999-test: ')
  expect(problems[0]).toContain(problem)
  expect(await lint({ ...statement(text), contract: { after: '059-ended-sessions' } })).toEqual([])
})

test('what the builder of statements writes is recognized', async () => {
  const up: SchemaMigration = {
    up: async (db) => {
      await db.schema.alterTable('api_keys').dropColumn('label').execute()
      await db.schema
        .alterTable('api_keys')
        .addColumn('mark', 'text', (column) => column.notNull())
        .execute()
      await db.schema.alterTable('api_keys').renameTo('keys').execute()
    },
  }
  expect(await lint(up)).toHaveLength(3)
})

test.each([
  'create table marks (id text primary key, text text not null, check (length(text) < 9))',
  'create unique index marks_by_text on marks (text)',
  'alter table api_keys add column mark text',
  'alter table api_keys add column mark integer not null default 0',
  'alter table api_keys add column mark text references members (id)',
  "insert into instance (name, value) values ('a', 'b')",
])('accepts %p', async (text) => {
  expect(await lint(statement(text))).toEqual([])
})

test('accepts indexes and backfills as steps', async () => {
  const fill = fillColumns({ table: 'api_keys', key: 'hash', set: "label = ''", where: 'label is null' })
  const index = createIndex({ name: 'by_label', table: 'api_keys', columns: ['label'] })
  expect(await lint({ steps: [fill, index] })).toEqual([])
})

test('a contract migration follows one of an earlier release, or says how this version serves before it', async () => {
  const dropped = { ...statement('drop table api_keys') }
  const [problem] = await lint({ ...dropped, contract: { after: '998-later' } })
  expect(problem).toBe('999-test: 998-later, which makes it possible, is in no earlier release')
  expect(await lint({ ...dropped, contract: { servesBoth: 'It reads keys from both tables.' } })).toEqual([])
})

test('a released migration can be neither removed nor preceded', async () => {
  const { '059-ended-sessions': removed, ...rest } = migrations
  expect(await lintMigrations(rest, released)).toEqual([
    '059-ended-sessions: a released migration is missing',
  ])
  expect(removed).toBeDefined()
  const early = await lintMigrations({ ...migrations, '050-early': statement('select 1') }, released)
  expect(early).toEqual(['050-early: its name is before 059-ended-sessions, which is released'])
})
