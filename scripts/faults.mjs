// The fault suite at full length: kills, outages and a million operations. `npm test` runs a short form of it.
import { spawn } from 'node:child_process'
import { ensureInstalled, findBunBinary, root } from './install.mjs'
import { startPostgres } from './postgres.mjs'
import { runtimeSettings } from './runtime-settings.mjs'

const paths = process.argv.slice(2)

ensureInstalled({ dev: true })
const url = process.env.TEST_DATABASE_URL
const postgres = url ? { url, stop: () => undefined } : await startPostgres()
if (!postgres) process.stderr.write('PostgreSQL is missing: testing SQLite only.\n')

// The ledger engines' tests have a long form too.
const suite = ['./test/faults', './src/ledger/engine.test.ts', './src/ledger/ledger-state.test.ts']
const files = paths.length > 0 ? paths : suite
const child = spawn(findBunBinary(), ['--no-env-file', 'test', '--timeout', '3600000', ...files], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...runtimeSettings,
    ...process.env,
    HEADGATE_FAULTS: 'long',
    ...(postgres && { TEST_DATABASE_URL: postgres.url }),
  },
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => {
  postgres?.stop()
  process.exit(code ?? 130)
})
