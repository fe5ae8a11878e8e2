import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { closeDb, type Db, openDb } from '../../src/platform/db/db.ts'
import { type DatabaseKind, databaseKinds } from '../support/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { type KillPoint, videoPoints } from './kill-point-names.ts'
import { isLong, testTimeoutMs } from './options.ts'
import { readLedgerSnapshot } from './reconciliation.ts'
import { buildVideoSettings, startVideoVendor, type VideoVendor, videoCost } from './video-vendor.ts'

const vendors: VideoVendor[] = []
afterAll(async () => {
  await closeScenarios()
  for (const vendor of vendors) await vendor.stop()
})

const leaseMs = 1000

async function openScenario(kind: DatabaseKind) {
  const vendor = startVideoVendor()
  vendors.push(vendor)
  const scene = await createScenario(kind, undefined, buildVideoSettings(vendor))
  scene.leaseMs = leaseMs
  return { vendor, scene }
}

let counter = 0

/** Null if the gateway ended before it replied. */
async function createJob(
  { url }: GatewayProcess,
  key: string,
  vendor: VideoVendor,
): Promise<{ prompt: string; id: string | null }> {
  const prompt = `film ${++counter}`
  const body = { model: 'faults/film', prompt, callback_url: `http://${vendor.address}/hook` }
  const reply = await fetch(`${url}/api/v1/videos`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
    .then((response) => response.json() as Promise<{ id?: string }>)
    .catch(() => null)
  return { prompt, id: reply?.id ?? null }
}

function readJobs(db: Db) {
  return db.selectFrom('video_jobs').selectAll().orderBy('id').execute()
}

type Jobs = Awaited<ReturnType<typeof readJobs>>

/** Waits until every job has ended and every webhook is delivered. */
async function waitForEnds({ databaseUrl }: FaultScenario, gateway: GatewayProcess): Promise<Jobs> {
  const db = openDb(databaseUrl)
  try {
    let jobs = await readJobs(db)
    const haveEnded = async () => {
      jobs = await readJobs(db)
      return jobs.every(({ due_at, webhook_due_at }) => due_at === null && webhook_due_at === null)
    }
    await waitUntil(haveEnded, () => `jobs do not end: ${JSON.stringify(jobs)}\n${gateway.log}`)
    // A request about money flushes the journal.
    await gateway.manage('GET', '/credits')
    return jobs
  } finally {
    await closeDb(db)
  }
}

/** I2 I5: every job was submitted at most once, is settled exactly once, and nothing is held. */
async function reconcile(scene: FaultScenario, vendor: VideoVendor, jobs: Jobs): Promise<void> {
  const ledger = await readLedgerSnapshot(scene.databaseUrl)
  expect(ledger.findings.flatMap(({ violations }) => violations)).toEqual([])
  expect(ledger.holds).toEqual([])
  const prompts = vendor.jobs.map(({ prompt }) => prompt)
  expect(new Set(prompts).size).toBe(prompts.length)
  for (const job of jobs) {
    const generations = ledger.generations.filter(({ id }) => id === job.generation_id)
    const charged = generations.map(({ cost_nanos }) => cost_nanos)
    if (job.status === 'completed') expect(charged).toEqual([videoCost])
    else expect(charged.every((cost) => cost === 0n)).toBe(true)
    const delivered = vendor.webhooks.filter(({ key }) => key === `${job.id}-${job.status}`)
    expect(delivered.length).toBeGreaterThan(0)
  }
  const total = jobs.filter(({ status }) => status === 'completed').length
  expect(ledger.generations.reduce((sum, { cost_nanos }) => sum + cost_nanos, 0n)).toBe(
    BigInt(total) * videoCost,
  )
}

/** Points up to which no provider has confirmed the job, so it fails. */
const unconfirmed: ReadonlySet<KillPoint> = new Set([
  'before a hold is written',
  'after a hold is committed',
  'after a video job is stored',
  'after a video job is marked as being sent',
  'after a provider accepted a video job',
])

const settlementPoints: Record<DatabaseKind, KillPoint[]> = {
  sqlite: [
    'before a settlement is written',
    'before a settlement is on disk',
    'after a settlement is on disk',
    'before the journal is flushed',
    'halfway through a flush',
    'after a flush is committed',
  ],
  postgres: [
    'before a settlement is written',
    'halfway through a settlement',
    'before a settlement is committed',
    'after a settlement is committed',
  ],
}
/** The short form skips points where little differs. */
const fewPoints: Record<DatabaseKind, ReadonlySet<KillPoint>> = {
  sqlite: new Set([
    'after a hold is committed',
    'after a video job is marked as being sent',
    'after a provider accepted a video job',
    'after a video is downloaded',
    'after a webhook is delivered',
    'halfway through a flush',
  ]),
  postgres: new Set(['after a video job is polled', 'halfway through a settlement']),
}
const holdPoints: KillPoint[] = ['before a hold is written', 'after a hold is committed']

for (const kind of databaseKinds) {
  describe(`kill -9 at every step of a video job (${kind})`, () => {
    let opened: Awaited<ReturnType<typeof openScenario>>
    let gateway: GatewayProcess
    let key: string
    const all = [...holdPoints, ...videoPoints, ...settlementPoints[kind]]

    for (const point of isLong ? all : all.filter((name) => fewPoints[kind].has(name))) {
      test(
        `R39 R7 I2 I3 ${point}`,
        async () => {
          opened ??= await openScenario(kind)
          const { scene, vendor } = opened
          gateway ??= await scene.start()
          key ??= await gateway.createKey()
          const arm = () => writeFileSync(scene.killFile, `${point}#1`)
          const isLate = settlementPoints[kind].includes(point)
          if (!isLate) arm()
          const { id } = await createJob(gateway, key, vendor)
          if (isLate) arm()
          await gateway.exited
          writeFileSync(scene.killFile, '')
          expect(gateway.wasKilled).toBe(true)
          gateway = await scene.start()
          const jobs = await waitForEnds(scene, gateway)
          await reconcile(scene, vendor, jobs)
          const last = jobs.at(-1)
          expect(last?.status).toBe(unconfirmed.has(point) ? 'failed' : 'completed')
          if (id !== null) expect(last?.id).toBe(id)
        },
        testTimeoutMs,
      )
    }

    test(
      'R39 a stop keeps the hold of a job, and the next start finishes it',
      async () => {
        const { scene, vendor } = opened
        const { id } = await createJob(gateway, key, vendor)
        const startedAt = performance.now()
        await gateway.stop()
        expect(performance.now() - startedAt).toBeLessThan(8000)
        const { holds } = await readLedgerSnapshot(scene.databaseUrl)
        expect(holds.map(({ owner }) => owner)).toEqual(['jobs'])
        gateway = await scene.start()
        const jobs = await waitForEnds(scene, gateway)
        await reconcile(scene, vendor, jobs)
        expect(jobs.at(-1)).toMatchObject({ id, status: 'completed' })
        await gateway.stop()
      },
      testTimeoutMs,
    )
  })
}

const takeoverPoints: KillPoint[] = isLong
  ? [...holdPoints, ...videoPoints, ...settlementPoints.postgres]
  : ['halfway through a settlement']

if (databaseKinds.includes('postgres')) {
  describe('two nodes on one PostgreSQL', () => {
    for (const point of takeoverPoints) {
      test(
        `R39 R7 I2 kill -9 of one: the other takes its job over, ${point}`,
        async () => {
          const { scene, vendor } = await openScenario('postgres')
          const [first, second] = await Promise.all([scene.start('first'), scene.start('second')])
          const key = await first.createKey()
          // Whichever node passes the point.
          writeFileSync(scene.killFile, `${point}#1`)
          await createJob(first, key, vendor)
          await Promise.race([first.exited, second.exited])
          writeFileSync(scene.killFile, '')
          const [survivor] = [first, second].filter(({ wasKilled }) => !wasKilled)
          expect([first, second].filter(({ wasKilled }) => wasKilled)).toHaveLength(1)
          if (!survivor) return
          const jobs = await waitForEnds(scene, survivor)
          await reconcile(scene, vendor, jobs)
          expect(jobs.map(({ status }) => status)).toEqual([unconfirmed.has(point) ? 'failed' : 'completed'])
          await survivor.stop()
        },
        testTimeoutMs,
      )
    }

    test(
      'R39 I2 both poll the same jobs, and each is ended and charged once',
      async () => {
        const { scene, vendor } = await openScenario('postgres')
        const [first, second] = await Promise.all([scene.start('first'), scene.start('second')])
        const key = await first.createKey()
        const created = await Promise.all(
          Array.from({ length: 20 }, (_, index) => createJob(index % 2 ? first : second, key, vendor)),
        )
        const jobs = await waitForEnds(scene, first)
        await reconcile(scene, vendor, jobs)
        expect(jobs.map(({ status }) => status)).toEqual(created.map(() => 'completed'))
        await Promise.all([first.stop(), second.stop()])
      },
      testTimeoutMs,
    )
  })
}
