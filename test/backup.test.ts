import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { verifyArchive } from '../src/gateway/backup/verify-archive.ts'
import { rootCauseMessage } from '../src/platform/root-cause.ts'
import {
  createDatabase,
  createMigratedDatabase,
  createMigratedFile,
  type TestDatabase,
} from './support/databases.ts'
import { type DatabaseKind, databaseKinds } from './support/harness.ts'
import { program } from './support/program.ts'
import { Program } from './support/running-program.ts'
import { formatS3Settings, hasS3, newS3Options } from './support/s3.ts'

const scratch = mkdtempSync(join(tmpdir(), 'headgate-backup-'))
const databases: TestDatabase[] = []
const servers: Program[] = []
afterEach(() => stopServers())
afterAll(async () => {
  await stopServers()
  for (const database of databases) await database.drop()
  rmSync(scratch, { recursive: true, force: true })
})

async function stopServers(): Promise<void> {
  for (const server of servers) server.signal('SIGTERM')
  await Promise.all(servers.splice(0).map((server) => server.exit()))
}

/** An installation: a data directory, perhaps with a bucket, and a database. */
interface Installation {
  dataDir: string
  databaseUrl: string
  environment: Record<string, string>
}

async function install(
  kind: DatabaseKind,
  options: { isNew?: boolean; hasBucket?: boolean } = {},
): Promise<Installation> {
  const dataDir = mkdtempSync(join(scratch, 'data-'))
  const settings = `${dataDir}.yaml`
  const files = options.hasBucket && hasS3 ? formatS3Settings(newS3Options()) : ''
  writeFileSync(settings, `limits: { drain_delay: 0 }\n${files}`)
  const path = join(dataDir, 'headgate.sqlite')
  let databaseUrl = path
  if (kind === 'postgres') {
    const database = await (options.isNew ? createDatabase() : createMigratedDatabase())
    databases.push(database)
    databaseUrl = database.url
  } else if (!options.isNew) await createMigratedFile(path)
  const variables = kind === 'postgres' ? { DATABASE_URL: databaseUrl } : {}
  const environment = { HEADGATE_DATA_DIR: dataDir, HEADGATE_CONFIG: settings, ...variables }
  return { dataDir, databaseUrl, environment }
}

function start({ environment }: Installation): Program {
  const server = new Program([...program, 'serve'], environment)
  servers.push(server)
  return server
}

async function run({ environment }: Installation, args: string[], more: Record<string, string> = {}) {
  const command = new Program([...program, ...args], { ...environment, LOG_LEVEL: 'silent', ...more })
  const code = await command.end()
  return { code, output: command.output.trim() }
}

const chat = (url: string, key: string) =>
  fetch(`${url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] }),
  })

async function countGenerations({ databaseUrl }: Installation): Promise<number> {
  const query = 'select count(*) as count from generations'
  if (databaseUrl.startsWith('postgres')) {
    const sql = new SQL(databaseUrl, { max: 1 })
    const [row] = await sql.unsafe(query)
    await sql.close()
    return Number(row.count)
  }
  const db = new Database(databaseUrl)
  const { count } = db.query(query).get() as { count: number }
  db.close()
  return count
}

const otherKind = { sqlite: 'postgres', postgres: 'sqlite' } as const

describe.each(databaseKinds)('a backup on %s', (kind) => {
  const archive = join(scratch, `${kind}.tar.zst`)
  let source: Installation
  let key: string
  let fileId: string
  let completed = 0
  let sent = 0

  /** Sends requests until the command has ended. */
  async function underLoad<T>(url: string, command: Promise<T>): Promise<T> {
    let isRunning = true
    const load = async () => {
      while (isRunning) {
        sent++
        expect((await chat(url, key)).status).toBe(200)
      }
    }
    const loads = [load(), load(), load(), load()]
    const result = await command.finally(() => {
      isRunning = false
    })
    await Promise.all(loads)
    return result
  }

  beforeAll(async () => {
    source = await install(kind, { hasBucket: kind === 'sqlite' })
    const server = start(source)
    const url = await server.url()
    key = (await server.says(/Inference key +(\S+)/))[1] ?? ''
    const form = new FormData()
    form.append('file', new File(['the content of a file'], 'a.txt', { type: 'text/plain' }))
    form.append('purpose', 'user_data')
    const headers = { authorization: `Bearer ${key}` }
    const upload = await fetch(`${url}/api/v1/files`, { method: 'POST', headers, body: form })
    fileId = ((await upload.json()) as { id: string }).id
    for (; completed < 20; completed++) expect((await chat(url, key)).status).toBe(200)
    const backup = await underLoad(url, run(source, ['--json', 'backup', archive]))
    expect(backup).toMatchObject({ code: 0 })
    expect(JSON.parse(backup.output)).toMatchObject({
      has_secret_key: true,
      files: 1,
      files_without_bytes: 0,
    })
    expect(sent).toBeGreaterThan(0)
    await stopServers()
  }, 60_000)

  test('is written while requests are served, for its owner only, and has its name only when it is complete', async () => {
    expect(statSync(archive).mode & 0o777).toBe(0o600)
    expect(existsSync(`${archive}.part`)).toBe(false)
    expect((await run(source, ['restore', '--verify-only', archive])).output).toContain(
      'The archive is complete',
    )
    const again = await run(source, ['backup', archive])
    expect(again).toEqual({ code: 1, output: `headgate: The file ${archive} exists. Choose another name.` })
  })

  test('is restored into an empty installation: the ledger, the audit log, keys and files are there', async () => {
    const target = await install(kind, { isNew: true, hasBucket: kind === 'postgres' })
    const restored = await run(target, ['restore', archive])
    expect(restored).toMatchObject({ code: 0 })
    expect(restored.output).toContain('The ledger satisfies its invariants.')
    expect(restored.output).toContain('The audit log is complete.')
    const generations = await countGenerations(target)
    expect(generations).toBeGreaterThanOrEqual(completed)
    expect(generations).toBeLessThanOrEqual(completed + sent)

    const url = await start(target).url()
    expect((await chat(url, key)).status).toBe(200)
    const headers = { authorization: `Bearer ${key}` }
    const content = await fetch(`${url}/api/v1/files/${fileId}/content`, { headers })
    expect(await content.text()).toBe('the content of a file')

    const refused = await run(target, ['restore', archive])
    expect(refused.code).toBe(1)
    expect(refused.output).toContain('is not empty')
  }, 60_000)

  test.if(databaseKinds.includes(otherKind[kind]))(
    'is restored into the other database',
    async () => {
      const target = await install(otherKind[kind], { isNew: true })
      const restored = await run(target, ['restore', archive])
      expect(restored).toMatchObject({ code: 0 })
      expect(await countGenerations(target)).toBeGreaterThanOrEqual(completed)
      // Rows that are added get numbers of their own.
      const url = await start(target).url()
      expect((await chat(url, key)).status).toBe(200)
      expect((await run(target, ['keys', 'create', '--name', 'new'])).code).toBe(0)
      await stopServers()
      expect(await run(target, ['check-ledger'])).toMatchObject({ code: 0 })
    },
    60_000,
  )
})

describe('an archive', () => {
  const archive = join(scratch, 'plain.tar.zst')
  const secret = 'k3y-0f-7he-1nst4ll4tion'
  let source: Installation

  beforeAll(async () => {
    source = await install('sqlite')
    const backup = await run(source, ['backup', archive, '--without-files'], { HEADGATE_SECRET_KEY: secret })
    expect(backup.output).toContain('It does not have the secret key.')
  })

  const ignoreProgress = () => undefined

  /** Restores, and returns what is left in the data directory. */
  async function restore(path: string, environment: Record<string, string> = {}) {
    const target = await install('sqlite', { isNew: true })
    const { code, output } = await run(target, ['restore', path], environment)
    return { code, output, left: readdirSync(target.dataDir).filter((name) => !/\.(lock|pid)$/.test(name)) }
  }

  test('that is cut or damaged anywhere is rejected, and nothing is restored', async () => {
    const bytes = readFileSync(archive)
    const flipped = Buffer.from(bytes)
    const middle = bytes.length >> 1
    flipped[middle] = (flipped[middle] ?? 0) ^ 1
    const damaged = [
      bytes.subarray(0, middle),
      bytes.subarray(0, -1),
      bytes.subarray(0, -40),
      flipped,
      Buffer.from('x'),
    ]
    for (const [index, content] of damaged.entries()) {
      const path = join(scratch, `damaged-${index}`)
      writeFileSync(path, content)
      const { code, output, left } = await restore(path, { HEADGATE_SECRET_KEY: secret })
      expect({ index, code, left }).toEqual({ index, code: 1, left: [] })
      expect(output).toMatch(/^headgate: The archive .* (damaged|incomplete|cannot be read)/)
    }
  }, 60_000)

  test('with a wrong bit is rejected wherever it is, unless all that is read is the same', async () => {
    const bytes = readFileSync(archive)
    const path = join(scratch, 'wrong-bit')
    const original = await verifyArchive(archive, ignoreProgress)
    const reasons = new Set<string>()
    for (let place = 0; place < 200; place++) {
      const flipped = Buffer.from(bytes)
      const at = Math.floor((place / 200) * bytes.length)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      writeFileSync(path, flipped)
      // A few bits of the compression mean nothing: all that is read is then the same.
      const reading = verifyArchive(path, ignoreProgress).then((read) => expect(read).toEqual(original))
      reasons.add(await reading.then(() => '', rootCauseMessage))
    }
    const expected = /^$|^The archive .* (is damaged|is incomplete|cannot be read)|^The file is not a backup/
    expect([...reasons].filter((reason) => !expected.test(reason))).toEqual([])
    expect(reasons.size).toBeGreaterThan(2)
  })

  test('without the secret key needs the key of its installation', async () => {
    const missing = await restore(archive)
    expect(missing).toMatchObject({ code: 1, left: [] })
    expect(missing.output).toContain('Set HEADGATE_SECRET_KEY to that of the installation')
    const wrong = await restore(archive, { HEADGATE_SECRET_KEY: 'an0ther-k3y-7han-th4t' })
    expect(wrong).toMatchObject({ code: 1, left: [] })
    expect(wrong.output).toContain('HEADGATE_SECRET_KEY is not the key')
    expect(await restore(archive, { HEADGATE_SECRET_KEY: secret })).toMatchObject({ code: 0 })
  }, 60_000)

  test('has the last charges of a server that was killed', async () => {
    const killed = await install('sqlite')
    const server = start(killed)
    const url = await server.url()
    const key = (await server.says(/Inference key +(\S+)/))[1] ?? ''
    for (let count = 0; count < 3; count++) await (await chat(url, key)).text()
    server.signal('SIGKILL')
    await server.exit()
    const path = join(scratch, 'killed.tar.zst')
    expect(await run(killed, ['backup', path])).toMatchObject({ code: 0 })
    const target = await install('sqlite', { isNew: true })
    expect(await run(target, ['restore', path])).toMatchObject({ code: 0 })
    expect(await countGenerations(target)).toBe(3)
  }, 60_000)
})
