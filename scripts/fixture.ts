// Writes databases of a version, killed with requests in flight, to test/fixtures/schemas/<last migration>, for the
// upgrade tests of later versions. Run it once for each release that changes the schema, the format of holds or the
// journal; with a folder as argument, for the version that is checked out there.
import { Database } from 'bun:sqlite'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { SQL } from 'bun'
import { type Installation, secretKey, startInstallation, waitUntil } from './fixture/installation.ts'
import { costs, startVendor } from './fixture/upstream.ts'

const checkout = resolve(process.argv[2] ?? '.')
const name =
  readdirSync(join(checkout, 'src/platform/db/migrations'))
    .flatMap((file) => /^(\d+-.+)\.ts$/.exec(file)?.[1] ?? [])
    .sort()
    .at(-1) ?? ''
/** Requests with paid tools extend their holds. */
const hasServerTools = name >= '026-generation-lines'
const folder = resolve('test/fixtures/schemas', name)

/** Replies that end when the server is killed. One that is not referenced would be closed by the garbage collector. */
const openReplies: Promise<Response | null>[] = []

interface HoldRow {
  id: string
  checkpoint: string | null
}

/** Reads the holds of a killed installation, and stores its database. */
interface Storage {
  databaseUrl: string | null
  readHolds: () => Promise<HoldRow[]>
  dump: () => Promise<void>
}

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
for (const kind of ['sqlite', 'postgres'] as const) await writeFixture(kind)
process.stdout.write(`Written to ${folder}.\n`)
process.exit(0)

async function writeFixture(kind: 'sqlite' | 'postgres'): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-fixture-'))
  const storage = kind === 'sqlite' ? openSqlite(dataDir) : await openPostgres()
  const vendor = startVendor()
  const { databaseUrl } = storage
  const options = { checkout, dataDir, databaseUrl, vendorUrl: vendor.url, hasServerTools }
  const installation = await startInstallation(options)
  try {
    const generations = [await chat(installation), await chat(installation), await chat(installation)]
    await leaveInFlight(installation, storage)
    // With SQLite it is only in the journal when the process is killed.
    generations.push(await chat(installation))
    const expected = await readExpected(installation, generations)
    await installation.kill()
    const holds = (await storage.readHolds()).filter(({ id }) => !id.includes('+')).map(toExpectedHold)
    await storage.dump()
    const text = JSON.stringify({ ...expected, holds }, null, 2)
    writeFileSync(join(folder, `${kind}.json`), `${text}\n`)
  } finally {
    await installation.kill()
    await vendor.stop()
    rmSync(dataDir, { recursive: true })
  }
}

async function chat(installation: Installation) {
  const response = await installation.chat({
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 100,
  })
  const { id, usage } = (await response.json()) as { id: string; usage: { cost: number } }
  return { id, cost: Math.round(usage.cost * 1e9), outputTokens: 5 }
}

/** Eight streams with output, one without, and, where there are server tools, a request with two paid searches. */
async function leaveInFlight({ chat: send }: Installation, { readHolds }: Storage): Promise<void> {
  const texts = [...Array.from({ length: 8 }, (_, index) => `Talk ${index}`), 'Meet me with silence']
  const bodies: object[] = texts.map((content) => ({ messages: [{ role: 'user', content }], stream: true }))
  if (hasServerTools) {
    const tools = [{ type: 'service:web_search' }]
    bodies.push({ messages: [{ role: 'user', content: 'Search' }], tools })
  }
  for (const body of bodies) openReplies.push(send({ max_tokens: 100, ...body }).catch(() => null))
  await waitUntil('the checkpoints', async () => {
    const checkpoints = (await readHolds()).flatMap(({ checkpoint }) => checkpoint ?? [])
    const searches = checkpoints.some((text) => countSearches(text) === 2) === hasServerTools
    return searches && checkpoints.length === bodies.length - 1
  })
}

function countSearches(checkpoint: string): number {
  return checkpoint.split('"name":"web_search"').length - 1
}

function toExpectedHold({ id, checkpoint }: HoldRow): { id: string; cost: number } {
  if (checkpoint === null) return { id, cost: 0 }
  return { id, cost: countSearches(checkpoint) > 0 ? costs.searches : costs.stream }
}

/** The responses of that version's API. */
async function readExpected({ manage, managementKey, inferenceKey }: Installation, generations: object[]) {
  const { data: credits } = await manage('GET', '/credits')
  const { data: keys } = (await manage('GET', '/keys')) as { data: Record<string, unknown>[] }
  const key = keys.find(({ name }) => name === 'fixture') ?? {}
  const { usage, usage_daily, usage_weekly, usage_monthly, byok_usage } = key
  return {
    now: new Date().toISOString(),
    secretKey,
    managementKey,
    inferenceKey,
    credits,
    key: { usage, usage_daily, usage_weekly, usage_monthly, byok_usage },
    generations,
  }
}

function openSqlite(dataDir: string): Storage {
  const path = join(dataDir, 'headgate.sqlite')
  const read = <T>(use: (database: Database) => T): T => {
    const database = new Database(path, { readonly: true })
    try {
      return use(database)
    } finally {
      database.close()
    }
  }
  return {
    databaseUrl: null,
    readHolds: async () =>
      read((database) => database.query<HoldRow, []>('select id, checkpoint from holds order by id').all()),
    dump: async () => {
      for (const file of readdirSync(dataDir).filter((file) => file.includes('.sqlite-ledger-')))
        copyFileSync(join(dataDir, file), join(folder, file))
      const copy = join(dataDir, 'copy.sqlite')
      read((database) => database.run('vacuum into ?', [copy]))
      writeFileSync(join(folder, 'headgate.sqlite.gz'), gzipSync(readFileSync(copy), { level: 9 }))
    },
  }
}

async function openPostgres(): Promise<Storage> {
  const server = process.env.TEST_DATABASE_URL ?? ''
  const database = `fixture_${Date.now()}`
  const admin = new SQL(server, { max: 1 })
  await admin.unsafe(`create database ${database}`)
  const url = new URL(server)
  url.pathname = `/${database}`
  const connection = new SQL(url.href, { max: 1 })
  return {
    databaseUrl: url.href,
    readHolds: async () => [...(await connection`select id, checkpoint from holds order by id`)],
    dump: async () => {
      // The node is long gone when the data is upgraded.
      await connection`delete from nodes`
      await connection.close()
      writeFileSync(join(folder, 'postgres.sql'), dumpPostgres(url.href))
      await admin.unsafe(`drop database ${database}`)
      await admin.close()
    },
  }
}

function dumpPostgres(url: string): string {
  const args = ['--inserts', '--no-owner', '--no-privileges', '--no-comments', url]
  const { stdout, stderr, status } = spawnSync('pg_dump', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`pg_dump: ${stderr}`)
  const lines = stdout.split('\n').filter((line) => line !== '' && !/^(--|\\)/.test(line))
  return `${lines.join('\n')}\n`
}
