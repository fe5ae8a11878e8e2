// `npm run released -- <checkout> <tests>...`: a private PostgreSQL that counts statements, then scripts/released.ts.
import { spawnSync } from 'node:child_process'
import { ensureInstalled, findBunBinary, root } from './install.mjs'
import { startPostgres } from './postgres.mjs'

const [checkout = '.', ...tests] = process.argv.slice(2)
ensureInstalled({ dev: true })
const head = spawnSync('git', ['-C', checkout, 'rev-parse', 'HEAD'], { encoding: 'utf8' })
if (head.status !== 0) {
  process.stderr.write(`${checkout} is not a checkout: ${head.stderr}`)
  process.exit(1)
}
const settings = ['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.max=50000']
const postgres = await startPostgres([...settings, 'pg_stat_statements.track_utility=off'])
if (!postgres) {
  process.stderr.write('PostgreSQL is missing: install it first.\n')
  process.exit(1)
}
const env = { ...process.env, TEST_DATABASE_URL: postgres.url }
const args = ['scripts/released.ts', checkout, head.stdout.trim(), ...tests]
const { status } = spawnSync(findBunBinary(), args, { cwd: root, env, stdio: 'inherit' })
postgres.stop()
process.exit(status ?? 1)
