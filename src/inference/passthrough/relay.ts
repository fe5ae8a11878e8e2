import type { HeaderMap, UpstreamBody } from '../../catalog/provider-auth/scheme.ts'
import { upstreamFormats } from '../../formats/all.ts'
import { zeroUsage } from '../../formats/call/usage.ts'
import { isTextWireFormat } from '../../formats/vocabulary.ts'
import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { zeroCharge } from '../../ledger/charge.ts'
import { GatewayError, gatewayError } from '../../platform/errors/gateway-error.ts'
import { ClientWait, clientWaits } from '../../platform/http/response-traits.ts'
import { UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import { toClientError, toFailedAttempt } from '../failures/failure.ts'
import { redactUnparsed } from '../failures/redact-secrets.ts'
import type { Outcome } from '../request/attempts.ts'
import type { Admitted } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { computeCharge, settleOnce } from '../settle/settle.ts'
import { settleFailure } from '../settle/settle-failure.ts'
import type { ProviderAccess } from '../upstream/access.ts'
import { drainAbandoned } from '../upstream/drain-abandoned.ts'
import { UpstreamExchange } from '../upstream/exchange.ts'
import { readBounded } from '../upstream/read-body.ts'
import { send, type UpstreamResponse } from '../upstream/send.ts'
import { selectResponseHeaders } from './headers.ts'
import { NoUsageReader, StreamUsageReader, type UsageReader, WholeUsageReader } from './reply-usage.ts'
import type { PassthroughMethod } from './settings.ts'

/** A request as it is sent. */
export interface Outgoing {
  method: PassthroughMethod
  /** With the query. */
  path: string
  headers: HeaderMap
  body: UpstreamBody
  access: ProviderAccess
  candidate: Candidate
  /** Whether the reply is billed by the tokens that it reports. */
  isByToken: boolean
  /** The error of a body that could not be read to its end. */
  problem(): unknown
}

/** A slower upload is given up. */
const minUploadBytesPerMs = 64

/** Sends an admitted request, and relays its reply. It is settled exactly once, however it ends. */
export async function relayRequest(
  gateway: Gateway,
  request: Admitted,
  outgoing: Outgoing,
): Promise<Response> {
  const { access, candidate, method, path, headers, body } = outgoing
  const { attempts, httpRequest } = request
  attempts.candidate = candidate
  attempts.lastStartedAt = performance.now()
  const exchange = new UpstreamExchange(httpRequest.signal, gateway)
  const bytes = Number(httpRequest.headers.get('content-length') ?? 0)
  exchange.setTimeout(gateway.settings.limits.first_byte + bytes / minUploadBytesPerMs)
  const finished = Promise.withResolvers<void>()
  try {
    const { billsAbandoned, wireFormats } = access.provider
    const name = wireFormats.find(isTextWireFormat) ?? 'chat'
    const replying = send(gateway, exchange, {
      ...(method !== 'POST' && { method }),
      path,
      headers,
      body,
      access,
      upstream: upstreamFormats[name].upstream,
      acceptsErrors: true,
      isAdapted: false,
    })
    // An operation that has begun at the provider has its effect, whether or not the client waits for it.
    if (billsAbandoned) drainAbandoned(gateway, request, exchange, finished.promise)
    else if (method !== 'GET') drainAbandoned(gateway, request, exchange, replying)
    const received = await replying
    if (!received.response.ok) {
      const response = await relayError(gateway, request, exchange, received)
      finished.resolve()
      return response
    }
    const parts = { outgoing, exchange, received, finish: finished.resolve }
    return await new PassthroughReply(gateway, request, parts).open()
  } catch (error) {
    finished.resolve()
    exchange.abort()
    throw await settleFailure(gateway, request, toRequestError(request, outgoing, error))
  }
}

function toRequestError({ attempts }: Admitted, { candidate, problem }: Outgoing, error: unknown): unknown {
  const ofBody = problem()
  if (ofBody instanceof GatewayError) return ofBody
  if (!(error instanceof UpstreamError)) return error
  return toClientError([toFailedAttempt(candidate, error.failure, attempts.lastStartedAt, true)])
}

const maxErrorBytes = 256 * 1024

/** The provider's own error, without the credential should it repeat it. Nothing is charged. */
async function relayError(
  gateway: Gateway,
  request: Admitted,
  exchange: UpstreamExchange,
  { response, secrets }: UpstreamResponse,
): Promise<Response> {
  const { status, headers } = response
  const text = await readBounded(response, maxErrorBytes, exchange)
  exchange.release()
  const code =
    status === 429 ? 'upstream_rate_limited' : status < 500 ? 'upstream_rejected' : 'upstream_failed'
  const error = gatewayError(code, `The provider responded with status ${status}.`)
  await settleOnce(gateway, request, {
    ...{ status: 'failed', charge: zeroCharge, summary: null, error, firstTokenMs: null },
  })
  return new Response(redactUnparsed(text, secrets()), {
    status,
    headers: { ...selectResponseHeaders(headers, secrets()), 'x-generation-id': request.id },
  })
}

interface ReplyParts {
  outgoing: Outgoing
  exchange: UpstreamExchange
  received: UpstreamResponse
  finish(): void
}

/** A successful reply, relayed as it arrives. Its end is sent once its charge is durable. */
class PassthroughReply {
  readonly #gateway: Gateway
  readonly #request: Admitted
  readonly #parts: ReplyParts
  readonly #usage: UsageReader
  readonly #startedAt: number
  readonly #maxBytes: number
  readonly #wait = new ClientWait()
  #reader: Pick<ReadableStreamDefaultReader<Uint8Array>, 'read'> | null = null
  #bytes = 0
  #isSettled = false

  constructor(gateway: Gateway, request: Admitted, parts: ReplyParts) {
    this.#gateway = gateway
    this.#request = request
    this.#parts = parts
    this.#usage = createUsageReader(parts)
    this.#startedAt = gateway.timer.now()
    this.#maxBytes = Math.max(parts.received.maxBytes, gateway.settings.files.max_bytes)
  }

  async open(): Promise<Response> {
    const { response, secrets } = this.#parts.received
    this.#reader = response.body?.getReader() ?? null
    const headers = {
      ...selectResponseHeaders(response.headers, secrets()),
      'x-generation-id': this.#request.id,
    }
    const { signal } = this.#request.httpRequest
    // The body is never read if the client disconnects before it starts.
    if (signal.aborted) void this.#abandon()
    else signal.addEventListener('abort', () => void this.#abandon(), { once: true })
    const hasBody = response.status !== 204 && response.status !== 205
    const stream = new ReadableStream<Uint8Array>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#abandon() },
      { highWaterMark: 0 },
    )
    const relayed = new Response(hasBody ? stream : null, { status: response.status, headers })
    if (hasBody) clientWaits.set(relayed, this.#wait)
    else await this.#finishEmpty()
    return relayed
  }

  async #finishEmpty(): Promise<void> {
    this.#usage.end()
    await this.#settle('completed', null)
    this.#end()
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      this.#wait.end()
      const chunk = await this.#read()
      if (chunk === null) {
        await this.#settle('completed', null)
        this.#end()
        return controller.close()
      }
      if (this.#usage.isComplete) await this.#settle('completed', null)
      controller.enqueue(chunk)
      this.#wait.begin()
    } catch (error) {
      await this.#fail(error)
      controller.error(error)
    }
  }

  /** The next bytes; null at the end of the reply. */
  async #read(): Promise<Uint8Array | null> {
    const { exchange } = this.#parts
    const { idle, total } = this.#gateway.settings.limits
    exchange.setTimeout(Math.min(idle, this.#startedAt + total - this.#gateway.timer.now()))
    try {
      const { done = true, value } = (await this.#reader?.read()) ?? {}
      this.#request.attempts.firstTokenMs ??= performance.now() - this.#request.startedAt
      if (done || !value) {
        this.#usage.end()
        return null
      }
      this.#bytes += value.byteLength
      if (this.#bytes > this.#maxBytes)
        throw unexpectedReplyError(`The reply has more than ${this.#maxBytes} bytes.`)
      this.#usage.push(value)
      return value
    } catch (error) {
      throw exchange.toError(error)
    }
  }

  async #fail(error: unknown): Promise<void> {
    const clientError = toRequestError(this.#request, this.#parts.outgoing, error)
    const known =
      clientError instanceof GatewayError
        ? clientError
        : new GatewayError('upstream_failed', { cause: error })
    await this.#settle('failed', known).catch(() => undefined)
    this.#parts.exchange.abort()
    this.#parts.finish()
  }

  /** The client has left. Providers that bill such a reply anyway are read to its end. */
  async #abandon(): Promise<void> {
    if (this.#isSettled) return this.#end()
    if (this.#parts.outgoing.access.provider.billsAbandoned && !this.#usage.isComplete) await this.#drain()
    await this.#settle('cancelled', null).catch(() => undefined)
    this.#parts.exchange.abort()
    this.#parts.finish()
  }

  async #drain(): Promise<void> {
    try {
      while ((await this.#read()) !== null);
    } catch {
      // What has arrived until now is charged.
    }
  }

  async #settle(status: Outcome['status'], error: GatewayError | null): Promise<void> {
    this.#isSettled = true
    const summary = this.#summarize()
    const charge = computeCharge(this.#gateway, this.#request, summary, status === 'failed')
    const { firstTokenMs } = this.#request.attempts
    await settleOnce(this.#gateway, this.#request, { status, charge, summary, error, firstTokenMs })
  }

  /** A price by request is for the operation, which the provider has accepted. */
  #summarize(): ReplySummary {
    const { usage, characters, isComplete } = this.#usage
    const ended = { hasContent: true, isComplete: true, finishReasons: [{ reason: 'stop', native: null }] }
    const summary = newReplySummary()
    if (!this.#parts.outgoing.isByToken) return { ...summary, ...ended, usage: zeroUsage }
    if (!isComplete) return { ...summary, hasContent: true, usage, characters }
    return { ...summary, ...ended, usage, characters }
  }

  #end(): void {
    this.#parts.exchange.release()
    this.#parts.finish()
  }
}

function createUsageReader({ outgoing, received: { response } }: ReplyParts): UsageReader {
  if (!outgoing.isByToken) return new NoUsageReader()
  const type = response.headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) return new StreamUsageReader()
  return /json/.test(type) ? new WholeUsageReader() : new NoUsageReader()
}
