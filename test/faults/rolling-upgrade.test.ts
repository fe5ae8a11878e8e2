import { afterAll, describe, expect, test } from 'bun:test'
import { join, resolve } from 'node:path'
import { SQL } from 'bun'
import { checkLedger } from '../../src/ledger/check.ts'
import { closeDb, openDb } from '../../src/platform/db/db.ts'
import { createDatabase } from '../support/databases.ts'
import { databaseKinds } from '../support/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type Backend, Balancer } from './balancer.ts'
import { FaultScenario, type GatewayProcess } from './gateways.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'
import { PreviousVersion } from './previous-version.ts'
import { contractName, expandName } from './rolling-migrations.ts'

const generationCount = Number(process.env.HEADGATE_FAULTS_GENERATIONS ?? 1_000_000)
const clientCount = 4
const path = '/api/v1/chat/completions'
const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
const preload = join(import.meta.dir, 'rolling-migrations.ts')
const nextProgram = [process.execPath, '--no-env-file', '--preload', preload, resolve('src/cli.ts')]

const closers: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closers.reverse()) await close()
})

/** Requests through the balancer, one after the other in each client, until `stop`. */
class Load {
  readonly failures: unknown[] = []
  replies = 0
  #slowestMs = 0
  #isDone = false
  readonly #clients: Promise<void>[]

  constructor(balancer: Balancer) {
    this.#clients = Array.from({ length: clientCount }, () => this.#run(balancer))
  }

  async #run(balancer: Balancer): Promise<void> {
    while (!this.#isDone) {
      const startedAt = performance.now()
      const response = await balancer
        .send(path, body)
        .catch((error: unknown) => ({ status: error, head: '' }))
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - startedAt)
      if (response.status === 200) this.replies++
      else this.failures.push(response)
    }
  }

  /** The longest request since the last call. */
  takeSlowestMs(): number {
    const ms = Math.round(this.#slowestMs)
    this.#slowestMs = 0
    return ms
  }

  async stop(): Promise<void> {
    this.#isDone = true
    await Promise.all(this.#clients)
  }
}

/** Copies a generation, without what it cost. */
async function fillGenerations(db: SQL, count: number): Promise<void> {
  const rows: { name: string }[] = await db`select attname as name from pg_attribute
    where attrelid = 'generations'::regclass and attnum > 0 and not attisdropped and attname <> 'id'`
  const names = rows.map(({ name }) => name)
  const values = names.map((name) =>
    name === 'posting_id' ? 'null' : name === 'cost_nanos' || name === 'hold_nanos' ? '0' : name,
  )
  const { count: filled } = await db.unsafe(`insert into generations (id, ${names.join(', ')})
    select 'gen-filled-' || lpad(n::text, 9, '0'), ${values.join(', ')}
    from (select * from generations limit 1) as first, generate_series(1, ${count}) as n`)
  expect(filled).toBe(count)
  await db.unsafe('analyze generations')
}

/** Holds a transaction with a snapshot until `work` has ended. */
async function whileTransacting(db: SQL, work: () => Promise<void>): Promise<void> {
  await db.begin('isolation level repeatable read', async (tx) => {
    await tx`select 1 from instance limit 1`
    await work()
  })
}

describe.if(isLong && databaseKinds.includes('postgres'))('an upgrade of two nodes', () => {
  test(
    `R7 I2 from the last release with ${generationCount} generations fails no request and loses none`,
    async () => {
      const database = await createDatabase()
      const previous = new PreviousVersion()
      const settings = JSON.stringify({ limits: { drain_delay: 2 } })
      const scenario = new FaultScenario(database.url, settings)
      const balancer = new Balancer()
      const db = new SQL(database.url, { max: 4 })
      closers.push(
        () => database.drop(),
        () => previous.remove(),
        () => db.close({ timeout: 1 }),
      )
      closers.push(
        () => scenario.close(),
        () => balancer.stop(),
      )
      const portOf = ({ url }: GatewayProcess) => Number(new URL(url).port)

      const nodes: { name: string; gateway: GatewayProcess; backend: Backend }[] = []
      for (const name of ['a', 'b']) {
        const gateway = await scenario.start(name, previous.program)
        const backend = balancer.add(portOf(gateway), await gateway.createKey())
        await balancer.waitFor(backend, true)
        nodes.push({ name, gateway, backend })
      }
      const replace = async (node: (typeof nodes)[number], program: string[]) => {
        await node.gateway.stop()
        node.gateway = await scenario.start(node.name, program)
        node.backend.port = portOf(node.gateway)
        await balancer.waitFor(node.backend, true)
      }
      expect((await balancer.send(path, body)).status).toBe(200)
      await fillGenerations(db, generationCount)
      const [{ count: before }] = await db`select count(*)::integer as count from generations`
      const load = new Load(balancer)
      await waitUntil(() => load.replies > 50)
      const slowest = { served: load.takeSlowestMs(), migrated: 0, replaced: 0 }

      const migrate = () => scenario.command('job', [...nextProgram, 'migrate'])
      const killAt = async (step: string) => {
        const command = migrate()
        let text = ''
        for await (const bytes of command.stderr) {
          text += new TextDecoder().decode(bytes)
          if (text.includes(step)) command.kill('SIGKILL')
        }
        await command.exited
        if (command.signalCode !== 'SIGKILL') throw new Error(`it was not killed: ${text}`)
      }
      const startedAt = performance.now()
      await killAt(`${expandName}, step 2`)
      // Because of the transaction, the index cannot be finished before.
      await whileTransacting(db, () => killAt(`${expandName}, step 3`))
      const finished = migrate()
      expect([await finished.exited, await new Response(finished.stdout).text()]).toEqual([
        0,
        expect.stringContaining(`${contractName} waits: node`),
      ])
      const migrationSeconds = Math.round((performance.now() - startedAt) / 1000)
      slowest.migrated = load.takeSlowestMs()
      // A node of the previous version also starts with the schema of the next one.
      for (const program of [previous.program, nextProgram])
        for (const node of nodes) await replace(node, program)
      slowest.replaced = load.takeSlowestMs()

      const last = migrate()
      expect([await last.exited, await new Response(last.stdout).text()]).toEqual([
        0,
        expect.stringContaining(`Finished: ${contractName}`),
      ])
      const refused = scenario.launch('c', previous.program)
      const refusal = await refused.ready.catch((error: Error) => error.message)
      expect(refusal).toContain(`it was migrated by Headgate`)
      expect(refusal).toContain(contractName)
      const served = load.replies
      await waitUntil(() => load.replies > served + 50)
      await load.stop()
      expect(load.failures.slice(0, 5)).toEqual([])

      for (const { gateway } of nodes) await gateway.stop()
      const [{ count: after }] = await db`select count(*)::integer as count from generations`
      expect(after - before).toBe(load.replies)
      const ledger = openDb(database.url, { queryTimeoutMs: null })
      const { findings } = await checkLedger(ledger)
      await closeDb(ledger)
      expect(findings.flatMap(({ violations }) => violations)).toEqual([])
      printTotals('rolling upgrade', {
        generations: before,
        requests: load.replies,
        failures: load.failures.length,
        'seconds of migration, killed twice': migrationSeconds,
        'ms slowest before': slowest.served,
        'ms slowest during the migration': slowest.migrated,
        'ms slowest while nodes were replaced': slowest.replaced,
      })
    },
    testTimeoutMs,
  )
})
