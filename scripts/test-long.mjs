// The long tests: command-line agents, each with a small task, the client libraries of other languages, ClickHouse,
// files of 1 GiB, the executables of all platforms, every screen of the console for every role, and the console with
// 5 million generations. The programs are large, so they are installed only here, into separate folders.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepareChromium } from './chromium.mjs'
import { ensureInstalled, findBunBinary, root } from './install.mjs'
import { languages } from './long-clients.mjs'
import { executableName, findOwnTarget } from './packaging/targets.mjs'
import { startPostgres } from './postgres.mjs'
import { startS3 } from './s3.mjs'

const agents = { '@anthropic-ai/claude-code': '2.1.325', '@openai/codex': '0.166.0' }
const folder = join(root, 'test', 'long', '.agents')
const parts = {
  agents: installAgents,
  ...languages,
  files: () => ({ HEADGATE_TEST_FILES: '1' }),
  package: makePackages,
  console: async () => ({ HEADGATE_TEST_CONSOLE: '1', ...(await prepareBrowser()) }),
  scale: async () => ({
    HEADGATE_TEST_SCALE: process.env.HEADGATE_TEST_SCALE ?? '1',
    ...(await prepareBrowser()),
  }),
}

const selected = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts)
const unknown = selected.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0) {
  process.stderr.write(`Unknown: ${unknown.join(', ')}. Use ${Object.keys(parts).join(', ')}.\n`)
  process.exit(1)
}

ensureInstalled({ dev: true })
ensureInstalled({ dev: true, folder: 'test/clients' })
const programPaths = {}
for (const name of selected) Object.assign(programPaths, await parts[name]())

const url = process.env.TEST_DATABASE_URL
const postgres = url ? { url, stop: () => undefined } : await startPostgres()
if (!postgres) {
  process.stderr.write('PostgreSQL is missing: install it, or set TEST_DATABASE_URL.\n')
  if (process.env.CI) process.exit(1)
  process.stderr.write('Not in CI: the tests continue with SQLite only.\n')
}

const s3 = selected.includes('files') ? await startS3() : null
if (selected.includes('files') && !s3) {
  process.stderr.write('The S3 server of the tests could not be started.\n')
  if (process.env.CI) {
    postgres?.stop()
    process.exit(1)
  }
  process.stderr.write('Not in CI: the tests continue with files on disk only.\n')
}

// npm test runs these without the engine, or with one that is installed.
const engineTests = selected.includes('clickhouse')
  ? ['./test/analytics-stores.test.ts', './test/clickhouse-export.test.ts']
  : []
const testFiles = ['./test/long', ...engineTests]
const child = spawn(findBunBinary(), ['--no-env-file', 'test', '--timeout', '120000', ...testFiles], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    ...programPaths,
    ...(postgres && { TEST_DATABASE_URL: postgres.url }),
    ...(s3 && { TEST_S3_URL: s3.url }),
  },
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => {
  postgres?.stop()
  s3?.stop()
  process.exit(code ?? 130)
})

/** The executables of all platforms: 350 MB to download, 1.1 GB on disk. */
function makePackages() {
  const output = join(root, '.cache', 'test-package')
  const { status } = spawnSync(process.execPath, ['scripts/package.mjs', '--output', output], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0) process.exit(1)
  const executable = executableName(findOwnTarget(findBunBinary()))
  return { HEADGATE_TEST_PACKAGE: output, HEADGATE_TEST_EXECUTABLE: executable }
}

/** The console as it is built, and the browser to open it. */
async function prepareBrowser() {
  const chromium = await prepareChromium()
  if (!chromium) {
    process.stderr.write('Chromium is missing: install it, or set TEST_CHROMIUM.\n')
    if (process.env.CI) process.exit(1)
    return {}
  }
  spawnSync(process.execPath, ['scripts/console.mjs'], { cwd: root, stdio: 'inherit' })
  return { TEST_CHROMIUM: chromium }
}

/** Install scripts do not run: the wrappers find the programs in the packages of the platform. */
function installAgents() {
  const environment = { HEADGATE_TEST_AGENTS: join(folder, 'node_modules') }
  if (Object.entries(agents).every(([name, version]) => installedVersion(name) === version))
    return environment
  mkdirSync(folder, { recursive: true })
  process.stderr.write('Installing the agents (about 800 MB)...\n')
  const packages = Object.entries(agents).map(([name, version]) => `${name}@${version}`)
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const unsaved = ['--no-save', '--no-package-lock']
  const result = spawnSync('npm', ['install', '--prefix', folder, ...quiet, ...unsaved, ...packages], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (result.status !== 0) {
    process.stderr.write('The agents could not be installed; see the lines above.\n')
    process.exit(1)
  }
  return environment
}

function installedVersion(name) {
  const file = join(folder, 'node_modules', name, 'package.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : undefined
}
