// Installs the client libraries of other languages for the long tests, a tool that reads openapi.json, ClickHouse and an
// OpenTelemetry Collector: from the registries of the languages, in locked versions, into folders that git ignores.
import { join } from 'node:path'
import { root } from './install.mjs'
import { executableSuffix, isPresent, preparePython, run } from './toolchains.mjs'

const folder = join(root, 'test', 'long')

/** Each resolves to the environment variables with the paths of its programs, or none if its toolchain is missing. */
export const languages = {
  python: installPython,
  go: buildGo,
  rust: buildRust,
  openapi: installSchemathesis,
  clickhouse: installClickHouse,
  collector: buildCollector,
}

async function installPython() {
  const interpreter = await preparePython(folder, 'python')
  return interpreter ? { HEADGATE_TEST_PYTHON: interpreter } : {}
}

/**
 * Installs Schemathesis, if it can run with loopback only: its requests are random and may contain URLs to connect to.
 */
async function installSchemathesis() {
  const probe = ['--map-root-user', '--net', 'ip', 'link', 'set', 'lo', 'up']
  if (!isPresent('A private network namespace (Linux, unshare, ip)', 'unshare', probe)) return {}
  const interpreter = await preparePython(folder, 'openapi')
  return interpreter ? { HEADGATE_TEST_SCHEMATHESIS: interpreter } : {}
}

/** The engine of ClickHouse as a Python package: 180 MB to download, 560 MB on disk. */
async function installClickHouse() {
  const interpreter = await preparePython(folder, 'clickhouse')
  return interpreter ? { HEADGATE_TEST_CLICKHOUSE: interpreter } : {}
}

async function buildGo() {
  const output = await buildGoModule('go', 'Go programs')
  return output ? { HEADGATE_TEST_GO: output } : {}
}

async function buildCollector() {
  const output = await buildGoModule('collector', 'OpenTelemetry Collector')
  return output ? { HEADGATE_TEST_COLLECTOR: join(output, `collector${executableSuffix}`) } : {}
}

/** The folder with the programs of a module; undefined without Go. */
async function buildGoModule(module, name) {
  const options = { cwd: join(folder, module), env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '' } }
  if (!isPresent(`Go of the version in test/long/${module}/go.mod`, 'go', ['list', '-m'], options))
    return undefined
  const output = join(folder, `.${module}`)
  // A trailing slash makes it a folder, which is created.
  await run(name, 'go', ['build', '-mod=readonly', '-buildvcs=false', '-o', `${output}/`, './...'], options)
  return output
}

async function buildRust() {
  const target = join(folder, '.rust')
  const options = { cwd: join(folder, 'rust'), env: { ...process.env, CARGO_TARGET_DIR: target } }
  const probe = ['metadata', '--no-deps', '--offline', '--format-version', '1']
  if (!isPresent('Rust with edition 2024', 'cargo', probe, options)) return {}
  await run('Rust programs', 'cargo', ['build', '--locked', '--quiet'], options)
  return { HEADGATE_TEST_RUST: join(target, 'debug', `headgate-clients${executableSuffix}`) }
}
