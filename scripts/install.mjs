// Plain Node, no dependencies: this runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Installs the locked dependencies when some are missing or of another version. */
export function ensureInstalled({ dev }) {
  if (isComplete(dev)) return
  process.stderr.write('Installing dependencies...\n')
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error', ...(dev ? [] : ['--omit=dev'])]
  const result = spawnSync('npm', args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (result.status !== 0) {
    process.stderr.write('The dependencies could not be installed; see the lines above.\n')
    process.exit(1)
  }
}

/** npm keeps a copy of the lockfile of what it installed; platform packages of other machines are not in it. */
function isComplete(dev) {
  const copy = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(copy)) return false
  const packages = (file) => JSON.parse(readFileSync(file, 'utf8')).packages
  const installed = packages(copy)
  return Object.entries(packages(join(root, 'package-lock.json'))).every(
    ([path, { version, optional, dev: isDev }]) =>
      path === '' || optional || (isDev && !dev) || installed[path]?.version === version,
  )
}

/** The Bun binary comes inside an npm package, one for each platform. */
export function bunBinary() {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${arch}`
  const file = process.platform === 'win32' ? 'bun.exe' : 'bun'
  const candidates = [`@oven/bun-${platform}`, `@oven/bun-${platform}-musl`]
  const found = candidates.map((name) => join(root, 'node_modules', name, 'bin', file)).find(existsSync)
  if (found) return found
  process.stderr.write(`There is no Bun for this platform (${platform}).\n`)
  return process.exit(1)
}
