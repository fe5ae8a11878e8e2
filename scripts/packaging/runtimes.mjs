// The Bun binaries of other platforms: npm installs only that of this one.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../install.mjs'
import { targets } from './targets.mjs'

const cache = join(root, '.cache', 'runtimes')

/** The path of the Bun binary of a target: of the version and with the checksum that the lockfile has. */
export function prepareRuntime(target) {
  const { runtime: name, isWindows } = targets[target]
  const file = isWindows ? 'bun.exe' : 'bun'
  const { version, integrity } = readLocked(name)
  const installed = join(root, 'node_modules', name)
  if (readVersion(installed) === version) return join(installed, 'bin', file)
  const folder = join(cache, `${name.replace('@oven/', '')}-${version}`)
  if (!existsSync(folder)) download(`${name}@${version}`, integrity, folder)
  return join(folder, 'package', 'bin', file)
}

function readLocked(name) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return packages[`node_modules/${name}`]
}

function readVersion(folder) {
  const path = join(folder, 'package.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).version : undefined
}

function download(specifier, integrity, folder) {
  process.stderr.write(`Downloading ${specifier}...\n`)
  mkdirSync(cache, { recursive: true })
  const staging = mkdtempSync(join(cache, 'download-'))
  try {
    run('npm', ['pack', specifier, '--pack-destination', staging, '--silent'])
    const archive = readdirSync(staging).find((name) => name.endsWith('.tgz')) ?? fail(specifier)
    const digest = createHash('sha512')
      .update(readFileSync(join(staging, archive)))
      .digest('base64')
    if (`sha512-${digest}` !== integrity) fail(`${specifier}: its checksum is not that of package-lock.json`)
    // A path with a drive letter would be a remote host to some versions of tar.
    run('tar', ['-xzf', archive], staging)
    rmSync(join(staging, archive))
    renameSync(staging, folder)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function run(command, args, cwd = root) {
  const options = { cwd, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' }
  if (spawnSync(command, args, options).status !== 0) fail(`${command} ${args.join(' ')}`)
}

function fail(what) {
  throw new Error(`The runtime could not be downloaded (${what}).`)
}
