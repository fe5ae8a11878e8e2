// Runs the benchmark on SQLite and on a private PostgreSQL.
import { spawnSync } from 'node:child_process'
import { bunBinary, ensureInstalled, root } from './install.mjs'
import { startPostgres } from './postgres.mjs'

ensureInstalled({ dev: true })
const url = process.env.TEST_DATABASE_URL
const postgres = url ? { url, stop: () => undefined } : await startPostgres()
if (!postgres) process.stderr.write('PostgreSQL is missing: measuring SQLite alone.\n')
const env = { ...process.env, ...(postgres && { TEST_DATABASE_URL: postgres.url }) }
const { status } = spawnSync(bunBinary(), ['bench/run.ts'], { cwd: root, env, stdio: 'inherit' })
postgres?.stop()
process.exit(status ?? 1)
