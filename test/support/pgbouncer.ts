import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort, installPackage } from '../../scripts/postgres.mjs'
import { isLong } from '../faults/options.ts'
import { waitUntil } from './wait-until.ts'

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path))

export interface PgBouncer {
  /** The same database, through the pooler. */
  url: string
  stop: () => Promise<void>
}

/** The fault suite installs it. */
export const hasPgBouncer =
  program !== undefined ||
  (isLong && (await installPackage('pgbouncer', 'PgBouncer')) && existsSync('/usr/sbin/pgbouncer'))

/** Starts PgBouncer in transaction mode, with fewer connections than a server opens. */
export async function startPgBouncer(databaseUrl: string, connections: number): Promise<PgBouncer> {
  const target = new URL(databaseUrl)
  const folder = mkdtempSync(join(tmpdir(), 'headgate-pgbouncer-'))
  const port: number = await findFreePort()
  const settings = join(folder, 'pgbouncer.ini')
  const users = join(folder, 'users.txt')
  writeFileSync(users, `"${target.username}" ""\n`)
  writeFileSync(settings, buildSettings({ target, port, users, connections }))
  const user = process.getuid?.() === 0 ? readPostgresUser() : {}
  if (user.uid !== undefined && user.gid !== undefined)
    for (const path of [folder, settings, users]) chownSync(path, user.uid, user.gid)
  const child = spawn(program ?? '/usr/sbin/pgbouncer', ['-q', settings], { ...user, stdio: 'ignore' })
  await waitUntil(() => isListening(port))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`
  url.searchParams.set('prepare', 'false')
  return { url: url.href, stop: () => stop(child, folder) }
}

interface Pooler {
  target: URL
  port: number
  users: string
  connections: number
}

function buildSettings({ target, port, users, connections }: Pooler): string {
  return [
    '[databases]',
    `* = host=${target.hostname} port=${target.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    `default_pool_size = ${connections}`,
    '',
  ].join('\n')
}

/** It does not run as root. */
function readPostgresUser(): { uid?: number; gid?: number } {
  const read = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: read('-u'), gid: read('-g') }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => socket.end(() => resolve(true)))
    socket.on('error', () => resolve(false))
  })
}

async function stop(child: ChildProcess, folder: string): Promise<void> {
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await exited
  rmSync(folder, { recursive: true })
}
