import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { newId } from '../../src/platform/crypto/ids.ts'
import { closeDb, migrate, openDb } from '../../src/platform/db/db.ts'

export interface TestDatabase {
  url: string
  drop: () => Promise<void>
}

const serverUrl = process.env.TEST_DATABASE_URL
/** The runner has started the server for this run, so that templates need not be dropped. */
const isPrivateServer = process.env.TEST_DATABASE_PRIVATE === 'true'

let shared: SQL | undefined

/** Each connection is a process: those to a private server, which ends with the run, stay. */
function connect(url: string): SQL {
  if (!isPrivateServer) return new SQL(url, { max: 1 })
  shared ??= new SQL(url, { max: 2 })
  return shared
}

/** A PostgreSQL database, empty unless it is copied from a template. */
export async function createDatabase(template?: string): Promise<TestDatabase> {
  if (!serverUrl) throw new Error('TEST_DATABASE_URL is not set')
  const name = newId('headgate')
  const admin = connect(serverUrl)
  await admin.unsafe(
    `create database ${name}${template === undefined ? '' : await copyFrom(admin, template)}`,
  )
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: async () => {
      const dropped = dropDatabase(admin, name)
      // It takes a tenth of a second if a connection was just closed. A private server ends with the run.
      if (isPrivateServer) dropped.catch(() => undefined)
      else await dropped
    },
  }
}

let hasStrategies: Promise<boolean> | undefined

/** Copies files: a third of the CPU of the default, which writes every page to the log. */
async function copyFrom(admin: SQL, template: string): Promise<string> {
  hasStrategies ??= admin
    .unsafe(`select current_setting('server_version_num')::int >= 150000 as known`)
    .then(([row]) => row.known)
  return ` template ${template}${(await hasStrategies) ? ' strategy file_copy' : ''}`
}

async function dropDatabase(admin: SQL, name: string): Promise<void> {
  await admin.unsafe(`drop database ${name} with (force)`)
  if (!isPrivateServer) await admin.close({ timeout: 1 })
}

let postgresTemplate: Promise<string> | undefined

/** A PostgreSQL database with the present schema: a copy is faster than the migrations. */
export async function createMigratedDatabase(): Promise<TestDatabase> {
  if (!isPrivateServer) return createDatabase()
  postgresTemplate ??= createPostgresTemplate()
  return createDatabase(await postgresTemplate)
}

async function createPostgresTemplate(): Promise<string> {
  const { url } = await createDatabase()
  await migrateDatabase(url)
  return new URL(url).pathname.slice(1)
}

let sqliteTemplate: Promise<Uint8Array> | undefined

/** Creates a SQLite database with the present schema. */
export async function createMigratedFile(path: string): Promise<void> {
  sqliteTemplate ??= createSqliteTemplate()
  writeFileSync(path, await sqliteTemplate)
}

async function createSqliteTemplate(): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-template-'))
  const path = join(folder, 'headgate.sqlite')
  await migrateDatabase(path)
  // Unlike the file, this includes what is only in the write-ahead log.
  const database = new Database(path)
  const content = database.serialize()
  database.close()
  rmSync(folder, { recursive: true })
  return content
}

async function migrateDatabase(url: string): Promise<void> {
  const db = openDb(url, { queryTimeoutMs: null })
  await migrate(db)
  await closeDb(db)
}
