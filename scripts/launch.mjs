#!/usr/bin/env node
// Starts Headgate: installs what is missing, then runs the command line under Bun.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { join } from 'node:path'
import { bunBinary, ensureInstalled, root } from './install.mjs'

const [first, second, ...rest] = process.argv.slice(2)
const isScript = first === '--script'
ensureInstalled({ dev: isScript })

const target = isScript ? [join(root, second), ...rest] : [join(root, 'src/cli.ts'), ...process.argv.slice(2)]
const child = spawn(bunBinary(), target, {
  // The channel closes with this process, however it dies: the server then stops too.
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  // Without this, Bun queues outbound requests past 256; it is read when the process starts.
  env: { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535', ...process.env },
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  process.stderr.write(`headgate: Bun cannot be started: ${error.message}\n`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
