// Plain Node, no dependencies: this runs before anything is installed.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Installs the locked dependencies if some are missing or of another version. Their install scripts do not run. */
export function ensureInstalled({ dev, folder = '' }) {
  const directory = join(root, folder)
  if (isComplete(directory, dev)) return
  const { status, error } = spawnSync(...describeInstall(folder, dev))
  checkInstall(status, error)
}

/** Installs those of several folders at once, with the packages for development. */
export async function ensureAllInstalled(folders) {
  const installs = folders
    .filter((folder) => !isComplete(join(root, folder), true))
    .map(async (folder) => {
      const [status] = await once(spawn(...describeInstall(folder, true)), 'close').catch((error) =>
        checkInstall(null, error),
      )
      checkInstall(status)
    })
  await Promise.all(installs)
}

function describeInstall(folder, dev) {
  process.stderr.write(`Installing dependencies${folder && ` of ${folder}`}...\n`)
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const options = {
    cwd: join(root, folder),
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  }
  return ['npm', ['ci', ...quiet, ...(dev ? [] : ['--omit=dev'])], options]
}

function checkInstall(status, error) {
  if (status === 0) return
  const reason = error ? `npm cannot be started: ${error.message}` : 'see the lines above'
  process.stderr.write(`The dependencies could not be installed; ${reason}.\n`)
  process.exit(1)
}

/** npm stores a lockfile of what it installed, without the packages of other platforms. */
function isComplete(directory, dev) {
  const copy = join(directory, 'node_modules', '.package-lock.json')
  if (!existsSync(copy)) return false
  const packages = (file) => JSON.parse(readFileSync(file, 'utf8')).packages
  const installed = packages(copy)
  return Object.entries(packages(join(directory, 'package-lock.json'))).every(
    ([path, { version, optional, dev: isDev }]) =>
      path === '' || optional || (isDev && !dev) || installed[path]?.version === version,
  )
}

/** The Bun binary comes inside an npm package, one for each platform. */
export function findBunBinary() {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${arch}`
  const file = process.platform === 'win32' ? 'bun.exe' : 'bun'
  const candidates = [`@oven/bun-${platform}`, `@oven/bun-${platform}-musl`]
  const path = candidates.map((name) => join(root, 'node_modules', name, 'bin', file)).find(existsSync)
  if (path) return path
  process.stderr.write(`Bun does not support this platform (${platform}).\n`)
  return process.exit(1)
}
