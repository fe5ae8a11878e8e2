import { afterAll, expect, test } from 'bun:test'
import { type Backend, Balancer } from './balancer.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'

/** Minimum number of requests. The short form ends when both gateways were restarted. */
const requestCount = isLong ? 50_000 : 500
const clientCount = 4

afterAll(closeScenarios)

const path = '/api/v1/chat/completions'
const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
const portOf = ({ url }: GatewayProcess) => Number(new URL(url).port)

interface Node {
  scenario: FaultScenario
  gateway: GatewayProcess
  backend: Backend
}

async function startNode(balancer: Balancer): Promise<Node> {
  // Longer than any pause of this process, in which the balancer cannot notice anything.
  const scenario = await createScenario('sqlite', undefined, JSON.stringify({ limits: { drain_delay: 2 } }))
  const gateway = await scenario.start()
  const backend = balancer.add(portOf(gateway), await gateway.createKey())
  await balancer.waitFor(backend, true)
  return { scenario, gateway, backend }
}

/** Restarts like an orchestrator: the next process starts after this one has ended. */
async function restart(balancer: Balancer, node: Node): Promise<void> {
  await node.gateway.stop()
  expect(node.backend.isReady).toBe(false)
  node.gateway = await node.scenario.start()
  node.backend.port = portOf(node.gateway)
  await balancer.waitFor(node.backend, true)
}

test(
  `I7 gateways that are restarted in turn behind a balancer fail none of ${requestCount} requests`,
  async () => {
    const balancer = new Balancer()
    const nodes = [await startNode(balancer), await startNode(balancer)]
    const failures: unknown[] = []
    let sent = 0
    let isDone = false
    const send = async () => {
      while (!isDone) {
        sent++
        const response = await balancer
          .send(path, body)
          .catch((error: unknown) => ({ status: error, head: '' }))
        if (response.status !== 200) failures.push(response)
      }
    }
    const clients = Array.from({ length: clientCount }, send)
    let restarts = 0
    do {
      for (const node of nodes) await restart(balancer, node)
      restarts += nodes.length
    } while (sent < requestCount && failures.length === 0)
    isDone = true
    await Promise.all(clients)
    balancer.stop()
    for (const { gateway } of nodes) await gateway.kill()
    expect(failures.slice(0, 5)).toEqual([])
    expect(sent).toBeGreaterThanOrEqual(requestCount)
    printTotals('rolling restarts', { requests: sent, restarts })
  },
  testTimeoutMs,
)

test(
  'after a stop signal the gateway is not ready, serves requests and ends live lists',
  async () => {
    const scenario = await createScenario(
      'sqlite',
      undefined,
      JSON.stringify({ limits: { drain_delay: 300 } }),
    )
    const gateway = await scenario.start()
    const balancer = new Balancer()
    const backend = balancer.add(portOf(gateway), await gateway.createKey())
    await balancer.waitFor(backend, true)
    expect((await balancer.send(path, body)).head).not.toMatch(/connection: close/i)
    const tail = await gateway.fetch('/generations/stream')
    void gateway.stop()
    expect(await tail.text()).toContain('"reason":"shutdown"')
    await balancer.waitFor(backend, false)
    const response = await gateway.fetch('/credits')
    expect([response.status, response.headers.get('connection')]).toEqual([200, 'close'])
    expect((await gateway.fetch('/generations/stream')).status).toBe(503)
    balancer.stop()
    await gateway.kill()
  },
  testTimeoutMs,
)
