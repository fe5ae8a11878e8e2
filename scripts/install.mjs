// Plain Node, no dependencies: this runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = join(root, 'node_modules', '.headgate-installed')

/** Installs the locked dependencies when they are missing or the lockfile has changed. */
export function ensureInstalled({ dev }) {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  const installed = existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''
  if (installed === `${lock} dev` || (installed === `${lock} prod` && !dev)) return
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
  writeFileSync(stamp, `${lock} ${dev ? 'dev' : 'prod'}`)
}

/** The Bun binary comes inside an npm package, one for each platform. */
export function bunBinary() {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${arch}`
  const file = process.platform === 'win32' ? 'bun.exe' : 'bun'
  const require = createRequire(join(root, 'package.json'))
  for (const name of [`@oven/bun-${platform}`, `@oven/bun-${platform}-musl`]) {
    try {
      return require.resolve(`${name}/bin/${file}`)
    } catch {}
  }
  process.stderr.write(`There is no Bun for this platform (${platform}).\n`)
  return process.exit(1)
}
