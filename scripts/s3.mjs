// A private S3-compatible server for the tests: `rclone serve s3` on a free loopback port, from a package of PyPI.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from './install.mjs'
import { findFreePort } from './postgres.mjs'
import { executableSuffix, preparePython } from './toolchains.mjs'

const bucket = 'headgate-test'
const credential = { id: 'test-key', secret: 'test-secret' }
const startMs = 30_000

/**
 * Starts a server; returns its URL, with the credential and the bucket, and how to stop it, or null if it is not
 * available.
 */
export async function startS3() {
  const interpreter = await preparePython(join(root, 'test', 'support'), 's3-server')
  if (!interpreter) return null
  const folder = mkdtempSync(join(tmpdir(), 'headgate-s3-'))
  mkdirSync(join(folder, bucket))
  const port = await findFreePort()
  const { id, secret } = credential
  const server = spawn(
    join(dirname(interpreter), `rclone${executableSuffix}`),
    ['serve', 's3', folder, '--addr', `127.0.0.1:${port}`, '--auth-key', `${id},${secret}`, '--config', ''],
    { stdio: 'ignore' },
  )
  const stop = () => {
    server.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  if (await isListening(port, server))
    return { url: `http://${id}:${secret}@127.0.0.1:${port}/${bucket}`, stop }
  stop()
  return null
}

/** Waits until the server accepts connections; false if it ends first. */
export async function isListening(port, server) {
  const deadline = performance.now() + startMs
  while (performance.now() < deadline && server.exitCode === null) {
    if (await canConnect(port)) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}

function canConnect(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
