import type { Gateway } from '../../app/gateway.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import {
  ClientDisconnectedError,
  ShutdownError,
  timeoutError,
  UpstreamError,
  unexpectedReplyError,
} from './errors.ts'

/** One request to an upstream, until the reply is read, the client disconnects, or a timeout ends it. */
export class UpstreamExchange {
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #timedOut = false
  #stopping = false
  readonly #client: AbortSignal
  #request: AbortSignal | null = null
  readonly #openExchanges: Gateway['exchanges']
  /** Of the trace that the request belongs to. */
  traceHeaders: Readonly<Record<string, string>> | undefined
  /** Of the upstream's response. */
  status: number | null = null
  readonly #onClientGone = () => this.#controller.abort()
  readonly #onRequestEnd = () => this.abort()

  /** `open` holds the exchanges in progress, so that a shutdown can end them. */
  constructor(client: AbortSignal, open: Gateway['exchanges']) {
    this.#client = client
    this.#openExchanges = open
    open.add(this)
    if (client.aborted) this.#controller.abort()
    else client.addEventListener('abort', this.#onClientGone)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Replaces the current timeout. */
  setTimeout(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timedOut = true
      this.#controller.abort()
    }, ms)
  }

  /** Ends the exchange with the request that it is a part of. */
  abortWith(request: AbortSignal): void {
    this.#request = request
    request.addEventListener('abort', this.#onRequestEnd)
  }

  /** Clears the timeout and stops listening to the client and the request. */
  release(): void {
    clearTimeout(this.#timer)
    this.#openExchanges.delete(this)
    this.#request?.removeEventListener('abort', this.#onRequestEnd)
    this.#client.removeEventListener('abort', this.#onClientGone)
  }

  /** The reply is read to its end even if the client disconnects. */
  outliveClient(): void {
    this.#client.removeEventListener('abort', this.#onClientGone)
  }

  abort(): void {
    this.release()
    this.#controller.abort()
  }

  /** For a shutdown. */
  stop(): void {
    this.#stopping = true
    this.#controller.abort()
  }

  /** Maps an exception during the exchange to its cause: a shutdown, a timeout, a disconnect or the upstream. */
  toError(error: unknown): Error {
    if (
      error instanceof UpstreamError ||
      error instanceof ClientDisconnectedError ||
      error instanceof GatewayError
    )
      return error
    if (this.#stopping) return new ShutdownError()
    if (this.#timedOut) return timeoutError()
    if (this.#client.aborted) return new ClientDisconnectedError()
    return unexpectedReplyError('The connection to the provider failed.', error)
  }
}
