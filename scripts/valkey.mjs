// A private Valkey server for the tests: on a free loopback port, without files. Installed, or from a package of PyPI.
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { root } from './install.mjs'
import { findFreePort } from './postgres.mjs'
import { isListening } from './s3.mjs'
import { preparePython } from './toolchains.mjs'

/** Starts a server; returns its URL, its program and how to stop it, or null if it is not available. */
export async function startValkey() {
  const program = await findValkey()
  if (!program) return null
  const port = await findFreePort()
  const server = spawn(program, ['--port', `${port}`, '--bind', '127.0.0.1', '--save', ''], {
    stdio: 'ignore',
  })
  if (await isListening(port, server))
    return { url: `redis://127.0.0.1:${port}`, program, stop: () => server.kill('SIGKILL') }
  server.kill('SIGKILL')
  return null
}

/** The program of an installed server, or of one from PyPI; null without them. */
export async function findValkey() {
  const installed = ['valkey-server', 'redis-server'].find(
    (name) => spawnSync(name, ['--version']).status === 0,
  )
  if (installed) return installed
  const interpreter = await preparePython(join(root, 'test', 'support'), 'valkey-server')
  if (!interpreter) return null
  const environment = dirname(dirname(interpreter))
  const path = readdirSync(environment, { recursive: true }).find(
    (file) => basename(file) === 'valkey-server',
  )
  return path ? join(environment, path) : null
}
