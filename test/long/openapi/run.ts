// A server with an empty database, and schemathesis against its openapi.json. To be run where there is no network
// but the loopback interface: the requests are random, and some of them name addresses to connect to.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { raisedRates } from '../../support/raised-rates.ts'
import { type CallerKind, configFor } from './config.ts'

const [python = '', kind = '', ...options] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'headgate-openapi-'))
const settingsFile = join(folder, 'headgate.yaml')
/** Thousands of requests are sent from one address. */
writeFileSync(settingsFile, JSON.stringify({ limits: raisedRates }))
const environment = { PATH: process.env.PATH ?? '', HOME: folder, HEADGATE_DATA_DIR: join(folder, 'data') }

const server = Bun.spawn(['node', join(process.cwd(), 'scripts/launch.mjs'), 'serve'], {
  cwd: folder,
  env: { ...environment, HEADGATE_CONFIG: settingsFile, PORT: '0', LOG_LEVEL: 'error' },
  stdin: 'ignore',
  stdout: 'pipe',
  stderr: 'inherit',
})

const welcome = await readUntil(server.stdout, /signin\?token=[\w-]+\s/)
const find = (pattern: RegExp) => welcome.match(pattern)?.[1] ?? ''
const site = find(/Base URL: (\S+)\/api\/v1/)
writeFileSync(join(folder, 'schemathesis.toml'), configFor(kind as CallerKind, await prepareHeaders()))

const tool = Bun.spawn([python, '-m', 'schemathesis.cli', 'run', `${site}/openapi.json`, ...options], {
  cwd: folder,
  env: { ...environment, NO_COLOR: '1' },
  stdin: 'ignore',
  stdout: 'inherit',
  stderr: 'inherit',
})
const code = await tool.exited
server.kill('SIGTERM')
await server.exited
rmSync(folder, { recursive: true, force: true })
process.exit(code)

async function prepareHeaders(): Promise<Record<string, string>> {
  if (kind === 'inference') return { Authorization: `Bearer ${find(/Inference key\s+(\S+)/)}` }
  if (kind === 'management') return { Authorization: `Bearer ${find(/Management key\s+(\S+)/)}` }
  const body = new URLSearchParams({ token: find(/signin\?token=([\w-]+)/) })
  const signedIn = await fetch(`${site}/signin`, { method: 'POST', redirect: 'manual', body })
  const [, cookie = ''] = /(headgate_session=[\w-]+)/.exec(signedIn.headers.getSetCookie().join()) ?? []
  const session = await fetch(`${site}/api/v1/session`, { headers: { cookie } })
  const { data } = (await session.json()) as { data: { csrf_token: string } }
  return { Cookie: cookie, 'x-csrf-token': data.csrf_token }
}

async function readUntil(stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true })
    if (pattern.test(text)) return text
  }
  throw new Error(`The server did not start: ${text}`)
}
