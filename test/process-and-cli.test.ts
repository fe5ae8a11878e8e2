import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMigratedFile } from './support/databases.ts'
import { program } from './support/program.ts'
import { Program, patienceMs } from './support/running-program.ts'

const running: Program[] = []
const folders: string[] = []

function emptyFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'headgate-process-'))
  folders.push(path)
  return path
}

/** A data directory with the schema, since migrations take as long as the rest of a start. */
async function folder(): Promise<string> {
  const path = emptyFolder()
  await createMigratedFile(join(path, 'headgate.sqlite'))
  return path
}

const root = process.cwd()
/** Settings without which every stop would wait for balancers. */
const noDelay = 'limits: { drain_delay: 0 }\n'
const defaultFolder = mkdtempSync(join(tmpdir(), 'headgate-process-'))
const defaultSettings = join(defaultFolder, 'headgate.yaml')
writeFileSync(defaultSettings, noDelay)
afterAll(() => rmSync(defaultFolder, { recursive: true, force: true }))

/** The launcher of `npm start` and the commands of the documentation. */
const launcher = ['node', join(root, 'scripts/launch.mjs')]

function launch(dataDir: string, environment: Record<string, string>, command: string[]): Program {
  return new Program(command, {
    HEADGATE_DATA_DIR: dataDir,
    HEADGATE_CONFIG: defaultSettings,
    ...environment,
  })
}

/** Starts a program that runs until the end of the test. */
function start(
  dataDir: string,
  environment: Record<string, string> = {},
  command = [...program, 'serve'],
): Program {
  const started = launch(dataDir, environment, command)
  running.push(started)
  return started
}

async function stop(program: Program): Promise<number> {
  program.signal('SIGTERM')
  return program.exit()
}

afterEach(async () => {
  await Promise.all(running.splice(0).map(stop))
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})

/** Waits until a process has ended. */
async function gone(pid: number): Promise<void> {
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await Bun.sleep(10)) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
  }
  throw new Error(`process ${pid} goes on`)
}

async function keyInfo(url: string, key: string) {
  const response = await fetch(`${url}/api/v1/key`, { headers: { authorization: `Bearer ${key}` } })
  return { status: response.status, body: (await response.json()) as { data: Record<string, unknown> } }
}

function readPid(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'headgate.pid'), 'utf8'))
}

describe('the process', () => {
  test('a first start that cannot listen creates nothing; the next prints working keys once, a curl and a sign-in link', async () => {
    const dataDir = emptyFolder()
    const occupant = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const rejected = start(dataDir, { PORT: String(occupant.port) })
    await rejected.says(/Cannot listen on 127\.0\.0\.1:\d+/)
    expect(await rejected.exit()).toBe(1)
    await occupant.stop(true)

    const first = start(dataDir)
    const url = await first.url()
    const management = (await first.says(/Management key +(sk-hg-v1-[0-9a-f]{64})/))[1] ?? ''
    const inference = (await first.says(/Inference key +(sk-hg-v1-[0-9a-f]{64})/))[1] ?? ''
    expect((await keyInfo(url, management)).body.data.is_management_key).toBe(true)
    expect((await keyInfo(url, inference)).body.data.is_management_key).toBe(false)
    expect(first.output).toContain(`curl ${url}/api/v1/`)
    expect(first.output).toMatch(/\/signin\?token=\S{40,}/)
    const credits = await fetch(`${url}/api/v1/credits`, {
      headers: { authorization: `Bearer ${management}` },
    })
    expect(await credits.json()).toEqual({ data: { total_credits: 100, total_usage: 0 } })
    expect(statSync(join(dataDir, 'secret.key')).mode & 0o777).toBe(0o600)
    expect(await stop(first)).toBe(0)

    const second = start(dataDir)
    const secondUrl = await second.url()
    expect(second.output).not.toContain('sk-hg-v1-')
    expect((await keyInfo(secondUrl, inference)).status).toBe(200)
    second.signal('SIGINT')
    expect(await second.exit()).toBe(0)
  })

  test('npm start passes signals on and ends with 0, leaving nothing running', async () => {
    const dataDir = await folder()
    const settings = join(dataDir, 'settings.yaml')
    writeFileSync(settings, noDelay)
    const explicit = {
      DATABASE_URL: `sqlite:${join(dataDir, 'headgate.sqlite')}`,
      HEADGATE_CONFIG: settings,
    }
    const program = start(dataDir, explicit, ['npm', '--prefix', root, 'start'])
    await program.url()
    const pid = readPid(dataDir)
    expect(await stop(program)).toBe(0)
    expect(() => process.kill(pid, 0)).toThrow()
  })

  test('S10 a data directory or a SQLite file in use by another process is an error, until kill -9 of the launcher', async () => {
    const dataDir = await folder()
    const environment = { DATABASE_URL: `sqlite:${join(dataDir, 'headgate.sqlite')}` }
    const holder = start(dataDir, environment, [...launcher, 'serve'])
    await holder.url()
    const pid = readPid(dataDir)
    const [second, elsewhere] = [start(dataDir), start(emptyFolder(), environment)]
    expect([await second.end(), await elsewhere.end()]).toEqual([1, 1])
    expect(second.output).toContain(`is in use by another Headgate process (pid ${pid})`)
    expect(elsewhere.output).toMatch(/headgate\.sqlite is in use by another Headgate process/)
    holder.signal('SIGKILL')
    await holder.exit()
    await gone(pid)
    expect(await start(dataDir).url()).toStartWith('http://127.0.0.1:')
  })

  test('npm scripts need no POSIX shell: on Windows "exec" is exec.cmd', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(Object.values(scripts).filter((line) => /[;&|$`'*]/.test(String(line)))).toEqual([])
    expect(readFileSync(join(root, 'exec.cmd'), 'utf8')).toEndWith('\r\n@%*\r\n')
  })

  test('S10 a secret key file that others may read causes a warning; a crash of the server needs no cleanup', async () => {
    const dataDir = await folder()
    const file = join(dataDir, 'secret.key')
    writeFileSync(file, 'Tn47vXw2LbQpYd81Rm5cHs36k9zQ0uJe')
    chmodSync(file, 0o644)
    const crashing = start(dataDir)
    await crashing.url()
    expect(crashing.output).toContain('secret.key is readable by other users')
    crashing.signal('SIGKILL')
    expect(await crashing.exit()).toBe(137)
    chmodSync(file, 0o600)
    const next = start(dataDir)
    await next.url()
    expect(next.output).not.toContain('secret.key is readable')
  })

  test('HEADGATE_MANAGEMENT_KEY sets the management key; a new value replaces the old one; another secret key is rejected', async () => {
    const dataDir = await folder()
    const first = start(dataDir, { HEADGATE_MANAGEMENT_KEY: 'my-own-management-key-1' })
    const url = await first.url()
    expect(first.output).not.toContain('my-own-management-key-1')
    expect((await keyInfo(url, 'my-own-management-key-1')).body.data.is_management_key).toBe(true)
    await stop(first)
    const rejected = start(dataDir, { HEADGATE_SECRET_KEY: 'another-secret-key-of-length' })
    await rejected.says(/The secret key does not match this database/)
    expect(await rejected.exit()).toBe(1)
    const second = start(dataDir, { HEADGATE_MANAGEMENT_KEY: 'my-own-management-key-2' })
    const secondUrl = await second.url()
    expect((await keyInfo(secondUrl, 'my-own-management-key-1')).status).toBe(401)
    expect((await keyInfo(secondUrl, 'my-own-management-key-2')).status).toBe(200)
    const headers = { authorization: 'Bearer my-own-management-key-2' }
    const path = `${secondUrl}/api/v1/audit?target_type=management_key`
    const audit = await (await fetch(path, { headers })).text()
    const actions = JSON.parse(audit).data.map((entry: { action: string }) => entry.action)
    expect(actions.sort()).toEqual([
      'management_key.create',
      'management_key.create',
      'management_key.delete',
    ])
    expect(audit).not.toContain('my-own-management-key')
  })
})

describe('a start that fails', () => {
  const expectSentence = async (program: Program, sentence: string) => {
    expect(await program.end()).toBe(1)
    expect(program.output).toStartWith(`headgate: ${sentence}`)
    expect(program.output.trim().split('\n')).toHaveLength(1)
  }

  test('a damaged database is reported in one sentence without a stack', async () => {
    const dataDir = emptyFolder()
    writeFileSync(
      join(dataDir, 'headgate.sqlite'),
      'not a database, but long enough to look like one'.repeat(99),
    )
    await expectSentence(start(dataDir), 'Cannot open the database')
  })

  test.each([
    [{ DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/none' }, 'Cannot open the database'],
    [{ HEADGATE_CONFIG: tmpdir() }, 'Cannot read the settings file'],
    [{ HEADGATE_MANAGEMENT_KEY: 'headgate-management-key' }, 'HEADGATE_MANAGEMENT_KEY is too easy to guess'],
    [{ PORT: 'eighty' }, 'PORT must be an integer from 0 to 65535, not "eighty".\n'],
  ])('S10 S12 %j is one sentence without a stack or a secret', async (environment, sentence) => {
    const program = start(await folder(), environment as Record<string, string>)
    await expectSentence(program, sentence)
    expect(program.output).not.toContain('hunter2')
  })

  test('S10 containers that this machine cannot run prevent the start, before keys are shown', async () => {
    const dataDir = await folder()
    const settings = join(dataDir, 'headgate.yaml')
    writeFileSync(settings, 'containers: { engine: bubblewrap, bwrap: no-such-program }')
    const program = start(dataDir, { HEADGATE_CONFIG: settings })
    await expectSentence(program, 'containers.engine: bubblewrap cannot be used: ')
  })
})

describe('npm run dev', () => {
  test('starts the server again when headgate.yaml changes, also after a mistake in it', async () => {
    const dataDir = await folder()
    const settings = join(dataDir, 'headgate.yaml')
    writeFileSync(settings, noDelay)
    const dev = start(dataDir, { HEADGATE_CONFIG: settings }, ['node', join(root, 'scripts/dev.mjs')])
    await dev.url()
    writeFileSync(settings, 'bogus: 1\n')
    await dev.says(/headgate\.yaml, line 1: bogus[\s\S]*dev: the server has ended/)
    writeFileSync(settings, `${noDelay}public_url: https://gate.example.com\n`)
    await dev.says(/Base URL: https:\/\/gate\.example\.com/)
    const pid = readPid(dataDir)
    expect(await stop(dev)).toBe(0)
    await gone(pid)
  })
})

/** Sends a request for a slow stream and returns once it has begun. */
async function openStream(url: string, key: string, path: string, prompt: string, more: object = {}) {
  const messages = [{ role: 'user', content: prompt }]
  const response = await fetch(`${url}/api/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'sandbox/echo', stream: true, messages, ...more }),
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const first = (await reader?.read())?.value ?? ''
  const readRest = async () => {
    let text = first
    for (;;) {
      const chunk = await reader?.read()
      if (!chunk || chunk.done) return text
      text += chunk.value
    }
  }
  return { id: response.headers.get('x-generation-id'), readRest }
}

test('a stop that cuts off streams sends an error event to chat and messages clients, and settles their requests', async () => {
  const dataDir = await folder()
  const settings = join(dataDir, 'headgate.yaml')
  writeFileSync(settings, 'limits: { drain: 0.3, drain_delay: 0 }\n')
  const program = start(dataDir, { HEADGATE_CONFIG: settings })
  const url = await program.url()
  const key = (await program.says(/Inference key +(\S+)/))[1] ?? ''
  const prompt = 'sandbox:length=5000 sandbox:slow=50'
  const [chat, messages] = await Promise.all([
    openStream(url, key, 'chat/completions', prompt),
    openStream(url, key, 'messages', prompt, { max_tokens: 5000 }),
  ])
  program.signal('SIGTERM')
  const [chatText, messagesText] = await Promise.all([chat.readRest(), messages.readRest()])
  expect(chatText).toMatch(/"code":503.*"finish_reason":"error"|"finish_reason":"error".*"code":503/)
  expect(messagesText).toMatch(/event: error\ndata: .*shutting down/)
  expect(await program.exit()).toBe(0)
  const secondUrl = await start(dataDir).url()
  for (const { id } of [chat, messages]) {
    const headers = { authorization: `Bearer ${key}` }
    const record = await fetch(`${secondUrl}/api/v1/generation?id=${id}`, { headers })
    const { data } = (await record.json()) as { data: Record<string, unknown> }
    expect(data.total_cost).toBeGreaterThan(0)
  }
})

const run = async (dataDir: string, args: string[], environment: Record<string, string> = {}) => {
  const command = launch(dataDir, environment, [...program, ...args])
  const code = await command.end()
  return { code, output: command.output.trim() }
}

describe('a running server', () => {
  const managementKey = 'my-own-management-key'
  const headers = { authorization: `Bearer ${managementKey}` }
  let dataDir: string
  let settings: string
  let server: Program
  let url: string

  const declareModel = (id: string) => `${noDelay.trimEnd()}
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9001/v1", dialects: [chat] }
models:
  - id: ${id}
    name: Mine
    endpoints: [{ provider: local, upstream_model: m, pricing: { prompt: "0.000001", completion: "0.000002" } }]
`

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-process-'))
    await createMigratedFile(join(dataDir, 'headgate.sqlite'))
    settings = join(dataDir, 'my.yaml')
    writeFileSync(settings, declareModel('acme/one'))
    server = launch(dataDir, { HEADGATE_CONFIG: settings, HEADGATE_MANAGEMENT_KEY: managementKey }, [
      ...program,
      'serve',
    ])
    url = await server.url()
  })
  afterAll(async () => {
    await stop(server)
    rmSync(dataDir, { recursive: true, force: true })
  })

  test.if(process.platform === 'linux')('has one thread besides its own: the journal', async () => {
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const tasks = `/proc/${readPid(dataDir)}/task`
    const threads = readdirSync(tasks).map((id) => readFileSync(`${tasks}/${id}/comm`, 'utf8').trim())
    expect(threads.filter((name) => name === 'Worker')).toHaveLength(1)
  })

  test('keys, orgs, credits and signin work next to it', async () => {
    const made = await run(dataDir, ['--json', 'keys', 'create', '--name', 'ops', '--management'])
    const { key, hash } = JSON.parse(made.output)
    expect((await keyInfo(url, key)).body.data.is_management_key).toBe(true)
    const listed = await run(dataDir, ['--json', 'keys', 'list'])
    expect(JSON.parse(listed.output).map((row: { hash: string }) => row.hash)).toContain(hash)
    expect(listed.output).not.toContain(key)
    expect((await run(dataDir, ['keys', 'revoke', hash.slice(0, 16)])).code).toBe(0)
    expect((await keyInfo(url, key)).status).toBe(401)
    const owner = ['--name', 'Tenant', '--owner-email', 'a@b.example']
    const tenant = JSON.parse((await run(dataDir, ['--json', 'orgs', 'create', ...owner])).output)
    expect((await keyInfo(url, tenant.management_key)).body.data.organization_id).toBe(tenant.organization_id)
    const grant = ['credits', 'grant', '12.5', '--org', tenant.organization_id]
    const granted = await run(dataDir, ['--json', ...grant])
    expect(JSON.parse(granted.output)).toMatchObject({ total_credits: 12.5 })
    expect((await run(dataDir, ['signin'])).output).toMatch(/\/signin\?token=/)
  })

  test('a management key is limited to permissions and workspaces', async () => {
    const limits = ['--permissions', 'keys:read,budgets:read', '--workspaces', 'default']
    const made = await run(dataDir, ['--json', 'keys', 'create', '--name', 'ops', '--management', ...limits])
    const limited = { authorization: `Bearer ${JSON.parse(made.output).key}` }
    expect((await fetch(`${url}/api/v1/keys`, { headers: limited })).status).toBe(200)
    expect((await fetch(`${url}/api/v1/credits`, { headers: limited })).status).toBe(403)
  })

  test('SIGHUP reloads headgate.yaml; an error names the line and the old settings stay', async () => {
    const status = async (id: string) => (await fetch(`${url}/api/v1/model/${id}`, { headers })).status
    expect(await status('acme/one')).toBe(200)
    writeFileSync(settings, declareModel('acme/two'))
    server.signal('SIGHUP')
    await server.says(/reloaded/)
    expect([await status('acme/one'), await status('acme/two')]).toEqual([404, 200])
    writeFileSync(settings, `${declareModel('acme/three')}\nbogus: 1\n`)
    server.signal('SIGHUP')
    await server.says(/my\.yaml, line 9: bogus/)
    expect(await status('acme/two')).toBe(200)
  })

  test('S12 check-audit and audit export work next to it; a changed log ends with 1', async () => {
    const intact = await run(dataDir, ['check-audit'])
    expect(intact.code).toBe(0)
    expect(intact.output).toContain('The audit log is complete.')
    const head = /installation:\d+:[\w-]{43}/.exec(intact.output)?.[0] ?? ''
    expect((await run(dataDir, ['--json', 'check-audit', '--expect', head])).code).toBe(0)
    const file = join(dataDir, 'audit.jsonl')
    expect((await run(dataDir, ['audit', 'export', '--output', file])).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain('"organization.create"')
    const db = new Database(join(dataDir, 'headgate.sqlite'))
    db.run("update audit_entries set target_name = 'other' where action = 'organization.create'")
    const changed = await run(dataDir, ['check-audit'])
    expect(changed.code).toBe(1)
    expect(changed.output).toContain('organization.create')
    expect(changed.output).toContain('was changed')
    db.run("delete from audit_entries where chain_id = 'installation'")
    db.close()
    const removed = await run(dataDir, ['check-audit'])
    expect(removed.code).toBe(1)
    expect(removed.output).toContain('Entry 1 is missing')
  }, 60_000)

  test('a request in flight completes before the process stops', async () => {
    const created = await fetch(`${url}/api/v1/keys`, { method: 'POST', headers, body: '{"name":"x"}' })
    const { key } = (await created.json()) as { key: string }
    const stream = await openStream(url, key, 'chat/completions', 'sandbox:length=40 sandbox:slow=20')
    server.signal('SIGTERM')
    await server.says(/draining/)
    expect(await stream.readRest()).toContain('data: [DONE]')
    expect(await server.exit()).toBe(0)
  })
})

describe('the command line', () => {
  test.each([
    [
      ['keys', 'create', '--name', 'x', '--management', '--permissions', 'keys:read,keys:fly'],
      '"keys:fly" is not a permission of management keys',
    ],
    [
      ['keys', 'create', '--name', 'x', '--permissions', 'keys:read'],
      '--permissions and --workspaces are for management keys',
    ],
    [['keys', 'create'], "required option '--name <name>' not specified"],
    [['keys', 'create', '--name', 'x', '--limit', 'lots'], 'It must be an amount in USD'],
    [['keys', 'revoke', 'ffffffff'], 'There is no organization yet'],
    [['keys', 'revoke', ''], 'The hash must be 8 to 64 hexadecimal digits'],
    [['limits', 'create', '--name', 'x', '--measure', 'euros', '--amount', '1'], 'Allowed choices are usd,'],
    [['limits', 'create', '--name', 'x', '--measure', 'usd', '--amount', '-1'], 'It must be a number'],
    [['keys', 'create', '--name', ' '], 'It must be 1 to 200 characters'],
    [['orgs', 'create', '--name', 'x', '--owner-email', 'nobody'], 'It must be an email address.'],
    [['nonsense'], "unknown command 'nonsense'"],
  ])('%j fails with a sentence', async (args, sentence) => {
    const { code, output } = await run(await folder(), args)
    expect(code).toBe(1)
    expect(output).toContain(sentence)
    expect(output).not.toContain('    at ')
  })

  test('config check names each error', async () => {
    const dataDir = emptyFolder()
    const file = join(dataDir, 'broken.yaml')
    writeFileSync(file, 'regions: { default: mars }\n')
    const broken = await run(dataDir, ['config', 'check'], { HEADGATE_CONFIG: file })
    expect(broken).toMatchObject({ code: 1 })
    expect(broken.output).toContain('broken.yaml, line 1: regions.default')
    writeFileSync(file, 'regions: { default: us }\n')
    expect((await run(dataDir, ['config', 'check'], { HEADGATE_CONFIG: file })).code).toBe(0)
  })

  test('a data directory that is not writable is reported in one sentence', async () => {
    const dataDir = emptyFolder()
    const file = join(dataDir, 'file')
    writeFileSync(file, '')
    chmodSync(file, 0o400)
    const { code, output } = await run(join(file, 'data'), ['migrate'])
    expect(code).toBe(1)
    expect(output).toStartWith('headgate: Cannot use the data directory')
  })
})
