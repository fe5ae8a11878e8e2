// The client libraries of other languages for the long run, and a tool that reads openapi.json. What is downloaded comes from the registries of the
// languages, in the versions their lockfiles name, into folders that git ignores.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './install.mjs'

const folder = join(root, 'test', 'long')
const isWindows = process.platform === 'win32'
const suffix = isWindows ? '.exe' : ''

/** Each gives the environment that tells the tests where its programs are; nothing when its toolchain is missing. */
export const languages = { python: installPython, go: buildGo, rust: buildRust, openapi: installSchemathesis }

function installPython() {
  const interpreter = pythonWith('python')
  return interpreter ? { HEADGATE_TEST_PYTHON: interpreter } : {}
}

/** Its requests are random, and some name addresses to connect to: it runs where there is only a loopback interface. */
function installSchemathesis() {
  const probe = ['--map-root-user', '--net', 'ip', 'link', 'set', 'lo', 'up']
  if (!isPresent('A network namespace of its own (Linux, unshare, ip)', 'unshare', probe)) return {}
  const interpreter = pythonWith('openapi')
  return interpreter ? { HEADGATE_TEST_SCHEMATHESIS: interpreter } : {}
}

/** An interpreter with the packages that `requirements.txt` in the folder of that name lists. */
function pythonWith(name) {
  const python = isWindows ? 'python' : 'python3'
  const probe = 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))'
  if (!isPresent('Python 3.10', python, ['-c', probe])) return undefined
  const home = join(folder, `.${name}`)
  const interpreter = join(home, isWindows ? 'Scripts' : 'bin', `python${suffix}`)
  const wanted = join(folder, name, 'requirements.txt')
  const installed = join(home, 'requirements.txt')
  if (!isSame(wanted, installed)) {
    rmSync(home, { recursive: true, force: true })
    run('Python environment', python, ['-m', 'venv', home])
    const quiet = ['--quiet', '--no-input', '--disable-pip-version-check']
    // Only wheels, so that no script of a package is run.
    const exact = ['--only-binary', ':all:', '--no-deps', '-r', wanted]
    run('Python packages', interpreter, ['-m', 'pip', 'install', ...quiet, ...exact])
    copyFileSync(wanted, installed)
  }
  return interpreter
}

function buildGo() {
  const options = { cwd: join(folder, 'go'), env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '' } }
  if (!isPresent('Go of the version in test/long/go/go.mod', 'go', ['list', '-m'], options)) return {}
  const output = join(folder, '.go')
  // With its slash the name is a folder, which is made.
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

/** As with PostgreSQL: what is missing is an error in CI, and left out elsewhere. */
function isPresent(name, command, args, options = {}) {
  if (spawnSync(command, args, { ...options, stdio: 'ignore' }).status === 0) return true
  process.stderr.write(`${name} is missing or too old: install it.\n`)
  if (process.env.CI) process.exit(1)
  process.stderr.write('Outside CI the long tests go on without it.\n')
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
