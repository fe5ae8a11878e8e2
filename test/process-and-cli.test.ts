import { Database } from 'bun:sqlite'
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** On a busy machine a start takes long. */
const patienceMs = 50_000

/** The whole program as an operator runs it: a process, its output, its exit code. */
class Program {
  readonly #process: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  readonly #collecting: Promise<void>[]
  output = ''

  constructor(command: string[], environment: Record<string, string>) {
    this.#process = Bun.spawn(command, {
      // Not the project's own folder, whose .env may name a real database.
      cwd: tmpdir(),
      env: {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        PORT: '0',
        LOG_LEVEL: 'info',
        ...environment,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    this.#collecting = [this.#process.stdout, this.#process.stderr].map((stream) => this.#collect(stream))
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    for await (const chunk of stream) this.output += decoder.decode(chunk, { stream: true })
  }

  /** Waits until the output matches. */
  async says(pattern: RegExp): Promise<RegExpMatchArray> {
    for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await Bun.sleep(10)) {
      const match = this.output.match(pattern)
      if (match) return match
      if (this.#process.exitCode !== null) break
    }
    throw new Error(`no output matched ${pattern}: ${this.output}`)
  }

  async url(): Promise<string> {
    return (await this.says(/Base URL: (\S+)\/api\/v1/))[1] ?? ''
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  async exit(): Promise<number> {
    return this.#process.exited
  }

  /** Also waits for the rest of its output. */
  async end(): Promise<number> {
    await Promise.all(this.#collecting)
    return this.exit()
  }
}

const running: Program[] = []
const folders: string[] = []

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'headgate-process-'))
  folders.push(path)
  return path
}

const root = process.cwd()
/** Otherwise every stop would wait for balancers. */
const noDelay = 'limits: { drain_delay: 0 }\n'
const defaultFolder = mkdtempSync(join(tmpdir(), 'headgate-process-'))
const defaultSettings = join(defaultFolder, 'headgate.yaml')
writeFileSync(defaultSettings, noDelay)
afterAll(() => rmSync(defaultFolder, { recursive: true, force: true }))

const launch = (...args: string[]) => ['node', join(root, 'scripts/launch.mjs'), ...args]

function start(
  dataDir: string,
  environment: Record<string, string> = {},
  command = launch('serve'),
): Program {
  const program = new Program(command, {
    HEADGATE_DATA_DIR: dataDir,
    HEADGATE_CONFIG: defaultSettings,
    ...environment,
  })
  running.push(program)
  return program
}

afterEach(async () => {
  for (const program of running.splice(0)) {
    program.signal('SIGTERM')
    await program.exit()
  }
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

describe('the process', () => {
  test('the first start prints working keys once, a curl and a sign-in link; the second prints none', async () => {
    const dataDir = folder()
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
    first.signal('SIGTERM')
    expect(await first.exit()).toBe(0)

    const second = start(dataDir)
    const secondUrl = await second.url()
    expect(second.output).not.toContain('sk-hg-v1-')
    expect((await keyInfo(secondUrl, inference)).status).toBe(200)
    second.signal('SIGINT')
    expect(await second.exit()).toBe(0)
  })

  test('what few requests need is loaded when it is first used', async () => {
    const preload = join(import.meta.dir, 'support/list-packages.ts')
    const program = start(folder(), {}, [
      process.execPath,
      '--preload',
      preload,
      join(root, 'src/cli.ts'),
      'serve',
    ])
    const listModules = async () => {
      program.output = ''
      program.signal('SIGUSR2')
      const [, packages = '', areas = ''] = await program.says(/packages: (.*); areas: (.*);/)
      return { packages: packages.split(' '), areas: areas.split(' ') }
    }
    const url = await program.url()
    const key = (await program.says(/Inference key +(sk-hg-v1-[0-9a-f]{64})/))[1] ?? ''
    const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] })
    const headers = { authorization: `Bearer ${key}` }
    const served = await fetch(`${url}/api/v1/chat/completions`, { method: 'POST', headers, body })
    expect(served.status).toBe(200)
    expect((await fetch(`${url}/signin`)).status).toBe(401)

    const { packages: idle, areas } = await listModules()
    expect(areas).toEqual(['chat'])
    expect(idle).toContain('zod')
    for (const name of [
      '@modelcontextprotocol/client',
      '@simplewebauthn/server',
      'jose',
      'nodemailer',
      'openid-client',
    ])
      expect(idle).not.toContain(name)

    const options = {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
      body: '{}',
    }
    expect((await fetch(`${url}/signin/passkey/options`, options)).status).toBe(200)
    expect((await listModules()).packages).toContain('@simplewebauthn/server')
  })

  test.if(process.platform === 'linux')(
    'an idle server has one thread besides its own: the journal',
    async () => {
      const dataDir = folder()
      const program = start(dataDir)
      const url = await program.url()
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      const pid = readFileSync(join(dataDir, 'headgate.pid'), 'utf8').trim()
      const threads = readdirSync(`/proc/${pid}/task`).map((id) =>
        readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim(),
      )
      expect(threads.filter((name) => name === 'Worker')).toHaveLength(1)
    },
  )

  test('npm start passes signals on and ends with 0, leaving nothing running', async () => {
    const dataDir = folder()
    const settings = join(dataDir, 'settings.yaml')
    writeFileSync(settings, noDelay)
    const explicit = { DATABASE_URL: `sqlite:${join(dataDir, 'x.sqlite')}`, HEADGATE_CONFIG: settings }
    const program = start(dataDir, explicit, ['npm', '--prefix', root, 'start'])
    await program.url()
    const pid = Number(readFileSync(join(dataDir, 'headgate.pid'), 'utf8'))
    program.signal('SIGTERM')
    expect(await program.exit()).toBe(0)
    expect(() => process.kill(pid, 0)).toThrow()
  })

  test('kill -9 of the launcher stops the server: the next start finds port and data unlocked', async () => {
    const dataDir = folder()
    const program = start(dataDir)
    await program.url()
    const pid = Number(readFileSync(join(dataDir, 'headgate.pid'), 'utf8'))
    program.signal('SIGKILL')
    await program.exit()
    await gone(pid)
    expect(await start(dataDir).url()).toStartWith('http://127.0.0.1:')
  })

  test('npm scripts need no POSIX shell: on Windows "exec" is exec.cmd', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(Object.values(scripts).filter((line) => /[;&|$`'*]/.test(String(line)))).toEqual([])
    expect(readFileSync(join(root, 'exec.cmd'), 'utf8')).toEndWith('\r\n@%*\r\n')
  })

  test('a damaged database is reported in one sentence without a stack', async () => {
    const dataDir = folder()
    writeFileSync(
      join(dataDir, 'headgate.sqlite'),
      'not a database, but long enough to look like one'.repeat(99),
    )
    const program = start(dataDir)
    expect(await program.end()).toBe(1)
    expect(program.output.trim().split('\n')).toHaveLength(1)
    expect(program.output).toStartWith('headgate: Cannot open the database')
  })

  test('S10 a secret key file that others may read causes a warning', async () => {
    const dataDir = folder()
    const file = join(dataDir, 'secret.key')
    writeFileSync(file, 'Tn47vXw2LbQpYd81Rm5cHs36k9zQ0uJe')
    chmodSync(file, 0o644)
    const program = start(dataDir)
    await program.url()
    expect(program.output).toContain('secret.key is readable by other users')
  })

  test('S10 a data directory locked by another process is an error that names its pid', async () => {
    const dataDir = folder()
    const holder = start(dataDir)
    await holder.url()
    const second = start(dataDir)
    await second.says(/is in use by another Headgate process \(pid \d+\)/)
    expect(await second.exit()).toBe(1)
    process.kill(Number(readFileSync(join(dataDir, 'headgate.pid'), 'utf8')), 'SIGKILL')
    expect(await holder.exit()).toBe(137)
    // The lock dies with its holder: a crash needs no cleaning up.
    expect(await start(dataDir).url()).toStartWith('http://127.0.0.1:')
  })

  test('S10 a SQLite file in use by another process is an error, wherever the data directories are', async () => {
    const environment = { DATABASE_URL: `sqlite:${join(folder(), 'shared.sqlite')}` }
    const first = start(folder(), environment)
    await first.url()
    const second = start(folder(), environment)
    expect(await second.end()).toBe(1)
    expect(second.output).toContain('is in use by another Headgate process')
  })

  test('HEADGATE_MANAGEMENT_KEY sets the management key; a new value replaces the old one', async () => {
    const dataDir = folder()
    const first = start(dataDir, { HEADGATE_MANAGEMENT_KEY: 'my-own-management-key-1' })
    const url = await first.url()
    expect(first.output).not.toContain('my-own-management-key-1')
    expect((await keyInfo(url, 'my-own-management-key-1')).body.data.is_management_key).toBe(true)
    first.signal('SIGTERM')
    await first.exit()
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

  test('a first start that cannot listen creates nothing: the next start shows the keys', async () => {
    const dataDir = folder()
    const attempt = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const rejected = start(dataDir, { PORT: String(attempt.port) })
    await rejected.says(/Cannot listen on 127\.0\.0\.1:\d+/)
    expect(await rejected.exit()).toBe(1)
    await attempt.stop(true)
    const program = start(dataDir)
    await program.says(/Management key +sk-hg-v1-[0-9a-f]{64}/)
  })

  test.each([
    [{ DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/none' }, 'Cannot open the database'],
    [{ HEADGATE_CONFIG: tmpdir() }, 'Cannot read the settings file'],
    [{ HEADGATE_MANAGEMENT_KEY: 'headgate-management-key' }, 'HEADGATE_MANAGEMENT_KEY is too easy to guess'],
  ])('S10 S12 %j is one sentence without a stack or a secret', async (environment, sentence) => {
    const program = start(folder(), environment as Record<string, string>)
    expect(await program.end()).toBe(1)
    expect(program.output).toContain(`headgate: ${sentence}`)
    expect(program.output.trim().split('\n')).toHaveLength(1)
    expect(program.output).not.toContain('hunter2')
  })

  test('S10 containers that this machine cannot run prevent the start, before keys are shown', async () => {
    const dataDir = folder()
    const settings = join(dataDir, 'headgate.yaml')
    writeFileSync(settings, 'containers: { engine: bubblewrap, bwrap: no-such-program }')
    const program = start(dataDir, { HEADGATE_CONFIG: settings })
    expect(await program.end()).toBe(1)
    expect(program.output).toStartWith('headgate: containers.engine: bubblewrap cannot be used: ')
    expect(program.output.trim().split('\n')).toHaveLength(1)
  })

  test('an invalid setting stops the start with one sentence and no stack', async () => {
    const program = start(folder(), { PORT: 'eighty' })
    expect(await program.end()).toBe(1)
    expect(program.output.trim()).toBe('headgate: PORT must be an integer from 0 to 65535, not "eighty".')
  })

  test('a secret key that does not match the data is rejected', async () => {
    const dataDir = folder()
    const first = start(dataDir, { HEADGATE_SECRET_KEY: 'the first secret key'.replaceAll(' ', '-') })
    await first.url()
    first.signal('SIGTERM')
    await first.exit()
    const second = start(dataDir, { HEADGATE_SECRET_KEY: 'another-secret-key-of-length' })
    await second.says(/The secret key does not match this database/)
    expect(await second.exit()).toBe(1)
  })

  test('SIGHUP reloads headgate.yaml; an error names the line and the old settings stay', async () => {
    const dataDir = folder()
    const file = join(dataDir, 'my.yaml')
    const model = (id: string) => `${noDelay.trimEnd()}
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9001/v1", dialects: [chat] }
models:
  - id: ${id}
    name: Mine
    endpoints: [{ provider: local, upstream_model: m, pricing: { prompt: "0.000001", completion: "0.000002" } }]
`
    writeFileSync(file, model('acme/one'))
    const program = start(dataDir, {
      HEADGATE_CONFIG: file,
      HEADGATE_MANAGEMENT_KEY: 'my-own-management-key',
    })
    const url = await program.url()
    const status = async (id: string) => {
      const headers = { authorization: 'Bearer my-own-management-key' }
      return (await fetch(`${url}/api/v1/model/${id}`, { headers })).status
    }
    expect(await status('acme/one')).toBe(200)
    writeFileSync(file, model('acme/two'))
    program.signal('SIGHUP')
    await program.says(/reloaded/)
    expect([await status('acme/one'), await status('acme/two')]).toEqual([404, 200])
    writeFileSync(file, `${model('acme/three')}\nbogus: 1\n`)
    program.signal('SIGHUP')
    await program.says(/my\.yaml, line 9: bogus/)
    expect(await status('acme/two')).toBe(200)
  })

  test('a request in flight completes before the process stops', async () => {
    const program = start(folder(), { HEADGATE_MANAGEMENT_KEY: 'my-own-management-key' })
    const url = await program.url()
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const pending = fetch(`${url}/api/v1/keys`, {
      method: 'POST',
      headers: { authorization: 'Bearer my-own-management-key', 'content-type': 'application/json' },
      body: readable,
    })
    const writer = writable.getWriter()
    await writer.write(new TextEncoder().encode('{"name":'))
    await Bun.sleep(200)
    program.signal('SIGTERM')
    await program.says(/draining/)
    await writer.write(new TextEncoder().encode('"late"}'))
    await writer.close()
    expect((await pending).status).toBe(201)
    expect(await program.exit()).toBe(0)
  })
})

describe('npm run dev', () => {
  test('starts the server again when headgate.yaml changes, also after a mistake in it', async () => {
    const dataDir = folder()
    const settings = join(dataDir, 'headgate.yaml')
    writeFileSync(settings, noDelay)
    const dev = start(dataDir, { HEADGATE_CONFIG: settings }, ['node', join(root, 'scripts/dev.mjs')])
    await dev.url()
    writeFileSync(settings, 'bogus: 1\n')
    await dev.says(/headgate\.yaml, line 1: bogus[\s\S]*dev: the server has ended/)
    writeFileSync(settings, `${noDelay}public_url: https://gate.example.com\n`)
    await dev.says(/Base URL: https:\/\/gate\.example\.com/)
    const pid = Number(readFileSync(join(dataDir, 'headgate.pid'), 'utf8'))
    dev.signal('SIGTERM')
    expect(await dev.exit()).toBe(0)
    await gone(pid)
  })
})

describe('a stop that cuts off a stream', () => {
  const ends: [string, string, object, RegExp][] = [
    [
      'chat',
      'chat/completions',
      {},
      /"code":503.*"finish_reason":"error"|"finish_reason":"error".*"code":503/,
    ],
    ['messages', 'messages', { max_tokens: 5000 }, /event: error\ndata: .*shutting down/],
  ]
  test.each(ends)(
    'sends an error event to its %s client, and settles the request',
    async (_, path, more, end) => {
      const dataDir = folder()
      const settings = join(dataDir, 'headgate.yaml')
      writeFileSync(settings, 'limits: { drain: 0.3, drain_delay: 0 }\n')
      const program = start(dataDir, { HEADGATE_CONFIG: settings })
      const url = await program.url()
      const key = (await program.says(/Inference key +(\S+)/))[1] ?? ''
      const messages = [{ role: 'user', content: 'sandbox:length=5000 sandbox:slow=50' }]
      const response = await fetch(`${url}/api/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'sandbox/echo', stream: true, messages, ...more }),
      })
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      let text = (await reader?.read())?.value ?? ''
      program.signal('SIGTERM')
      for (;;) {
        const chunk = await reader?.read()
        if (!chunk || chunk.done) break
        text += chunk.value
      }
      expect(text).toMatch(end)
      expect(await program.exit()).toBe(0)
      const second = start(dataDir)
      const record = await fetch(
        `${await second.url()}/api/v1/generation?id=${response.headers.get('x-generation-id')}`,
        {
          headers: { authorization: `Bearer ${key}` },
        },
      )
      const { data } = (await record.json()) as { data: Record<string, unknown> }
      expect(data.total_cost).toBeGreaterThan(0)
    },
  )
})

describe('the command line', () => {
  const run = async (dataDir: string, args: string[], environment: Record<string, string> = {}) => {
    const program = start(dataDir, environment, launch(...args))
    const code = await program.end()
    return { code, output: program.output.trim() }
  }

  test('keys, orgs, credits and signin work next to a running server', async () => {
    const dataDir = folder()
    const server = start(dataDir)
    const url = await server.url()
    const made = await run(dataDir, ['--json', 'keys', 'create', '--name', 'ops', '--management'])
    const { key, hash } = JSON.parse(made.output)
    expect((await keyInfo(url, key)).body.data.is_management_key).toBe(true)
    const listed = await run(dataDir, ['--json', 'keys', 'list'])
    expect(JSON.parse(listed.output).map((row: { hash: string }) => row.hash)).toContain(hash)
    expect(listed.output).not.toContain(key)
    expect((await run(dataDir, ['keys', 'revoke', hash.slice(0, 16)])).code).toBe(0)
    expect((await keyInfo(url, key)).status).toBe(401)
    const org = await run(dataDir, [
      '--json',
      'orgs',
      'create',
      '--name',
      'Tenant',
      '--owner-email',
      'a@b.example',
    ])
    const tenant = JSON.parse(org.output)
    expect((await keyInfo(url, tenant.management_key)).body.data.organization_id).toBe(tenant.organization_id)
    const granted = await run(dataDir, [
      '--json',
      'credits',
      'grant',
      '12.5',
      '--org',
      tenant.organization_id,
    ])
    expect(JSON.parse(granted.output)).toMatchObject({ total_credits: 12.5 })
    expect((await run(dataDir, ['signin'])).output).toMatch(/\/signin\?token=/)
  })

  test('S12 check-audit and audit export work next to a running server; a changed log ends with 1', async () => {
    const dataDir = folder()
    await start(dataDir).url()
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

  test('a management key is limited to permissions and workspaces', async () => {
    const dataDir = folder()
    const url = await start(dataDir).url()
    const limits = ['--permissions', 'keys:read,budgets:read', '--workspaces', 'default']
    const made = await run(dataDir, ['--json', 'keys', 'create', '--name', 'ops', '--management', ...limits])
    const headers = { authorization: `Bearer ${JSON.parse(made.output).key}` }
    expect((await fetch(`${url}/api/v1/keys`, { headers })).status).toBe(200)
    expect((await fetch(`${url}/api/v1/credits`, { headers })).status).toBe(403)
  })

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
    [['keys', 'create', '--name', ' '], 'It must be 1 to 200 characters'],
    [['orgs', 'create', '--name', 'x', '--owner-email', 'nobody'], 'It must be an email address.'],
    [['nonsense'], "unknown command 'nonsense'"],
  ])('%j fails with a sentence', async (args, sentence) => {
    const { code, output } = await run(folder(), args)
    expect(code).toBe(1)
    expect(output).toContain(sentence)
    expect(output).not.toContain('    at ')
  })

  test('config check names each error', async () => {
    const dataDir = folder()
    const file = join(dataDir, 'broken.yaml')
    writeFileSync(file, 'regions: { default: mars }\n')
    const broken = await run(dataDir, ['config', 'check'], { HEADGATE_CONFIG: file })
    expect(broken).toMatchObject({ code: 1 })
    expect(broken.output).toContain('broken.yaml, line 1: regions.default')
    writeFileSync(file, 'regions: { default: us }\n')
    expect((await run(dataDir, ['config', 'check'], { HEADGATE_CONFIG: file })).code).toBe(0)
  })

  test('a data directory that is not writable is reported in one sentence', async () => {
    const dataDir = folder()
    const file = join(dataDir, 'file')
    writeFileSync(file, '')
    chmodSync(file, 0o400)
    const { code, output } = await run(join(file, 'data'), ['migrate'])
    expect(code).toBe(1)
    expect(output).toStartWith('headgate: Cannot use the data directory')
  })
})
