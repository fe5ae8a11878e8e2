// The fault suite at full length: kills, outages and a million operations. `npm test` runs a short form of it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { ensureInstalled, findBunBinary, root } from './install.mjs'
import { findPostgres, installPackage, startPostgres } from './postgres.mjs'
import { runtimeSettings } from './runtime-settings.mjs'
import { isPresent } from './toolchains.mjs'
import { findValkey } from './valkey.mjs'

const paths = process.argv.slice(2)

ensureInstalled({ dev: true })
const url = process.env.TEST_DATABASE_URL
const postgres = url ? { url, stop: () => undefined } : await startPostgres()
if (!postgres) process.stderr.write('PostgreSQL is missing: testing SQLite only.\n')

// The ledger engines' tests have a long form too.
const suite = ['./test/faults', './src/ledger/engine.test.ts', './src/ledger/ledger-state.test.ts']
const files = paths.length > 0 ? paths : suite
const isLabNeeded = files.some((file) => !file.includes('.test.ts') || file.includes('cluster'))
const labValkey = isLabNeeded ? await prepareLab() : null
const child = spawn(findBunBinary(), ['--no-env-file', 'test', '--timeout', '3600000', ...files], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...runtimeSettings,
    ...process.env,
    HEADGATE_FAULTS: 'long',
    ...(labValkey && { TEST_LAB_VALKEY: labValkey }),
    ...(postgres && { TEST_DATABASE_URL: postgres.url }),
  },
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => {
  postgres?.stop()
  process.exit(code ?? 130)
})

/** The Valkey of the cluster in network namespaces, or null if these cannot be made here. */
async function prepareLab() {
  if (process.platform === 'linux' && !existsSync('/usr/sbin/ip') && !existsSync('/sbin/ip'))
    await installPackage('iproute2', 'iproute2')
  const tools = 'command -v nsenter findmnt prlimit mkfs.ext4 && test -e /dev/loop-control'
  const devices = 'ip link add v0 type veth peer name v1 && ip link add b0 type bridge'
  const isolated = ['--net', '--mount', '--pid', '--fork', '--mount-proc', 'sh', '-c']
  const title = 'The cluster of nodes, which needs root on Linux, iproute2, e2fsprogs and a loop device'
  const canIsolate = isPresent(title, 'unshare', [...isolated, `${tools} && ${devices}`])
  return canIsolate && findPostgres() ? findValkey() : null
}
