// Plain Node, no dependencies: this runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Installs the locked dependencies if some are missing or of another version. Their install scripts do not run. */
export function ensureInstalled({ dev, folder = '' }) {
  const directory = join(root, folder)
  if (isComplete(directory, dev)) return
  process.stderr.write(`Installing dependencies${folder && ` of ${folder}`}...\n`)
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const result = spawnSync('npm', ['ci', ...quiet, ...(dev ? [] : ['--omit=dev'])], {
    cwd: directory,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (result.status !== 0) {
    const reason = result.error ? `npm cannot be started: ${result.error.message}` : 'see the lines above'
    process.stderr.write(`The dependencies could not be installed; ${reason}.\n`)
    process.exit(1)
  }
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
