import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/databases.ts'
import { databaseKinds } from '../../../test/support/harness.ts'
import { PostgresBatchConnection } from './postgres-batch.ts'

const lockRow = { sql: "select value from instance where name = 'locked' for update", values: [] }
const insertRow = { sql: "insert into instance (name, value) values ('locked', 'before')", values: [] }
const updateRow = { sql: "update instance set value = 'frozen' where name = 'locked'", values: [] }

/** A process that stops within its transaction: not even its timers run. */
const frozenProgram = `import { PostgresBatchConnection } from ${JSON.stringify(resolve(import.meta.dir, 'postgres-batch.ts'))}
  await new PostgresBatchConnection(process.argv[1]).transact(async (batch) => {
    await batch.rows([${JSON.stringify(lockRow)}])
    await batch.run([${JSON.stringify(updateRow)}])
    console.log('locked')
    Bun.sleepSync(3_600_000)
  })`

describe.if(databaseKinds.includes('postgres'))('transactions of the ledger', () => {
  let database: TestDatabase
  let living: PostgresBatchConnection
  let frozen: Bun.Subprocess<'ignore', 'pipe', 'inherit'> | undefined

  beforeAll(async () => {
    database = await createMigratedDatabase()
    living = new PostgresBatchConnection(database.url)
  })
  afterAll(async () => {
    frozen?.kill('SIGKILL')
    await living.close()
    await database.drop()
  })

  test('R7 a process that is frozen within one does not keep its locks, and its changes are undone', async () => {
    await living.transact((batch) => batch.run([insertRow]))
    frozen = Bun.spawn([process.execPath, '--no-env-file', '-e', frozenProgram, database.url], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const { value: said } = await frozen.stdout.getReader().read()
    expect(new TextDecoder().decode(said)).toContain('locked')
    expect(await living.transact((batch) => batch.rows([lockRow]))).toEqual([{ value: 'before' }])
  })
})
