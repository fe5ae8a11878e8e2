// Installs what the tests need in other languages, into folders that git ignores.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const isWindows = process.platform === 'win32'
export const executableSuffix = isWindows ? '.exe' : ''

/** The interpreter of an environment with the packages of `<folder>/<name>/requirements.txt`; undefined without Python. */
export async function preparePython(folder, name) {
  const python = isWindows ? 'python' : 'python3'
  const probe = 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))'
  if (!isPresent('Python 3.10', python, ['-c', probe])) return undefined
  const home = join(folder, `.${name}`)
  const interpreter = join(home, isWindows ? 'Scripts' : 'bin', `python${executableSuffix}`)
  const requirements = join(folder, name, 'requirements.txt')
  const installed = join(home, 'requirements.txt')
  if (!isSame(requirements, installed)) {
    rmSync(home, { recursive: true, force: true })
    await run(`Python environment of ${name}`, python, ['-m', 'venv', home])
    const quiet = ['--quiet', '--no-input', '--disable-pip-version-check']
    // Only wheels, so that no script of a package runs.
    const exact = ['--only-binary', ':all:', '--no-deps', '-r', requirements]
    await run(`Python packages of ${name}`, interpreter, ['-m', 'pip', 'install', ...quiet, ...exact])
    copyFileSync(requirements, installed)
  }
  return interpreter
}

/** The interpreter that `preparePython` has installed; undefined if it has not, or for other packages. */
export function findPython(folder, name) {
  const home = join(folder, `.${name}`)
  const isCurrent = isSame(join(folder, name, 'requirements.txt'), join(home, 'requirements.txt'))
  return isCurrent ? join(home, isWindows ? 'Scripts' : 'bin', `python${executableSuffix}`) : undefined
}

/** Checks for a tool. Like PostgreSQL, a missing one is an error in CI, and skipped elsewhere. */
export function isPresent(name, command, args, options = {}) {
  if (spawnSync(command, args, { ...options, stdio: 'ignore' }).status === 0) return true
  process.stderr.write(`${name} is missing or too old: install it.\n`)
  if (process.env.CI) process.exit(1)
  process.stderr.write('Not in CI: the tests continue without it.\n')
  return false
}

export async function run(name, command, args, options = {}) {
  process.stderr.write(`Installing the ${name}...\n`)
  const [status] = await once(spawn(command, args, { ...options, stdio: ['ignore', 2, 2] }), 'close')
  if (status === 0) return
  process.stderr.write(`The ${name} could not be installed; see the lines above.\n`)
  process.exit(1)
}

function isSame(file, copy) {
  return existsSync(copy) && readFileSync(file, 'utf8') === readFileSync(copy, 'utf8')
}
