// The compiled server, which starts faster and needs less memory than its source: `npm run compile`, and after a start
// from source.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { constants as os, setPriority } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureInstalled, findBunBinary, root } from './install.mjs'

const folder = join(root, '.cache', 'compiled')
const lock = join(folder, 'build')
/** A build that takes longer was interrupted. */
const maxBuildMs = 10 * 60_000
/** Servers that run may be of an older source. */
const retained = 3
/** Delay after which the start from source is over. */
const delayMs = 10_000

/** The program of exactly this source, or null. */
export function findCompiled() {
  const path = compiledPath()
  return existsSync(path) ? path : null
}

/** Compiles it beside the server, for the next start. */
export function compileLater() {
  if (!isWritable()) return
  setTimeout(() => {
    const build = spawn(process.execPath, [fileURLToPath(import.meta.url)], { stdio: 'ignore' })
    build.on('error', () => undefined)
    if (build.pid) setPriority(build.pid, os.priority.PRIORITY_LOW)
  }, delayMs).unref()
}

/** Named by the state of every file that it is made of: no change of content leaves the time of the change as it was. */
export function compiledPath() {
  const files = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
  const others = [
    'package.json',
    'package-lock.json',
    'node_modules/.package-lock.json',
    'scripts/compile.ts',
  ]
  const hash = createHash('sha256')
  for (const path of [...files, ...others.map((file) => join(root, file))].sort()) {
    const { size, ctimeMs } = statSync(path)
    hash.update(`${path} ${size} ${ctimeMs}\n`)
  }
  const extension = process.platform === 'win32' ? '.exe' : ''
  return join(folder, `headgate-${hash.digest('hex').slice(0, 32)}${extension}`)
}

function isWritable() {
  try {
    accessSync(existsSync(folder) ? folder : root, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** False if another process compiles it. */
function takeLock() {
  mkdirSync(folder, { recursive: true })
  if (existsSync(lock) && Date.now() - statSync(lock).mtimeMs > maxBuildMs) rmSync(lock, { recursive: true })
  try {
    mkdirSync(lock)
    return true
  } catch {
    return false
  }
}

/** Used only if it runs, and if the source has not changed meanwhile. */
function compile(path) {
  const built = join(lock, basename(path))
  const { status } = spawnSync(findBunBinary(), ['scripts/compile.ts', built], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  const isUsable = status === 0 && spawnSync(built, ['--version']).status === 0 && compiledPath() === path
  if (isUsable) renameSync(built, path)
  return isUsable
}

function removeOld() {
  const programs = readdirSync(folder)
    .filter((name) => name.startsWith('headgate-'))
    .map((name) => ({ path: join(folder, name), at: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at)
  for (const { path } of programs.slice(retained)) rmSync(path, { force: true })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  ensureInstalled({ dev: false })
  if (!findCompiled() && takeLock()) {
    try {
      process.stderr.write('Compiling the server...\n')
      if (!compile(compiledPath())) process.exitCode = 1
      removeOld()
    } finally {
      rmSync(lock, { recursive: true, force: true })
    }
  }
}
