#!/usr/bin/env node
// Starts Headgate: installs what is missing, then runs the command line under Bun.
import { constants } from 'node:os'
import { startBun, startProgram } from './bun.mjs'
import { compileLater, findCompiled } from './compiled.mjs'
import { isConsoleBuilt, startConsoleBuild } from './console.mjs'
import { ensureInstalled } from './install.mjs'

const [first, second, ...rest] = process.argv.slice(2)
const isScript = first === '--script'
ensureInstalled({ dev: isScript })

if (first === 'serve' && !isConsoleBuilt()) startConsoleBuild()
const child = isScript ? startBun(second, rest) : startCommand(process.argv.slice(2))

function startCommand(args) {
  const compiled = findCompiled()
  if (compiled) return startProgram(compiled, args)
  if (first === 'serve') compileLater()
  return startBun('src/cli.ts', args)
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
