// Runs a script of the project under the Bun that npm installed, or the compiled server.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { findBunBinary, root } from './install.mjs'
import { runtimeSettings } from './runtime-settings.mjs'

export function startBun(script, args) {
  return startProgram(findBunBinary(), [join(root, script), ...args])
}

export function startProgram(path, args) {
  const child = spawn(path, args, {
    // The channel closes with this process, however it dies: the server then stops too.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...runtimeSettings, ...process.env },
  })
  child.on('error', (error) => {
    process.stderr.write(`headgate: ${path} cannot be started: ${error.message}\n`)
    process.exit(1)
  })
  return child
}
