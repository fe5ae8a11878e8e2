import { afterAll, describe, expect, test } from 'bun:test'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type DatabaseKind, databaseKinds } from '../support/harness.ts'
import { program } from '../support/program.ts'
import { waitUntil } from '../support/wait-until.ts'
import type { RequestSpec } from './clients.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { type KillPoint, killPoints, replayPoints } from './kill-point-names.ts'
import { createRandom, isLong, printTotals, testTimeoutMs } from './options.ts'
import { settleOrphans } from './orphaned-holds.ts'
import { Pool } from './pool.ts'
import { readLedgerSnapshot } from './reconciliation.ts'

afterAll(closeScenarios)

const random = createRandom()
const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1))

/** Mostly streams; some clients disconnect, some replies outlast a checkpoint interval. */
function randomRequest(): RequestSpec {
  const kind = random()
  if (kind < 0.15) return { tokens: between(1, 30), paceMs: between(0, 40) }
  if (kind < 0.25) return { stream: true, tokens: 30, paceMs: 5, leaveAfter: between(0, 25) }
  if (kind < 0.3) return { stream: true, tokens: 30, paceMs: 5, leaveAfterMs: between(0, 60) }
  if (kind < 0.4) return { stream: true, tokens: 90, paceMs: 60 }
  return { stream: true, tokens: between(1, 60), paceMs: between(0, 8) }
}

const clientCount = 12

/** Sends requests until the gateway is gone. */
async function load({ clients }: FaultScenario, { url }: GatewayProcess, key: string): Promise<void> {
  const client = async () => {
    for (;;) {
      const { status } = await clients.send(url, key, randomRequest())
      // The client may also have disconnected.
      if (status === null && !(await isRunning(url))) return
    }
  }
  await Promise.all(Array.from({ length: clientCount }, client))
}

function isRunning(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`).then(
    () => true,
    () => false,
  )
}

/** Lifetime of a process. Some live long enough to write a checkpoint. */
function lifeMs(round: number): number {
  return round % 5 === 4 ? between(2100, 3500) : between(20, 500)
}

const kills = { sqlite: 200, postgres: 60 }

/** The short form kills at every named point instead. */
for (const kind of isLong ? databaseKinds : []) {
  test(
    `R7 R2 I1 I2 I5 kill -9 at random moments under load loses no charge and doubles none (${kind})`,
    async () => {
      const scene = await createScenario(kind)
      let gateway = await scene.start()
      const key = await gateway.createKey()
      let duringStart = 0
      for (let round = 0; round < kills[kind]; round++) {
        const working = load(scene, gateway, key)
        await Bun.sleep(lifeMs(round))
        await gateway.kill()
        await working
        await settleOrphans(scene)
        if (random() < 0.15) {
          const early = scene.launch()
          await Bun.sleep(between(300, 900))
          await early.kill()
          await settleOrphans(scene)
          duringStart++
        }
        gateway = await scene.start()
        await scene.reconcile()
      }
      await gateway.stop()
      printTotals(`random kills on ${kind}`, {
        kills: kills[kind],
        'in the middle of a start': duringStart,
        ...(await scene.reconcile()),
      })
    },
    testTimeoutMs,
  )
}

/** A node counts as dead twelve seconds after its last heartbeat; the others check every 2 s. */
const missedWithinMs = 60_000

if (isLong && databaseKinds.includes('postgres')) {
  test(
    'R7 R2 I2 kill -9 of one of two nodes: its open holds are settled by the other, under load; a stop under load leaves no hold',
    async () => {
      const scene = await createScenario('postgres')
      const [living, dying] = await Promise.all([scene.start('living'), scene.start('dying')])
      const key = await living.createKey()
      const working = [load(scene, living, key), load(scene, dying, key)]
      await waitUntil(() => scene.clients.log.length > 500)
      await dying.kill()
      const since = performance.now()
      while (!living.log.includes('orphaned holds settled')) {
        if (performance.now() - since > missedWithinMs) throw new Error('the dead node was not noticed')
        await Bun.sleep(50)
      }
      const seconds = Math.round((performance.now() - since) / 1000)
      await living.stop()
      await Promise.all(working)
      printTotals('a dead node among two', {
        'seconds until it was missed': seconds,
        ...(await scene.reconcile()),
      })
    },
    testTimeoutMs,
  )
}

/** Checkpoints are two seconds apart; the one long reply has two. */
function passesOf(point: KillPoint): number[] {
  if (point === 'after a checkpoint') return isLong ? [1, 2] : [1]
  return isLong ? [1, 2, 3, 5, 8, 13] : [2]
}

/** Number of installations that are killed at the same time. */
const installationCount = 2

interface Installation {
  scene: FaultScenario
  gateway: GatewayProcess
  key: string
}

async function openInstallation(kind: DatabaseKind): Promise<Installation> {
  const scene = await createScenario(kind)
  const gateway = await scene.start()
  return { scene, gateway, key: await gateway.createKey() }
}

/** Streams and whole replies until the gateway is gone; one stream is long enough for a checkpoint. */
async function work({ scene, gateway, key }: Installation): Promise<void> {
  const send = (spec: RequestSpec) => scene.clients.send(gateway.url, key, spec)
  const slow = send({ stream: true, tokens: 90, paceMs: 60 })
  for (let isRunning = true; isRunning; ) {
    const outcomes = await Promise.all([
      send({ stream: true, tokens: 6, paceMs: 2 }),
      send({ stream: true, tokens: 7, paceMs: 3 }),
      send({ stream: true, tokens: 30, paceMs: 5, leaveAfter: 3 }),
      send({ tokens: 5, paceMs: 10 }),
    ])
    isRunning = outcomes.every(({ status }) => status === 200)
  }
  await slow
}

for (const kind of databaseKinds) {
  describe(`kill -9 at a named point (${kind})`, () => {
    const points = killPoints[kind]
    const pool = new Pool(installationCount, () => openInstallation(kind))

    for (const point of points) {
      for (const pass of passesOf(point)) {
        test.concurrent(
          `R7 R2 I1 I2 ${point}, pass ${pass}`,
          () =>
            pool.use(async (installation) => {
              const { scene, gateway } = installation
              writeFileSync(scene.killFile, `${point}#${pass}`)
              await work(installation)
              await gateway.exited
              writeFileSync(scene.killFile, '')
              expect(gateway.wasKilled).toBe(true)
              // The last checkpoint is in the journal of the process, which only its successor reads.
              if (point !== 'after a checkpoint') await settleOrphans(scene)
              installation.gateway = await scene.start()
              const after = await scene.reconcile()
              if (point === 'after a checkpoint') expect(after['of them charged']).toBeGreaterThan(0)
            }),
          testTimeoutMs,
        )
      }
    }

    test(
      'R2 I5 after all of them and a stop the ledger reconciles',
      async () => {
        for (const { scene, gateway } of pool.idle) {
          await gateway.stop()
          printTotals(`named points on ${kind}`, await scene.reconcile())
        }
      },
      testTimeoutMs,
    )
  })
}

/** Kills a process under load, before it flushes its journal: the database lacks lines of it. */
async function killBeforeFlush(scene: FaultScenario): Promise<void> {
  const gateway = await scene.start()
  const working = load(scene, gateway, await gateway.createKey())
  await waitUntil(() => scene.clients.log.some(({ ended }) => ended))
  writeFileSync(scene.killFile, `${replayPoints[0]}#1`)
  await gateway.exited
  await working
}

test.concurrent(
  'R7 R2 I3 a recovery that is killed is completed by the next',
  async () => {
    const scene = await createScenario('sqlite')
    await killBeforeFlush(scene)
    for (const point of replayPoints) {
      writeFileSync(scene.killFile, `${point}#1`)
      const recovering = scene.launch()
      await recovering.exited
      expect(recovering.wasKilled).toBe(true)
    }
    writeFileSync(scene.killFile, '')
    await (await scene.start()).stop()
    expect((await scene.reconcile()).interrupted).toBeGreaterThan(0)
  },
  testTimeoutMs,
)

test.concurrent(
  'R7 after a kill -9 a start without the journal fails with one line, until the operator accepts the loss',
  async () => {
    const scene = await createScenario('sqlite')
    await killBeforeFlush(scene)
    writeFileSync(scene.killFile, '')
    const folder = dirname(scene.databaseUrl)
    const files = readdirSync(folder).filter((name) => name.includes('.sqlite-ledger-'))
    expect(files.length).toBeGreaterThan(1)
    for (const name of files) rmSync(join(folder, name))
    const rejected = scene.launch()
    expect(await rejected.exited).toBe(1)
    expect(rejected.log).toMatch(/^headgate: \S+-ledger-durable is missing.*accept-journal-loss.*\n$/)
    const accepting = Bun.spawn([...program, 'accept-journal-loss'], {
      env: {
        DATABASE_URL: `sqlite:${scene.databaseUrl}`,
        HEADGATE_DATA_DIR: join(folder, 'first'),
        HEADGATE_SECRET_KEY: 'secret-key-of-the-fault-suite',
      },
    })
    const said = await accepting.stdout.text()
    expect(said).toContain('The server can start with the remaining journal')
    await (await scene.start()).stop()
    const { findings } = await readLedgerSnapshot(scene.databaseUrl)
    expect(findings.flatMap(({ violations }) => violations)).toEqual([])
  },
  testTimeoutMs,
)
