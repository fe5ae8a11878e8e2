import type { ClientOutcome } from '../clients.ts'
import type { Lab } from './lab.ts'
import type { Report } from './run-fault.ts'

const clientCount = 12
/** One of this many clients streams slowly, so that its replies last as long as a node takes to drain. */
const slowOneIn = 6

/** Restarts the nodes in turn, until there were as many requests. */
export async function restartInTurn(lab: Lab, requestCount: number): Promise<Report> {
  const key = await lab.nodes[0].gateway.createKey()
  const outcomes: ClientOutcome[] = []
  let isDone = false
  const send = async (client: number) => {
    const isSlow = client % slowOneIn === 0
    const spec = { stream: client % 3 === 0, tokens: isSlow ? 80 : 5, paceMs: isSlow ? 50 : 0 }
    while (!isDone) outcomes.push(await lab.clients.send(lab.url, key, spec))
  }
  const startedAt = performance.now()
  const clients = Array.from({ length: clientCount }, (_, client) => send(client))
  let restarts = 0
  do {
    for (const node of lab.nodes) {
      await node.gateway.stop()
      await node.start()
      await lab.waitUntilReady([node])
      restarts++
    }
  } while (outcomes.length < requestCount)
  isDone = true
  await Promise.all(clients)
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  const failures = outcomes.filter(({ status, ended }) => status !== 200 || !ended)
  const { problems } = await lab.checkBooks(new Set())
  return {
    figures: {
      requests: outcomes.length,
      streams: outcomes.filter(({ events }) => events > 0).length,
      restarts,
      failures: failures.length,
      seconds,
    },
    problems: [...problems, ...failures.slice(0, 5).map((failure) => JSON.stringify(failure))],
  }
}
