/** Opens a connection and closes it again. */
export type ConnectFunction = (host: string, port: number) => Promise<void>

/** A server that responded within this time is not probed again. */
const reachableMs = 30_000
/** Bounded, because some URLs contain names that users choose. */
const maxOrigins = 10_000

/**
 * Whether a server is reachable. `fetch` cannot tell an unreachable server from a slow one, so a server without a recent
 * response is first connected to, with a separate timeout.
 */
export class OriginReachability {
  readonly #connect: ConnectFunction
  readonly #reachedAt = new Map<string, number>()

  constructor(connect: ConnectFunction = connectTcp) {
    this.#connect = connect
  }

  isRecentlyReached(baseUrl: string): boolean {
    const at = this.#reachedAt.get(baseUrl)
    return at !== undefined && performance.now() - at < reachableMs
  }

  markReached(baseUrl: string): void {
    this.#reachedAt.delete(baseUrl)
    this.#reachedAt.set(baseUrl, performance.now())
    if (this.#reachedAt.size > maxOrigins) this.#reachedAt.delete(this.#reachedAt.keys().next().value ?? '')
  }

  /** Rejects when the connection fails. The caller bounds the time. */
  async probe(baseUrl: string): Promise<void> {
    const { hostname, port, protocol } = new URL(baseUrl)
    const host = hostname.replace(/^\[|\]$/g, '')
    await this.#connect(host, Number(port) || (protocol === 'https:' ? 443 : 80))
    this.markReached(baseUrl)
  }
}

async function connectTcp(hostname: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = {
    open: (opened: { end(): void }) => {
      opened.end()
      resolve()
    },
    connectError: (_: unknown, error: Error) => reject(error),
    data: () => undefined,
  }
  await Bun.connect({ hostname, port, socket }).catch(reject)
  await promise
}
