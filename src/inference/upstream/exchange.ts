import type { UpstreamFailure } from '../../formats/call/failure.ts'
import type { UpstreamServices } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { CoarseTimer, Ticking } from '../../platform/time/coarse-timer.ts'
import {
  ClientDisconnectedError,
  ShutdownError,
  timeoutError,
  UpstreamError,
  unexpectedReplyError,
} from '../failures/errors.ts'
import type { Room } from '../rates/room.ts'

/** Milliseconds that the parts of an exchange may take, as in the settings `limits`. */
export interface TimeLimits {
  first_byte: number
  first_content: number
  idle: number
  whole_reply: number
  total: number
}

interface ExchangeContext {
  upstreams: Pick<UpstreamServices, 'exchanges'>
  timer: CoarseTimer
  settings: { limits: TimeLimits }
}

/** One request to an upstream, until the reply is read, the client disconnects, or a timeout ends it. */
export class UpstreamExchange implements Ticking, EventListenerObject {
  readonly #controller = new AbortController()
  readonly signal = this.#controller.signal
  readonly #timer: CoarseTimer
  limits: TimeLimits
  /** Times of the timer at which there must be content, and the end; infinite unless they are declared. */
  contentDueAt = Number.POSITIVE_INFINITY
  endDueAt = Number.POSITIVE_INFINITY
  /** Until this time of the timer only a limit of the request can end it; 0 without such limits. */
  patientUntil = 0
  /** Whether the request has the strictest limit between two events. */
  isIdleRequested = false
  #dueAt = Number.POSITIVE_INFINITY
  #timedOut = false
  #stopping = false
  readonly #client: AbortSignal
  #request: AbortSignal | null = null
  readonly #openExchanges: UpstreamServices['exchanges']
  /** HTTP headers of the trace that the request belongs to. */
  traceHeaders: Readonly<Record<string, string>> | undefined
  /** The candidate of the attempt, whose rates its replies report; null if it is not an attempt. */
  candidateId: string | null = null
  /** What the attempt occupies of known rates; null if none are known. */
  room: Room | null = null
  /** HTTP status of the upstream's response. */
  status: number | null = null

  /** `exchanges` has those in progress, so that a shutdown can end them. */
  constructor(client: AbortSignal, { upstreams: { exchanges }, timer, settings }: ExchangeContext) {
    this.limits = settings.limits
    this.#client = client
    this.#openExchanges = exchanges
    this.#timer = timer
    timer.add(this)
    exchanges.add(this)
    if (client.aborted) this.#controller.abort()
    else client.addEventListener('abort', this)
  }

  /** Replaces the current timeout. */
  setTimeout(ms: number): void {
    this.#dueAt = Math.min(this.#timer.now() + ms, this.endDueAt)
  }

  tick(now: number): void {
    if (now < this.#dueAt) return
    this.#dueAt = Number.POSITIVE_INFINITY
    this.#timedOut = true
    this.#controller.abort()
  }

  /** Ends the exchange with the request that it is a part of. */
  abortWith(request: AbortSignal): void {
    this.#request = request
    request.addEventListener('abort', this)
  }

  /** The client has disconnected, or the request has ended. */
  handleEvent({ currentTarget }: Event): void {
    if (currentTarget === this.#client) this.#controller.abort()
    else this.abort()
  }

  /** Clears the timeout and stops listening to the client and the request. */
  release(): void {
    this.#timer.remove(this)
    this.#openExchanges.delete(this)
    this.#request?.removeEventListener('abort', this)
    this.#client.removeEventListener('abort', this)
  }

  /** The reply is read to its end even if the client disconnects. */
  outliveClient(): void {
    this.#client.removeEventListener('abort', this)
  }

  abort(): void {
    this.release()
    this.#controller.abort()
  }

  /** Aborts the exchange because of a shutdown. */
  stop(): void {
    this.#stopping = true
    this.#controller.abort()
  }

  /** Whether a timeout was the request's own, which says nothing about the endpoint. */
  isRequestedTimeout({ kind, status }: UpstreamFailure): boolean {
    return kind === 'timeout' && status === null && this.#timer.now() < this.patientUntil
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
