// Writes what a version reads and writes to test/fixtures/released: its tables, and the statements that its tests run.
// Usage: released.ts <checkout of the version> <its commit> [<tests to run>...]
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { SQL } from 'bun'
import { readCatalog } from './released/catalog.ts'
import { type Released, releasedFolder } from './released/released.ts'
import { planStatements, readStatements } from './released/statements.ts'

const [folder = '.', commit = '', ...tests] = process.argv.slice(2)
const checkout = resolve(folder)
const server = process.env.TEST_DATABASE_URL ?? ''

const admin = new SQL(server, { max: 1 })
await admin.unsafe('create extension pg_stat_statements')
await admin.unsafe('create database released')
const url = new URL(server)
url.pathname = '/released'
migrate()

/** Tests without PostgreSQL run no statement that matters. */
const onPostgres = '[pP]ostgre'
const options = ['--no-env-file', 'test', '--timeout=120000', '-t', onPostgres]
const { status } = spawnSync(process.execPath, [...options, ...tests], {
  cwd: checkout,
  env: { ...process.env, TEST_DATABASE_URL: server },
  stdio: 'inherit',
})
if (status !== 0) process.stderr.write('Some tests failed; the statements of the others are complete.\n')

const statements = await readStatements(server)
// The tests also run statements on tables of their own.
const foreign = new Set((await planStatements(url.href, statements)).map(({ statement }) => statement))
const own = statements.filter((statement) => !foreign.has(statement))
const db = new SQL(url.href, { max: 1 })
const rows: { name: string }[] = await db`select name from kysely_migration order by name`
const manifest = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
const released: Released = {
  version: manifest.version,
  commit,
  migrations: rows.map(({ name }) => name),
  tables: await readCatalog(url.href),
}
mkdirSync(releasedFolder, { recursive: true })
writeFileSync(join(releasedFolder, 'schema.json'), `${JSON.stringify(released, null, 1)}\n`)
spawnSync('node_modules/.bin/biome', ['format', '--write', releasedFolder], { stdio: 'inherit' })
writeFileSync(join(releasedFolder, 'statements.sql'), `${own.join('\n')}\n`)
process.stdout.write(
  `${released.migrations.at(-1)}: ${Object.keys(released.tables).length} tables, ${own.length} statements; ${foreign.size} of other tables are left out.\n`,
)
process.exit(0)

function migrate(): void {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-released-'))
  const { status } = spawnSync(process.execPath, ['--no-env-file', 'src/cli.ts', 'migrate'], {
    cwd: checkout,
    env: { PATH: process.env.PATH, HEADGATE_DATA_DIR: dataDir, DATABASE_URL: url.href },
    stdio: 'inherit',
  })
  rmSync(dataDir, { recursive: true })
  if (status !== 0) process.exit(1)
}
