// `npm run fixture`: a private PostgreSQL, then scripts/fixture.ts on it, with the same arguments.
import { spawnSync } from 'node:child_process'
import { ensureInstalled, findBunBinary, root } from './install.mjs'
import { startPostgres } from './postgres.mjs'

ensureInstalled({ dev: true })
const postgres = await startPostgres()
if (!postgres) {
  process.stderr.write('PostgreSQL is missing: install it first.\n')
  process.exit(1)
}
const env = { ...process.env, TEST_DATABASE_URL: postgres.url }
const args = ['scripts/fixture.ts', ...process.argv.slice(2)]
const { status } = spawnSync(findBunBinary(), args, { cwd: root, env, stdio: 'inherit' })
postgres.stop()
process.exit(status ?? 1)
