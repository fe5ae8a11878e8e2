// Rejects migrations that the last released version could not live with: see "A migration" in docs/development.md.
import { migrations } from '../src/platform/db/migrations/all.ts'
import { lintMigrations } from './released/lint.ts'
import { readReleased } from './released/released.ts'

const released = readReleased()
const count = Object.keys(migrations).length - released.migrations.length
const problems = await lintMigrations(migrations, released)
if (problems.length > 0) {
  const remedy = `Nodes of Headgate ${released.version} (${released.migrations.at(-1)}) serve next to this version. Change the schema in expand and contract steps.`
  process.stderr.write(`${problems.join('\n')}\n${remedy}\n`)
  process.exit(1)
}
process.stdout.write(`migrations: ${count} since the last release, no problems\n`)
