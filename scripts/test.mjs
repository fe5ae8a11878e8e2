// `npm test`: installs dependencies, checks types, lint, format and shape, and runs the tests on both databases.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { prepareBubblewrap } from './bubblewrap.mjs'
import { prepareChromium } from './chromium.mjs'
import { ensureInstalled, findBunBinary, root } from './install.mjs'
import { startPostgres } from './postgres.mjs'
import { runtimeSettings } from './runtime-settings.mjs'
import { startS3 } from './s3.mjs'
import { createScratchFolder } from './scratch.mjs'
import { preparePython } from './toolchains.mjs'

const args = process.argv.slice(2)
const checksOnly = args.includes('--checks-only')
const updatesTimings = args.includes('--update-timings')
const paths = args.filter((argument) => !argument.startsWith('--'))

/** More would delay the tests that measure how long the event loop is held. */
const workers = Math.min(availableParallelism(), 4)

/** What has to be ended with the run, the last first. */
const cleanUps = []

ensureInstalled({ dev: true })
ensureInstalled({ dev: true, folder: 'test/clients' })
ensureInstalled({ dev: true, folder: 'console' })
const bun = findBunBinary()

const checks = [
  ['types', process.execPath, [tool('typescript', 'bin/tsc'), '--noEmit']],
  ['types of the API', process.execPath, ['scripts/console.mjs', '--types']],
  ['types of the console', process.execPath, [tool('typescript', 'bin/tsc'), '--noEmit', '-p', 'console']],
  ['lint and format', process.execPath, [tool('@biomejs/biome', 'bin/biome'), 'check', '.']],
  ['shape', bun, ['scripts/shape.ts']],
]

if (checksOnly) process.exit((await runChecks()) ? 0 : 1)

cleanUps.push(createScratchFolder())
const otlpPython = preparePython(join(root, 'test', 'support'), 'otlp-decoder')

const postgres = process.env.TEST_DATABASE_URL
  ? { url: process.env.TEST_DATABASE_URL, isPrivate: false, stop: () => undefined }
  : // With hundreds of short-lived databases, vacuuming would never rest.
    await startPostgres(['autovacuum=off', 'wal_level=minimal', 'max_wal_senders=0'])
if (postgres) cleanUps.push(postgres.stop)
const s3 = await startS3()
if (s3) cleanUps.push(s3.stop)
const bwrap = prepareBubblewrap()
const needsChromium = paths.length === 0 || paths.some(hasBrowserTests)
const chromium = needsChromium ? prepareChromium() : null
if (needsChromium) spawnSync(process.execPath, ['scripts/console.mjs'], { cwd: root, stdio: 'inherit' })

const faultProgram = paths.length === 0 ? compilePrograms() : null

const missing = [
  [!postgres, 'PostgreSQL: install it, or set TEST_DATABASE_URL', 'all tests use SQLite only'],
  [!s3, 'the S3 server of the tests', 'the tests of S3 storage are skipped'],
  [
    paths.length === 0 && !faultProgram,
    'the compiled gateway with kill points',
    'the tests of crashes start it from source',
  ],
  [!bwrap, 'bubblewrap, or the permission to create user namespaces', 'the tests of containers are skipped'],
  [
    needsChromium && !chromium,
    'Chromium: install it, or set TEST_CHROMIUM',
    'the tests in a browser are skipped',
  ],
].filter(([isMissing]) => isMissing)
for (const [, what, consequence] of missing)
  process.stderr.write(`Missing: ${what}. Without it, ${consequence}.\n`)
if (missing.length > 0 && process.env.CI) finish(0, 1, 0)

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    cleanUp()
    process.exit(130)
  })
}

const tests = startTests()
if (paths.length === 0 && !(await runChecks())) {
  tests.child.kill()
  finish(0, 1, 0)
}
const { passed, failed, skipped } = await tests.result
finish(passed, failed, skipped)

function cleanUp() {
  for (const end of cleanUps.reverse()) end()
}

/** Whether a path is, or is in, or contains the folder of these tests. */
function hasBrowserTests(path) {
  const [folder, given] = [join(root, 'test', 'browser', sep), join(resolve(root, path), sep)]
  return given.startsWith(folder) || folder.startsWith(given)
}

/** The server, and the server with kill points: many tests start processes, which is faster so. */
function compilePrograms() {
  const options = { cwd: root, stdio: 'inherit' }
  spawnSync(process.execPath, ['scripts/compiled.mjs'], options)
  const folder = mkdtempSync(join(root, '.cache', 'faults-'))
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, 'headgate')
  const sources = ['test/faults/program.ts', 'test/faults/kill-points.ts']
  const { status } = spawnSync(bun, ['scripts/compile.ts', program, ...sources], options)
  return status === 0 ? program : null
}

/** Next to the tests, which often wait. */
async function runChecks() {
  for (const [name, command, commandArgs] of checks) {
    process.stdout.write(`check: ${name}\n`)
    const child = spawn(command, commandArgs, { cwd: root, stdio: 'inherit' })
    const [code] = await once(child, 'close')
    if (code !== 0) return false
  }
  return true
}

/** In several processes, each of which loads a module once for all its files. */
function startTests() {
  const env = {
    ...runtimeSettings,
    ...process.env,
    ...(postgres && { TEST_DATABASE_URL: postgres.url, TEST_DATABASE_PRIVATE: String(postgres.isPrivate) }),
    ...(s3 && { TEST_S3_URL: s3.url }),
    ...(bwrap && { TEST_BWRAP: bwrap }),
    ...(chromium && { TEST_CHROMIUM: chromium }),
    ...(otlpPython && { TEST_OTLP_PYTHON: otlpPython }),
    ...(faultProgram && { TEST_FAULT_PROGRAM: faultProgram }),
  }
  const options = [`--parallel=${workers}`, '--no-isolate', '--timings=test/timings.json', '--timeout=60000']
  if (updatesTimings) options.push('--update-timings')
  const child = spawn(
    bun,
    ['--no-env-file', 'test', ...options, ...(paths.length > 0 ? paths : listFiles())],
    {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
      process.stdout.write(chunk)
    })
  }
  return { child, result: once(child, 'close').then(([code]) => countResults(code, output)) }
}

function listFiles() {
  return ['src', 'test', 'scripts', 'bench', 'console/src'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((file) => /\.test\.tsx?$/.test(file) && !file.includes('node_modules'))
      .map((file) => `./${folder}/${file.replaceAll('\\', '/')}`),
  )
}

function countResults(code, output) {
  const count = (word) => Number(output.match(new RegExp(`^\\s*(\\d+) ${word}$`, 'm'))?.[1] ?? 0)
  const [passed, failed, skipped] = [count('pass'), count('fail'), count('skip')]
  // A run that crashes, or finds no test, has failed whatever it counted.
  const broken = failed === 0 && (code !== 0 || passed === 0)
  return { passed, failed: broken ? 1 : failed, skipped }
}

function tool(name, file) {
  return join(root, 'node_modules', name, file)
}

function finish(passed, failed, skipped) {
  const tail = skipped > 0 ? `, ${skipped} skipped` : ''
  process.stdout.write(`\n${passed} passed, ${failed} failed${tail}\n`)
  cleanUp()
  process.exit(failed > 0 ? 1 : 0)
}
