// A private PostgreSQL for the tests: a new cluster in a temporary folder, on a free loopback port.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const isRoot = process.getuid?.() === 0

/** Settings for speed: data lost in a crash does not matter here. */
const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=300']

/** Starts PostgreSQL; returns its URL and how to stop it, or null if it is not available. */
export async function startPostgres(moreSettings = []) {
  const bin = findBinaries() ?? ((await installPackage('postgresql', 'PostgreSQL')) ? findBinaries() : null)
  if (!bin) return null
  const folder = mkdtempSync(join(tmpdir(), 'headgate-pg-'))
  const server = prepareServer(bin, folder, await findFreePort(), moreSettings)
  server.run('initdb', ['-D', server.data, '-U', 'headgate', '-A', 'trust', '-E', 'UTF8', '--no-sync'])
  server.start()
  return {
    url: server.url,
    isPrivate: true,
    stop: () => {
      server.halt()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a streaming standby of a server that `startPostgres` has started. It can be halted and started again. */
export async function startStandby(primaryUrl) {
  const bin = findBinaries()
  if (!bin) throw new Error('PostgreSQL is not installed')
  const folder = mkdtempSync(join(tmpdir(), 'headgate-pg-'))
  const server = prepareServer(bin, folder, await findFreePort(), [])
  // With a checkpoint at once, instead of one that is spread over minutes.
  server.run('pg_basebackup', ['-D', server.data, '-d', primaryUrl, '-R', '-c', 'fast', '--no-sync'])
  server.start()
  return {
    url: server.url,
    halt: server.halt,
    start: server.start,
    stop: () => {
      server.halt()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** How to run a server whose files are in the folder. */
function prepareServer(bin, folder, port, moreSettings) {
  const user = isRoot ? findPostgresUser() : {}
  if (isRoot) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const run = (tool, args) =>
    execFileSync(join(bin, tool), args, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const options = [...settings, ...moreSettings, 'listen_addresses=127.0.0.1']
    .map((setting) => `-c ${setting}`)
    .join(' ')
  const log = join(folder, 'log')
  return {
    url: `postgres://headgate@127.0.0.1:${port}/postgres`,
    data,
    run,
    start: () => {
      const own = `${options} -p ${port} -k ${folder}`
      run('pg_ctl', ['-D', data, '-w', '-t', '60', '-l', log, '-o', own, 'start'])
    },
    halt: () =>
      spawnSync(join(bin, 'pg_ctl'), ['-D', data, '-m', 'immediate', 'stop'], { ...user, cwd: folder }),
  }
}

/** The folder of the programs and the account to run them with, which is this one unless it is root; null without them. */
export function findPostgres() {
  const binaries = findBinaries()
  return binaries && { binaries, ...(isRoot && findPostgresUser()) }
}

function findBinaries() {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(':'),
  ]
  return (
    folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'pg_ctl'))) ?? null
  )
}

/** The lists of packages, once for all; then each package after the one before: apt-get takes a lock. */
let packages

/** Installs a package of the distribution, where this process may do so. */
export async function installPackage(name, title) {
  if (!isRoot || spawnSync('apt-get', ['--version']).status !== 0) return false
  const lists = packages ?? runApt('update', '-q')
  const installed = lists.then((isUpdated) => {
    if (!isUpdated) return false
    process.stderr.write(`Installing ${title} from the distribution...\n`)
    return runApt('install', '-q', '-y', '--no-install-recommends', name)
  })
  // A package that is not there is no reason against the next one.
  packages = Promise.all([lists, installed]).then(([isUpdated]) => isUpdated)
  return installed
}

async function runApt(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const [status] = await once(spawn('apt-get', args, { env, stdio: ['ignore', 'ignore', 2] }), 'close')
  return status === 0
}

/** PostgreSQL does not run as root. */
function findPostgresUser() {
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

export function findFreePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
