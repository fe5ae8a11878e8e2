import type { Logger } from 'pino'
import type { RedisConfig } from '../config/redis.ts'
import { rootCauseMessage } from '../platform/root-cause.ts'
import type { ClusterStatus } from './cluster.ts'
import { type Connection, openConnection, withTimeout } from './connection.ts'
import { type Script, takeScript } from './scripts.ts'

/** Failures in a row after which the server counts as away: one may be a pause. */
const maxFailures = 3
/** Operations in flight; more are not sent. */
const maxInFlight = 1000
/** Delays between attempts to connect. */
const retryMs = { first: 50, last: 1000 }

/** The reason of a fallback. */
export class UnavailableError extends Error {}

const unavailable = new UnavailableError('the shared state is not available')

/**
 * The connection of a node. While the server is away, operations fail at once and it is probed in the background; an
 * operation that began fails after its time limit, whatever the server does.
 */
export class ValkeyLink {
  readonly status: ClusterStatus = {
    kind: 'valkey',
    isConnected: false,
    operations: 0,
    timeouts: 0,
    errors: 0,
    fallbacks: 0,
  }
  readonly #config: RedisConfig
  readonly #log: Logger
  readonly #channels = new Map<string, (message: string) => void>()
  readonly #reconnectListeners = new Set<() => void>()
  #connection: Connection | null = null
  #inFlight = 0
  #failuresInRow = 0
  #isClosed = false
  #isConnecting = false
  #retryTimer: ReturnType<typeof setTimeout> | null = null

  constructor(config: RedisConfig, log: Logger) {
    this.#config = config
    this.#log = log
  }

  get isUp(): boolean {
    return this.#connection !== null
  }

  /** Connects, or begins to try in the background. */
  async open(): Promise<void> {
    await this.#connect(retryMs.first)
    if (!this.isUp)
      this.#log.warn('the server of REDIS_URL does not answer; limits are shared among nodes by number')
  }

  /** Rejects with an UnavailableError, or the error of the server. */
  async send(key: string, command: string[]): Promise<unknown> {
    return this.#run((connection) => connection.send(key, command))
  }

  async runScript(key: string, { sha, text }: Script, args: readonly (string | number)[]): Promise<unknown> {
    return this.#run((connection) => evaluate(connection, key, { sha, text }, args.map(String)))
  }

  /** A message that cannot be sent is lost. */
  publish(channel: string, message: string): void {
    this.#run((connection) => connection.publish(channel, message)).catch(() => {
      this.status.fallbacks++
    })
  }

  /** Sets the only listener of a channel. */
  subscribe(channel: string, listener: (message: string) => void): void {
    this.#channels.set(channel, listener)
    const connection = this.#connection
    if (!connection) return
    withTimeout(connection.subscribe(channel, listener)).catch((error: unknown) =>
      this.#drop(connection, error),
    )
  }

  onReconnect(listener: () => void): void {
    this.#reconnectListeners.add(listener)
  }

  close(): void {
    this.#isClosed = true
    if (this.#retryTimer) clearTimeout(this.#retryTimer)
    this.#connection?.close()
    this.#connection = null
    this.status.isConnected = false
  }

  async #run(work: (connection: Connection) => Promise<unknown>): Promise<unknown> {
    const connection = this.#connection
    if (!connection || this.#inFlight >= maxInFlight) throw unavailable
    this.status.operations++
    this.#inFlight++
    const timeout = startTimeout(this.#config.timeoutMs)
    try {
      const result = await Promise.race([work(connection), timeout.expired])
      this.#failuresInRow = 0
      return result
    } catch (error) {
      if (error === unavailable) this.status.timeouts++
      else this.status.errors++
      // A connection that was replaced rejects what it was sent.
      if (connection === this.#connection && ++this.#failuresInRow >= maxFailures)
        this.#drop(connection, error)
      throw error
    } finally {
      this.#inFlight--
      timeout.cancel()
    }
  }

  /** Replaces a connection that failed. */
  #drop(connection: Connection, cause: unknown): void {
    if (this.#connection !== connection || this.#isClosed) return
    this.#connection = null
    this.#failuresInRow = 0
    this.status.isConnected = false
    this.#log.warn({ problem: rootCauseMessage(cause) }, 'the server of REDIS_URL is away')
    connection.close()
    void this.#connect(retryMs.first)
  }

  async #connect(delayMs: number): Promise<void> {
    if (this.#isConnecting || this.#isClosed) return
    this.#isConnecting = true
    try {
      const connection = await this.#openVerified()
      this.#isConnecting = false
      this.#install(connection)
    } catch (error) {
      this.#isConnecting = false
      this.#log.debug({ problem: rootCauseMessage(error) }, 'no connection to the server of REDIS_URL')
      if (this.#isClosed) return
      const next = Math.min(retryMs.last, delayMs * 2)
      this.#retryTimer = setTimeout(() => void this.#connect(next), delayMs).unref()
    }
  }

  #install(connection: Connection): void {
    this.#connection = connection
    this.status.isConnected = true
    this.#log.info('connected to the server of REDIS_URL')
    for (const listener of this.#reconnectListeners) listener()
  }

  /** Opens a connection that can run scripts and write, and receives messages. */
  async #openVerified(): Promise<Connection> {
    let connection: Connection | null = null
    let hasEnded = false
    const onEnd = () => {
      hasEnded = true
      if (connection) this.#drop(connection, new Error('the connection was lost'))
    }
    connection = await openConnection(this.#config, onEnd)
    try {
      const key = `${this.#config.prefix}:probe`
      await withTimeout(evaluate(connection, key, takeScript, ['0', '1', '60000', '0', '60000']))
      for (const [channel, listener] of this.#channels)
        await withTimeout(connection.subscribe(channel, listener))
      if (hasEnded || this.#isClosed) throw new Error('the connection was lost')
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }
}

/** The server knows a script after it was sent once, until it restarts. */
async function evaluate(
  connection: Connection,
  key: string,
  { sha, text }: Script,
  args: string[],
): Promise<unknown> {
  try {
    return await connection.send(key, ['EVALSHA', sha, '1', key, ...args])
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return connection.send(key, ['EVAL', text, '1', key, ...args])
  }
}

/** Replies that arrived during a pause of this process are read in this time. */
const pauseGraceMs = 10

/** A timer that fires late shows that this process paused, not the server: the limit is extended once. */
function startTimeout(ms: number): { expired: Promise<never>; cancel(): void } {
  const { promise, reject } = Promise.withResolvers<never>()
  const lateAt = performance.now() + ms + pauseGraceMs / 2
  const expire = () => reject(unavailable)
  let timer = setTimeout(() => {
    if (performance.now() < lateAt) expire()
    else timer = setTimeout(expire, pauseGraceMs)
  }, ms)
  // The loser of a race: its rejection is not handled elsewhere.
  promise.catch(() => undefined)
  return { expired: promise, cancel: () => clearTimeout(timer) }
}
