// Prometheus and promtool for the tests: installed, or unpacked from a package of the distribution, whose installation
// would start a server.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './install.mjs'

const folder = join(root, '.cache', 'prometheus')

/** Returns the folder of both programs; null if they are not available. */
export function preparePrometheus() {
  const folders = [...(process.env.PATH ?? '').split(':'), join(folder, 'usr', 'bin')]
  const find = () =>
    folders.find((path) => ['prometheus', 'promtool'].every((name) => existsSync(join(path, name)))) ?? null
  return find() ?? (unpack() ? find() : null)
}

function unpack() {
  if (!runs('.', 'apt-get', '--version') || !runs('.', 'dpkg-deb', '--version')) return false
  process.stderr.write('Unpacking Prometheus from the distribution...\n')
  mkdirSync(dirname(folder), { recursive: true })
  const fresh = mkdtempSync(`${folder}-`)
  try {
    const hasPackage = download(fresh) || (process.getuid?.() === 0 && update() && download(fresh))
    const [name] = readdirSync(fresh)
    if (!hasPackage || !name || !runs(fresh, 'dpkg-deb', '-x', name, '.')) return false
    rmSync(join(fresh, name))
    rmSync(folder, { recursive: true, force: true })
    renameSync(fresh, folder)
    return true
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function update() {
  return runs('.', 'apt-get', 'update', '-q')
}

function download(into) {
  return runs(into, 'apt-get', 'download', '-q', 'prometheus')
}

function runs(cwd, command, ...args) {
  return spawnSync(command, args, { cwd, stdio: 'ignore' }).status === 0
}
