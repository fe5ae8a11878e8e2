// Runs the benchmarks: inference, routing, guard and classifier, then storage, records and the bytes of a record on a private PostgreSQL, the first two on SQLite too.
import { spawn } from 'node:child_process'
import { ensureInstalled, findBunBinary, root } from './install.mjs'
import { startPostgres } from './postgres.mjs'

const args = process.argv.slice(2)
const optionsWithValue = ['--only', '--candidates', '--rounds', '--against', '--corpus', '--misses']
const isPart = (argument, index) =>
  !argument.startsWith('--') && !optionsWithValue.includes(args[index - 1] ?? '')
const options = args.filter((argument, index) => !isPart(argument, index))
const named = args.filter(isPart)
const all = ['inference', 'routing', 'guard', 'classifier', 'storage', 'records']
// Only inference has rows to list.
const parts = options.includes('--list') ? ['inference'] : named.length > 0 ? named : all

ensureInstalled({ dev: true })
let child
let isStopping = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    isStopping = true
    child?.kill(signal)
  })
}
for (const part of parts) {
  const code = ['storage', 'records', 'bytes'].includes(part)
    ? await onDatabases(part)
    : await run(part, process.env)
  if (code !== 0 || isStopping) process.exit(code || 130)
}

async function onDatabases(part) {
  const url = process.env.TEST_DATABASE_URL
  const postgres = url ? { url, stop: () => undefined } : await startPostgres()
  if (!postgres) process.stderr.write('PostgreSQL is missing: measuring SQLite only.\n')
  const code = await run(part, { ...process.env, ...(postgres && { TEST_DATABASE_URL: postgres.url }) })
  postgres?.stop()
  return code
}

function run(part, env) {
  child = spawn(findBunBinary(), ['--no-env-file', 'bench/run.ts', part, ...options], {
    cwd: root,
    env,
    stdio: 'inherit',
  })
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 130)))
}
