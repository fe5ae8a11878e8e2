// `npm test`: installs dependencies, checks types, lint, format and shape, then runs the tests on both databases.
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { prepareBubblewrap } from './bubblewrap.mjs'
import { generateTypes } from './console.mjs'
import { ensureInstalled, findBunBinary, root } from './install.mjs'
import { startPostgres } from './postgres.mjs'
import { startS3 } from './s3.mjs'
import { createScratchFolder } from './scratch.mjs'
import { preparePython } from './toolchains.mjs'

const args = process.argv.slice(2)
const checksOnly = args.includes('--checks-only')
const paths = args.filter((argument) => !argument.startsWith('--'))

/** What has to be ended with the run, the last first. */
const cleanUps = []

ensureInstalled({ dev: true })
ensureInstalled({ dev: true, folder: 'test/clients' })
ensureInstalled({ dev: true, folder: 'console' })
const bun = findBunBinary()

const checks = [
  ['types', process.execPath, [tool('typescript', 'bin/tsc'), '--noEmit']],
  ['types of the console', process.execPath, [tool('typescript', 'bin/tsc'), '--noEmit', '-p', 'console']],
  ['lint and format', process.execPath, [tool('@biomejs/biome', 'bin/biome'), 'check', '.']],
  ['shape', bun, ['scripts/shape.ts']],
]

if (paths.length === 0) {
  if (!generateTypes()) finish(0, 1, 0)
  for (const [name, command, commandArgs] of checks) {
    process.stdout.write(`check: ${name}\n`)
    const { status } = spawnSync(command, commandArgs, { cwd: root, stdio: 'inherit' })
    if (status !== 0) finish(0, 1, 0)
  }
}
if (checksOnly) process.exit(0)

cleanUps.push(createScratchFolder())
const otlpPython = preparePython(join(root, 'test', 'support'), 'otlp-decoder')

const postgres = process.env.TEST_DATABASE_URL
  ? { url: process.env.TEST_DATABASE_URL, isPrivate: false, stop: () => undefined }
  : await startPostgres()
if (postgres) cleanUps.push(postgres.stop)
else {
  process.stderr.write('PostgreSQL is missing: install it, or set TEST_DATABASE_URL.\n')
  if (process.env.CI) finish(0, 1, 0)
  process.stderr.write('Not in CI: the tests continue with SQLite only.\n')
}

const s3 = await startS3()
if (s3) cleanUps.push(s3.stop)
else {
  process.stderr.write('The S3 server of the tests could not be started.\n')
  if (process.env.CI) finish(0, 1, 0)
  process.stderr.write('Not in CI: the tests of S3 storage are skipped.\n')
}

const bwrap = prepareBubblewrap()
if (!bwrap) {
  process.stderr.write('bubblewrap is missing, or this machine does not permit user namespaces.\n')
  if (process.env.CI) finish(0, 1, 0)
  process.stderr.write('Not in CI: the tests of containers are skipped.\n')
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    cleanUp()
    process.exit(130)
  })
}

const groups = listGroups()
const workers = Array.from({ length: Math.min(2, groups.length) }, (_, index) => runGroups(index === 0))
const results = (await Promise.all(workers)).flat()
const total = (count) => results.reduce((sum, result) => sum + result[count], 0)
finish(total('passed'), total('failed'), total('skipped'))

function cleanUp() {
  for (const end of cleanUps.reverse()) end()
}

/** The groups of files that are run in one process each, the slowest first. */
function listGroups() {
  if (paths.length > 0) return [paths]
  const files = ['src', 'test', 'scripts', 'bench', 'console/src'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((file) => /\.test\.tsx?$/.test(file) && !file.includes('node_modules'))
      .map((file) => `./${folder}/${file.replaceAll('\\', '/')}`),
  )
  const patterns = [
    /^\.\/test\/faults\//,
    /^\.\/test\/(?:inference|plugins|tools)\//,
    /^\.\/test\/[^/]+$/,
    /^\.\/src\/(?!areas\/)/,
    /^\.\/src\/areas\//,
    /^\.\/test\/(?:guardrails|media)\//,
  ]
  const groupOf = (file) => patterns.findIndex((pattern) => pattern.test(file))
  // The last group has the files that match no pattern.
  return [...patterns.keys(), -1].map((index) => files.filter((file) => groupOf(file) === index))
}

/** Two of these share the groups: the tests that start and kill processes mostly wait for them. */
async function runGroups(isShown) {
  const results = []
  for (let files = groups.shift(); files; files = groups.shift()) results.push(await runTests(files, isShown))
  return results
}

/** The output is shown as it comes, or when the run ends. */
function runTests(files, isShown) {
  // As in the launcher: without it Bun queues outbound requests past 256.
  const env = {
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65535',
    ...process.env,
    ...(postgres && { TEST_DATABASE_URL: postgres.url, TEST_DATABASE_PRIVATE: String(postgres.isPrivate) }),
    ...(s3 && { TEST_S3_URL: s3.url }),
    ...(bwrap && { TEST_BWRAP: bwrap }),
    ...(otlpPython && { TEST_OTLP_PYTHON: otlpPython }),
  }
  const child = spawn(bun, ['--no-env-file', 'test', '--timeout', '60000', ...files], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
      if (isShown) process.stdout.write(chunk)
    })
  }
  return new Promise((resolve) => {
    child.on('close', (code) => {
      if (!isShown) process.stdout.write(output)
      const count = (word) => Number(output.match(new RegExp(`^\\s*(\\d+) ${word}$`, 'm'))?.[1] ?? 0)
      const [passed, failed, skipped] = [count('pass'), count('fail'), count('skip')]
      // A run that crashes, or finds no test, has failed whatever it counted.
      const broken = failed === 0 && (code !== 0 || passed === 0)
      resolve({ passed, failed: broken ? 1 : failed, skipped })
    })
  })
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
