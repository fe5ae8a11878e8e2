// Builds the web console if its source has changed since the last build: `npm run console`, and at the start.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureInstalled, findBunBinary, root } from './install.mjs'

const folder = join(root, 'console')

/** Whether the console on disk is that of this source. */
export function isConsoleBuilt() {
  const manifest = join(folder, 'dist', 'manifest.json')
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).source === hashSource()
}

/** Runs beside the server, which answers meanwhile. */
export function startConsoleBuild() {
  return spawn(process.execPath, [fileURLToPath(import.meta.url)], { stdio: ['ignore', 2, 2] })
}

function hashSource() {
  const files = readdirSync(join(folder, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$|schema\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  const own = ['build.ts', 'build-assets.ts', 'package-lock.json'].map((name) => join(folder, name))
  const all = [...own, ...files].sort()
  const hash = createHash('sha256')
  for (const path of all) hash.update(`${relative(folder, path)}\n`).update(readFileSync(path))
  return hash.digest('hex')
}

/** The types of the API, from openapi.json. */
function generateTypes() {
  const tool = join(folder, 'node_modules', 'openapi-typescript', 'bin', 'cli.js')
  const args = [tool, join(root, 'openapi.json'), '-o', join(folder, 'src', 'api', 'schema.ts')]
  process.exit(spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 2] }).status ?? 1)
}

function build() {
  process.stderr.write('Building the console...\n')
  ensureInstalled({ dev: false, folder: 'console' })
  const args = [join(folder, 'build.ts'), hashSource()]
  if (spawnSync(findBunBinary(), args, { stdio: ['ignore', 2, 2] }).status === 0) return
  process.stderr.write('The console could not be built; see the lines above.\n')
  process.exit(1)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--types')) generateTypes()
  if (!isConsoleBuilt()) build()
}
