// The first module of a process of "the next version": migrations of every kind, on the table with most rows.
import { sql } from 'kysely'
import { createIndex, fillColumns, inTransaction } from '../../src/platform/db/migrate/steps.ts'
import { migrations } from '../../src/platform/db/migrations/all.ts'

export const expandName = '900-test-marks'
export const contractName = '901-test-marks-required'

migrations[expandName] = {
  steps: [
    inTransaction('add generations.test_mark', async (db) => {
      await sql`alter table generations add column test_mark text`.execute(db)
    }),
    fillColumns({
      table: 'generations',
      key: 'id',
      set: "test_mark = 'm' || id",
      where: 'test_mark is null',
    }),
    createIndex({
      name: 'generations_test_mark',
      table: 'generations',
      columns: ['organization_id', 'test_mark'],
    }),
  ],
}
migrations[contractName] = {
  contract: { after: expandName },
  steps: [
    // Rows that nodes of the previous version have written since.
    fillColumns({
      table: 'generations',
      key: 'id',
      set: "test_mark = 'm' || id",
      where: 'test_mark is null',
    }),
    inTransaction('rename generations.test_mark', async (db) => {
      await sql`alter table generations rename column test_mark to test_label`.execute(db)
    }),
  ],
}
