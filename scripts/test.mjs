// `npm test`: installs dependencies, checks types, lint, format, shape and migrations, and runs the tests on both databases.
import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, normalize } from 'node:path'
import { ensureAllInstalled, findBunBinary, root } from './install.mjs'
import { runtimeSettings } from './runtime-settings.mjs'
import { createScratchFolder } from './scratch.mjs'
import { readArguments } from './test-runner/arguments.mjs'
import { Display } from './test-runner/display.mjs'
import { ImportGraph } from './test-runner/imports.mjs'
import { readTimings, writeMixed, writeShuffled } from './test-runner/order.mjs'
import { formatTime, Progress } from './test-runner/progress.mjs'
import { findInterruption, Results } from './test-runner/results.mjs'
import { prepareServices, waitsForProcess } from './test-runner/services.mjs'

const timingsPath = join(root, 'test', 'timings.json')
const options = readOptions()
/** Many tests wait: for processes, browsers and timeouts. With two for each core all take a sixth more CPU. */
const workers = options.workers ?? Math.ceil(availableParallelism() * 1.5)

/** Functions to call at the end of the run, the last first. */
const cleanUps = []
let failedCheck = null
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))
process.on('exit', () => {
  for (const end of cleanUps.splice(0).reverse()) end()
})

await ensureAllInstalled(['', 'test/clients', 'console'])
const bun = findBunBinary()

// Several checkers, the default of the compiler, repeat each other's work: twice the CPU in all.
const tsc = [tool('typescript', 'bin/tsc'), '--noEmit', '--checkers', '1']
const changed = options.changed === undefined ? null : listChanged(options.changed)
// What a change does not reach is not checked again; a complete run must not depend on an earlier one.
const buildInfo = (name) =>
  changed || options.checksOnly
    ? ['--incremental', '--tsBuildInfoFile', join(root, '.cache', `${name}.tsbuildinfo`)]
    : []
const checks = listChecks()

if (options.checksOnly) process.exit((await runChecks()) ? 0 : 1)

const graph = new ImportGraph(root)
const files = selectFiles()
if (files.length === 0) {
  const isDone = options.changed !== undefined && (await runChecks())
  process.stdout.write(isDone ? 'No test is affected.\n' : 'No test file matches.\n')
  process.exit(isDone ? 0 : 1)
}

cleanUps.push(createScratchFolder())
// Next to the preparation and the tests, which often wait.
const checking = options.words.length === 0 ? runChecks() : true
const variables = await prepareServices((module) => files.some((file) => graph.needs(file, module)), cleanUps)
if (!variables) process.exit(1)
const outcomes = []
for (let round = 1; round <= options.repeat; round++) {
  if (options.repeat > 1) process.stdout.write(`\nRun ${round} of ${options.repeat}\n`)
  outcomes.push(await runTests())
}
const areChecked = await checking
if (!areChecked) process.stdout.write(`\nThe check failed: ${failedCheck}. See above.\n`)
const failed = outcomes.filter((outcome) => outcome.failed > 0).length
if (options.repeat > 1)
  process.stdout.write(`\n${options.repeat - failed} of ${options.repeat} runs passed\n`)
process.stdout.write(`With the preparation and the checks: ${formatTime(performance.now())}\n`)
process.exit(areChecked && failed === 0 ? 0 : 1)

function readOptions() {
  try {
    return readArguments(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
    return process.exit(2)
  }
}

function selectFiles() {
  const { words } = options
  const candidates = changed ? graph.findAffected(changed) : graph.testFiles
  const isNamed = (file) =>
    words.length === 0 || words.some((word) => file.includes(normalize(word).replace(/^\.\//, '')))
  return candidates.filter((file) => !file.startsWith('test/long/') && isNamed(file))
}

/** Lists changed files, including those that are not committed, and new ones. */
function listChanged(ref) {
  const git = (...args) => {
    const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
    if (status === 0) return stdout.split('\n').filter(Boolean)
    process.stderr.write(stderr)
    return process.exit(2)
  }
  return [...git('diff', '--name-only', ref, '--'), ...git('ls-files', '--others', '--exclude-standard')]
}

/** Lists checks of the changed files, where they are known; the types of a file depend on others. */
function listChecks() {
  const linted = changed ? changed.filter((file) => existsSync(join(root, file))) : ['.']
  const isConsoleAffected = changed?.some((file) => /^(?:console\/|openapi\.json$)/.test(file)) ?? true
  return [
    ['types', process.execPath, [...tsc, ...buildInfo('types')]],
    isConsoleAffected && ['types of the API', process.execPath, ['scripts/console.mjs', '--types']],
    isConsoleAffected && [
      'types of the console',
      process.execPath,
      [...tsc, ...buildInfo('console-types'), '-p', 'console'],
    ],
    linted.length > 0 && [
      'lint and format',
      process.execPath,
      [tool('@biomejs/biome', 'bin/biome'), 'check', '--no-errors-on-unmatched', ...linted],
    ],
    ['shape', bun, ['scripts/shape.ts']],
    ['migrations', bun, ['scripts/migrations.ts']],
  ].filter(Boolean)
}

async function runChecks() {
  for (const [name, command, args] of checks) {
    process.stdout.write(`check: ${name}\n`)
    const child = spawn(command, args, { cwd: root, stdio: 'inherit' })
    cleanUps.push(() => child.kill())
    const [code] = await once(child, 'close')
    if (code !== 0) {
      failedCheck = name
      return false
    }
  }
  return true
}

/** Runs the tests; again what failed after an error that may have been that of another file. */
async function runTests() {
  const startedAt = Date.now()
  const first = await runFiles(files, options.updatesTimings)
  let { outcome } = first
  const interruption = findInterruption(first.results, outcome)
  if (interruption) {
    const { files: suspects, combine } = interruption
    process.stdout.write(
      `\n${interruption.first} is the first with an error outside of its tests. Running again what failed since: ${suspects.length} files\n`,
    )
    outcome = combine((await runFiles(suspects)).outcome)
  }
  printSummary(outcome, first.progress, Date.now() - startedAt)
  return outcome
}

/** Runs files in several processes, each of which loads a module once for all its files. */
async function runFiles(files, updatesTimings = false) {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-run-'))
  const log = join(folder, 'file-times')
  const progress = new Progress(log, files, readTimings(timingsPath))
  const results = new Results((text) => display.print(text))
  const display = new Display(() => progress.describe(results.failed))
  const child = spawn(
    bun,
    ['--no-env-file', 'test', ...listBunOptions(folder, updatesTimings), ...files.map((file) => `./${file}`)],
    {
      cwd: root,
      env: { ...runtimeSettings, ...process.env, ...variables, TEST_FILE_TIMES: log },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  cleanUps.push(() => child.kill())
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (chunk) => results.add(chunk))
  }
  const timer = setInterval(() => {
    for (const file of progress.read()) results.end(file)
    endProcessesOf(results.breaks, progress)
    display.update()
  }, 1000)
  const [status] = await once(child, 'close')
  clearInterval(timer)
  progress.read()
  display.clear()
  return { outcome: results.finish(status), results, progress }
}

/** Ends the processes that files left in an unknown state. Bun starts others for the next files. */
function endProcessesOf(breaks, progress) {
  for (const file of breaks) {
    const pid = progress.processOf(file)
    if (pid === undefined) continue
    breaks.delete(file)
    try {
      process.kill(pid, 'SIGKILL')
    } catch (error) {
      // It has ended by itself.
      if (error.code !== 'ESRCH') throw error
    }
  }
}

function listBunOptions(folder, updatesTimings) {
  const { seed, pattern } = options
  const list = [
    `--parallel=${workers}`,
    '--no-isolate',
    '--timeout=60000',
    '--preload=./test/support/file-times.ts',
    '--preload=./test/support/property-seed.ts',
  ]
  if (pattern !== undefined) list.push('-t', pattern)
  if (updatesTimings) return [...list, '--update-timings', `--timings=${timingsPath}`]
  const order = join(folder, 'timings.json')
  writeOrder(order, seed)
  return [...list, `--timings=${order}`]
}

function writeOrder(path, seed) {
  const waits = (file) => waitsForProcess((module) => graph.needs(file, module))
  if (seed === undefined) return writeMixed(path, files, readTimings(timingsPath), waits)
  const chosen = seed ?? randomInt(1, 2 ** 31)
  process.stdout.write(`Order of --shuffle=${chosen}\n`)
  return writeShuffled(path, files, chosen)
}

function printSummary({ passed, failed, skipped, files: failedFiles }, progress, ms) {
  const slowest = progress
    .listSlowest(10)
    .map(
      ([file, { ms, cpuMs }]) =>
        `  ${formatTime(ms).padStart(12)}  ${formatTime(cpuMs).padStart(12)}  ${file}\n`,
    )
  if (files.length > 1)
    process.stdout.write(`\nThe slowest files, and the CPU time of their process:\n${slowest.join('')}`)
  if (failedFiles.length > 0)
    process.stdout.write(`\nRepeat what failed: npm test -- ${failedFiles.join(' ')}\n`)
  const tail = skipped > 0 ? `, ${skipped} skipped` : ''
  process.stdout.write(`\n${passed} passed, ${failed} failed${tail} in ${formatTime(ms)}\n`)
}

function tool(name, file) {
  return join(root, 'node_modules', name, file)
}
