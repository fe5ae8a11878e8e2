// Installs the client libraries of other languages for the long tests, and a tool that reads openapi.json: from the
// registries of the languages, in locked versions, into folders that git ignores.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './install.mjs'

const folder = join(root, 'test', 'long')
const isWindows = process.platform === 'win32'
const suffix = isWindows ? '.exe' : ''

/** Each returns the environment variables with the paths of its programs, or none if its toolchain is missing. */
export const languages = { python: installPython, go: buildGo, rust: buildRust, openapi: installSchemathesis }

function installPython() {
  const interpreter = pythonWith('python')
  return interpreter ? { HEADGATE_TEST_PYTHON: interpreter } : {}
}

/** Its requests are random and may contain URLs to connect to: it runs in a network namespace with loopback only. */
function installSchemathesis() {
  const probe = ['--map-root-user', '--net', 'ip', 'link', 'set', 'lo', 'up']
  if (!isPresent('A private network namespace (Linux, unshare, ip)', 'unshare', probe)) return {}
  const interpreter = pythonWith('openapi')
  return interpreter ? { HEADGATE_TEST_SCHEMATHESIS: interpreter } : {}
}

/** An interpreter with the packages of `requirements.txt` in the folder of this name. */
function pythonWith(name) {
  const python = isWindows ? 'python' : 'python3'
  const probe = 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))'
  if (!isPresent('Python 3.10', python, ['-c', probe])) return undefined
  const home = join(folder, `.${name}`)
  const interpreter = join(home, isWindows ? 'Scripts' : 'bin', `python${suffix}`)
  const requirements = join(folder, name, 'requirements.txt')
  const installed = join(home, 'requirements.txt')
  if (!isSame(requirements, installed)) {
    rmSync(home, { recursive: true, force: true })
    run('Python environment', python, ['-m', 'venv', home])
    const quiet = ['--quiet', '--no-input', '--disable-pip-version-check']
    // Only wheels, so that no script of a package runs.
    const exact = ['--only-binary', ':all:', '--no-deps', '-r', requirements]
    run('Python packages', interpreter, ['-m', 'pip', 'install', ...quiet, ...exact])
    copyFileSync(requirements, installed)
  }
  return interpreter
}

function buildGo() {
  const options = { cwd: join(folder, 'go'), env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '' } }
  if (!isPresent('Go of the version in test/long/go/go.mod', 'go', ['list', '-m'], options)) return {}
  const output = join(folder, '.go')
  // A trailing slash makes it a folder, which is created.
  run(
    'Go programs',
    'go',
    ['build', '-mod=readonly', '-buildvcs=false', '-o', `${output}/`, './...'],
    options,
  )
  return { HEADGATE_TEST_GO: output }
}

function buildRust() {
  const target = join(folder, '.rust')
  const options = { cwd: join(folder, 'rust'), env: { ...process.env, CARGO_TARGET_DIR: target } }
  const probe = ['metadata', '--no-deps', '--offline', '--format-version', '1']
  if (!isPresent('Rust with edition 2024', 'cargo', probe, options)) return {}
  run('Rust programs', 'cargo', ['build', '--locked', '--quiet'], options)
  return { HEADGATE_TEST_RUST: join(target, 'debug', `headgate-clients${suffix}`) }
}

/** As with PostgreSQL: a missing tool is an error in CI, and skipped elsewhere. */
function isPresent(name, command, args, options = {}) {
  if (spawnSync(command, args, { ...options, stdio: 'ignore' }).status === 0) return true
  process.stderr.write(`${name} is missing or too old: install it.\n`)
  if (process.env.CI) process.exit(1)
  process.stderr.write('Not in CI: the long tests continue without it.\n')
  return false
}

function run(name, command, args, options = {}) {
  process.stderr.write(`Installing the ${name}...\n`)
  const { status } = spawnSync(command, args, { ...options, stdio: ['ignore', 2, 2] })
  if (status === 0) return
  process.stderr.write(`The ${name} could not be installed; see the lines above.\n`)
  process.exit(1)
}

function isSame(file, copy) {
  return existsSync(copy) && readFileSync(file, 'utf8') === readFileSync(copy, 'utf8')
}
