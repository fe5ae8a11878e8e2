// A TypeScript gateway to compare with, installed into a separate folder: it is not a dependency.
import { resolve } from 'node:path'
import { findFreePort } from '../processes.ts'

const folder = resolve('bench/.peers/portkey')
const version = '1.15.2'
/** The version ranges it declares include releases it does not start with. */
const overrides = { '@hono/node-server': '1.13.5', hono: '4.9.7', '@hono/node-ws': '1.2.0' }
const installTimeoutMs = 120_000

/** Null on success, otherwise the error. */
export async function installPortkey(): Promise<string | null> {
  const [node, npm] = [Bun.which('node'), Bun.which('npm')]
  if (!node || !npm) return 'node and npm are not on the PATH'
  const manifest = { private: true, dependencies: { '@portkey-ai/gateway': version }, overrides }
  const declared = await Bun.file(`${folder}/installed.json`)
    .json()
    .catch(() => null)
  if (Bun.deepEquals(declared, manifest)) return null
  process.stderr.write(`Installing @portkey-ai/gateway ${version} into bench/.peers...\n`)
  await Bun.write(`${folder}/package.json`, JSON.stringify(manifest))
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const child = Bun.spawn([npm, ...args], {
    cwd: folder,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    timeout: installTimeoutMs,
  })
  const errorText = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) return errorText.trim().split('\n')[0] || 'npm install did not end in time'
  await Bun.write(`${folder}/installed.json`, JSON.stringify(manifest))
  return null
}

export async function portkeyCommand(): Promise<{ command: string[]; port: number }> {
  const port = await findFreePort()
  const shim = resolve('bench/children/loopback.mjs')
  const entry = `${folder}/node_modules/@portkey-ai/gateway/build/start-server.js`
  const command = [Bun.which('node') ?? 'node', '--import', shim, entry, '--headless', `--port=${port}`]
  return { command, port }
}
