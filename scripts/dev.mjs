// Runs the server for development: restarts it when its source or headgate.yaml changes, and rebuilds the console.
import { watch } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { startBun } from './bun.mjs'
import { isConsoleBuilt, startConsoleBuild } from './console.mjs'
import { ensureInstalled, root } from './install.mjs'

/** Editors write a file in several steps, and git many files at once. */
const settleMs = 150
/** Maximum delay of a restart by open streams: at the second signal the server stops at once. */
const drainMs = 2000

ensureInstalled({ dev: true })

const settings = resolve(process.env.HEADGATE_CONFIG || 'headgate.yaml')
let server = null
let change = null
let consoleChange = null
let isRestarting = false
let isStopping = false

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop(signal))
watch(join(root, 'src'), { recursive: true }, (_, name) => {
  if (!name?.endsWith('.test.ts')) scheduleRestart(name)
})
// The folder is watched because editors replace the file, and because it may not exist yet.
watch(dirname(settings), (_, name) => {
  if (name === basename(settings)) scheduleRestart(name)
})
watch(join(root, 'console', 'src'), { recursive: true }, () => {
  clearTimeout(consoleChange)
  consoleChange = setTimeout(buildConsole, settleMs)
})
buildConsole()
start()

function buildConsole() {
  if (!isConsoleBuilt()) startConsoleBuild()
}

function start() {
  server = startBun('src/cli.ts', ['serve'])
  server.on('exit', (code) => {
    server = null
    if (isStopping) process.exit(code ?? 1)
    if (!isRestarting) return print('the server has ended; waiting for a change to restart it')
    isRestarting = false
    start()
  })
}

function scheduleRestart(name) {
  if (change === null) print(`${name} has changed`)
  clearTimeout(change)
  change = setTimeout(restart, settleMs)
}

/** The next server is started when this one has ended, because it holds the lock of the data directory until then. */
function restart() {
  change = null
  if (isRestarting || isStopping) return
  if (server === null) return start()
  isRestarting = true
  const ending = server
  ending.kill('SIGTERM')
  const forceTimer = setTimeout(() => ending.kill('SIGTERM'), drainMs)
  ending.on('exit', () => clearTimeout(forceTimer))
}

function stop(signal) {
  isStopping = true
  if (server === null) process.exit(0)
  server.kill(signal)
}

function print(text) {
  process.stderr.write(`dev: ${text}\n`)
}
