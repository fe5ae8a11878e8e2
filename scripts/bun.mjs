// Runs a script of the project under the Bun that npm installed.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { findBunBinary, root } from './install.mjs'

export function startBun(script, args) {
  const child = spawn(findBunBinary(), [join(root, script), ...args], {
    // The channel closes with this process, however it dies: the server then stops too.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    // Without this, Bun queues outbound requests past 256; it is read when the process starts.
    env: { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535', ...process.env },
  })
  child.on('error', (error) => {
    process.stderr.write(`headgate: Bun cannot be started: ${error.message}\n`)
    process.exit(1)
  })
  return child
}
