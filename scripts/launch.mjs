#!/usr/bin/env node
// Starts Headgate: installs what is missing, then runs the command line under Bun.
import { constants } from 'node:os'
import { startBun } from './bun.mjs'
import { isConsoleBuilt, startConsoleBuild } from './console.mjs'
import { ensureInstalled } from './install.mjs'

const [first, second, ...rest] = process.argv.slice(2)
const isScript = first === '--script'
ensureInstalled({ dev: isScript })

if (first === 'serve' && !isConsoleBuilt()) startConsoleBuild()
const child = isScript ? startBun(second, rest) : startBun('src/cli.ts', process.argv.slice(2))

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
