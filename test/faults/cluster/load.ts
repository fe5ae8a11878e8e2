import { waitUntil } from '../../support/wait-until.ts'
import type { ClientOutcome, RequestSpec } from '../clients.ts'
import type { Lab } from './lab.ts'

const clientCount = 16
/** Clients of the key that reaches its limit. */
const limitedCount = 8
/** In USD: its clients reach it a few seconds after they began, when the fault has begun. */
const limitUsd = 0.05
export const limitNanos = 50_000_000n
const limitedSpec = { tokens: 8, paceMs: 20 }
/** Between two requests of a client. */
const intervalMs = 200
/** Requests of a client that have no reply yet. */
const maxOpen = 50
const warmUpCount = 500
/** A request that takes longer will not end. */
const patienceMs = 120_000

/** The plain requests are streamed and whole in turn. */
function buildSpec(client: number): RequestSpec {
  return { stream: client % 2 === 0, tokens: 3 + client, paceMs: client }
}

/** Requests through the balancer, some with a key that reaches its limit. */
export class Load {
  readonly outcomes: ClientOutcome[] = []
  readonly limited: ClientOutcome[] = []
  /** Of the plain requests, in milliseconds. */
  readonly durations: number[] = []
  readonly #lab: Lab
  #isDone = false
  #clients: Promise<unknown> = Promise.resolve()

  constructor(lab: Lab) {
    this.#lab = lab
  }

  async start(): Promise<void> {
    const { gateway } = this.#lab.nodes[0]
    const [key, limitedKey] = await Promise.all([gateway.createKey(), gateway.createKey(limitUsd)])
    const plain = Array.from({ length: clientCount }, (_, index) =>
      this.#run(key, buildSpec(index), this.outcomes),
    )
    const limited = Array.from({ length: limitedCount }, () =>
      this.#run(limitedKey, limitedSpec, this.limited),
    )
    this.#clients = Promise.all([...plain, ...limited])
  }

  /** Waits for the requests in progress; false if there are some that do not end. */
  async stop(): Promise<boolean> {
    this.#isDone = true
    const isOver = this.#clients.then(() => true)
    return Promise.race([isOver, Bun.sleep(patienceMs).then(() => false)])
  }

  /** Does not wait for replies: a node that is slow must not slow down the load of the others. */
  async #run(key: string, spec: RequestSpec, outcomes: ClientOutcome[]): Promise<void> {
    const open = new Set<Promise<void>>()
    const send = async () => {
      const startedAt = performance.now()
      outcomes.push(await this.#lab.clients.send(this.#lab.url, key, spec))
      if (outcomes === this.outcomes) this.durations.push(performance.now() - startedAt)
    }
    for (; !this.#isDone; await Bun.sleep(intervalMs)) {
      if (open.size >= maxOpen) continue
      const sending = send()
      open.add(sending)
      void sending.finally(() => open.delete(sending))
    }
    await Promise.all(open)
  }
}

/** Until the nodes have compiled what requests run. */
export async function warmUp(lab: Lab): Promise<void> {
  const load = new Load(lab)
  await load.start()
  await waitUntil(() => load.outcomes.length >= warmUpCount)
  await load.stop()
}
