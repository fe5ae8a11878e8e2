import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'

/** Opens a connection and closes it again. */
export type ConnectFunction = (host: string, port: number) => Promise<void>

/** Rejects if the name has no address. */
type ResolveFunction = (host: string) => Promise<unknown>

/** A server that responded within this time is not probed again. */
const reachableMs = 30_000
/** Bounded, because some URLs contain names that users choose. */
const maxOrigins = 10_000

/**
 * Tells whether a server is reachable. `fetch` cannot distinguish an unreachable server from a slow one, so a server
 * without a recent response is first connected to, with a separate timeout.
 */
export class OriginReachability {
  readonly #connect: ConnectFunction
  readonly #resolve: ResolveFunction
  readonly #reachedAt = new Map<string, number>()

  constructor(connect: ConnectFunction = connectTcp, resolve: ResolveFunction = lookup) {
    this.#connect = connect
    this.#resolve = resolve
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
    const { port, protocol } = new URL(baseUrl)
    await this.#connect(hostOf(baseUrl), Number(port) || (protocol === 'https:' ? 443 : 80))
    this.markReached(baseUrl)
  }

  /** Whether the host has an address: a failed connection does not say. The caller bounds the time. */
  async resolves(baseUrl: string): Promise<boolean> {
    const host = hostOf(baseUrl)
    if (isIP(host)) return true
    return this.#resolve(host).then(
      () => true,
      () => false,
    )
  }
}

function hostOf(baseUrl: string): string {
  return new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')
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
