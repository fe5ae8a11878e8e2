import { afterAll, describe, expect, test } from 'bun:test'
import { closeDb, openDb } from '../../src/platform/db/db.ts'
import { buildEgressSettings, Receiver } from '../delivery/support.ts'
import { databaseKinds } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { createRandom, isLong, printTotals, testTimeoutMs } from './options.ts'

const receivers: Receiver[] = []
afterAll(async () => {
  await closeScenarios()
  for (const receiver of receivers) await receiver.stop()
})

const requestCount = isLong ? 10_000 : 60
/** Kills are spread evenly over the requests. */
const killCount = isLong ? 40 : 2
const clientCount = 8

for (const kind of databaseKinds) {
  describe(`events and kill -9 (${kind})`, () => {
    test(
      'R39 I2 every settled generation is delivered, whatever fails in between',
      async () => {
        const random = createRandom()
        const receiver = new Receiver()
        receivers.push(receiver)
        const scene = await createScenario(kind, undefined, buildEgressSettings(receiver))
        Object.assign(scene, { leaseMs: 1000, silentMs: 1000 })
        let gateway = await scene.start()
        const key = await gateway.createKey()
        const destination = await createDestination(gateway, receiver)
        // Healthy, failing and slow in turn.
        receiver.respond = async () => {
          const draw = random()
          if (draw < 0.15) await Bun.sleep(50)
          return new Response(null, { status: draw < 0.3 ? 503 : 200 })
        }
        const confirmed = new Set<string>()
        let sent = 0
        const runClient = async () => {
          while (confirmed.size < requestCount) {
            const id = await sendRequest(gateway, key, sent++)
            if (id !== null) confirmed.add(id)
          }
        }
        const clients = Promise.all(Array.from({ length: clientCount }, runClient))
        for (let kill = 1; kill <= killCount; kill++) {
          while (confirmed.size < (kill * requestCount) / (killCount + 1)) await Bun.sleep(5)
          await gateway.kill()
          gateway = await scene.start()
        }
        await clients
        receiver.respond = () => new Response(null, { status: 200 })
        const ids = await waitUntilDelivered(scene, gateway, destination)
        const received = receiver.ids()
        for (const id of confirmed) expect(ids.has(id)).toBe(true)
        expect(new Set(received)).toEqual(ids)
        printTotals(`events (${kind})`, {
          generations: ids.size,
          deliveries: received.length,
          kills: killCount,
        })
        await gateway.stop()
      },
      testTimeoutMs,
    )
  })
}

async function createDestination(gateway: GatewayProcess, receiver: Receiver): Promise<string> {
  const { data: workspaces } = await gateway.manage('GET', '/workspaces')
  const [workspace] = Object.values(workspaces) as unknown as { id: string }[]
  await gateway.manage('PATCH', `/workspaces/${workspace?.id}`, { is_observability_broadcast_enabled: true })
  const { data } = await gateway.manage('POST', '/observability/destinations', {
    type: 'webhook',
    name: 'Events',
    config: { url: receiver.url() },
  })
  return String(data.id)
}

/** The id of the generation; null if the gateway ended before the client had the reply. */
async function sendRequest({ url }: GatewayProcess, key: string, index: number): Promise<string | null> {
  const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: `event ${index}` }] }
  try {
    const response = await fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: index % 2 === 0 }),
    })
    await response.text()
    return response.ok ? response.headers.get('x-generation-id') : null
  } catch {
    await Bun.sleep(20)
    return null
  }
}

/** The ids of all generations, once nothing is held and nothing is queued. */
async function waitUntilDelivered(
  scene: FaultScenario,
  gateway: GatewayProcess,
  destination: string,
): Promise<Set<string>> {
  const db = openDb(scene.databaseUrl)
  try {
    for (const deadline = performance.now() + testTimeoutMs / 2; ; await Bun.sleep(50)) {
      // First, as the gateway may settle a hold of an ended process at any time.
      const holds = await requestHolds(db).select('id').execute()
      // It flushes the journal, and retries at once.
      const { data } = await gateway.manage('POST', `/observability/destinations/${destination}/resume`)
      if (holds.length === 0 && data.queued === 0) break
      if (performance.now() > deadline)
        throw new Error(`${holds.length} holds, ${JSON.stringify(data)}\n${gateway.log}`)
    }
    const rows = await db.selectFrom('generations').select('id').execute()
    return new Set(rows.map(({ id }) => id))
  } finally {
    await closeDb(db)
  }
}
