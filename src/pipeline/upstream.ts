import type { UpstreamFailure } from '../call/failure.ts'
import type { Endpoint } from '../catalog/model.ts'
import type { UpstreamRequest, UpstreamSide } from '../dialects/dialect.ts'
import type { Gateway } from '../gateway.ts'
import { withDeadline } from '../lib/deadline.ts'
import { retryAfterOf } from '../lib/retry-after.ts'

/** An upstream that failed, in the one form the pipeline knows. */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, cause?: unknown) {
    super(failure.message, { cause })
    this.failure = failure
  }
}

/** The client left: nobody waits for an answer any more. */
export class ClientGoneError extends Error {}

/** One conversation with an upstream, which ends when either side, or a clock, has had enough. */
export class Exchange {
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #late = false
  readonly #client: AbortSignal
  readonly #leave = () => this.#controller.abort()

  constructor(client: AbortSignal) {
    this.#client = client
    if (client.aborted) this.#controller.abort()
    else client.addEventListener('abort', this.#leave)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Replaces the time that is left. */
  allow(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#late = true
      this.#controller.abort()
    }, ms)
  }

  /** The conversation is over, or goes on by other rules. */
  release(): void {
    clearTimeout(this.#timer)
    this.#client.removeEventListener('abort', this.#leave)
  }

  /** The client may leave: what it asked for is read to the end. */
  outliveClient(): void {
    this.#client.removeEventListener('abort', this.#leave)
  }

  abort(): void {
    this.release()
    this.#controller.abort()
  }

  /** What an exception while talking to the upstream means. */
  explain(error: unknown): Error {
    if (error instanceof UpstreamError || error instanceof ClientGoneError) return error
    if (this.#late) return tookTooLong()
    if (this.#client.aborted) return new ClientGoneError()
    return unexpected('The connection to the provider failed.', error)
  }
}

/** A request as it goes out. */
export interface Outgoing extends Pick<UpstreamRequest, 'path' | 'headers'> {
  text: string
  upstream: UpstreamSide
}

/** Sends a request to an endpoint. An answer with an error status is an error here. */
export async function send(
  gateway: Gateway,
  exchange: Exchange,
  endpoint: Endpoint,
  request: Outgoing,
): Promise<Response> {
  const { baseUrl } = endpoint.provider
  if (!gateway.origins.isKnown(baseUrl)) await connect(gateway, exchange, baseUrl)
  const response = await ask(exchange, endpoint, request)
  gateway.origins.answered(baseUrl)
  if (response.ok) return response
  if (response.status < 400) throw unexpected(`The provider answered with status ${response.status}.`)
  const failure = request.upstream.decodeError(response.status, await errorBody(response, exchange))
  const retryAfterMs = failure.retryAfterMs ?? retryAfterOf(response.headers)
  const message = presentable(failure.message, endpoint.provider.apiKey)
  throw new UpstreamError({ ...failure, message, ...(retryAfterMs !== undefined && { retryAfterMs }) })
}

/** A provider's words without the key it was given, and without a web page. */
function presentable(message: string, apiKey: string | null): string {
  if (/^\s*<(!doctype|html)/i.test(message)) return 'The provider answered with a web page.'
  return apiKey ? message.replaceAll(apiKey, '***') : message
}

async function connect(gateway: Gateway, exchange: Exchange, baseUrl: string): Promise<void> {
  try {
    const work = gateway.origins.reach(baseUrl)
    await withDeadline(gateway.settings.limits.connect, work, tookTooLong)
  } catch (error) {
    throw exchange.explain(error)
  }
}

async function ask(exchange: Exchange, { provider }: Endpoint, request: Outgoing): Promise<Response> {
  try {
    return await fetch(provider.baseUrl + request.path, {
      method: 'POST',
      headers: headersOf(provider, request),
      body: request.text,
      signal: exchange.signal,
      // A provider that sends us elsewhere would be sent the key there.
      redirect: 'manual',
      // The clocks are ours: the runtime's own would end a reply that thinks for five minutes.
      timeout: false,
    })
  } catch (error) {
    throw exchange.explain(error)
  }
}

/** Nothing is compressed on the way: each event is to arrive when it is sent. */
const baseHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'headgate',
}

/** The client's own, where they pass, stand before those of the format; nothing stands before the key. */
function headersOf(provider: Endpoint['provider'], { headers, upstream }: Outgoing): HeaderMap {
  const common = standingHeaders(provider, upstream)
  const isPlain = Object.keys(headers).length === 0
  return isPlain ? common : { ...common, ...headers, ...keyOf(provider, upstream) }
}

type HeaderMap = Readonly<Record<string, string>>
const standing = new WeakMap<object, WeakMap<UpstreamSide, HeaderMap>>()

/** What every request to a provider carries; neither it nor the format ever changes. */
function standingHeaders(provider: Endpoint['provider'], upstream: UpstreamSide): HeaderMap {
  const byFormat = standing.get(provider) ?? new WeakMap<UpstreamSide, HeaderMap>()
  const known = byFormat.get(upstream)
  if (known) return known
  const headers = {
    ...baseHeaders,
    ...upstream.customs.headers,
    ...provider.headers,
    ...keyOf(provider, upstream),
  }
  standing.set(provider, byFormat.set(upstream, headers))
  return headers
}

function keyOf({ apiKey, keyHeader }: Endpoint['provider'], { customs }: UpstreamSide): HeaderMap {
  if (apiKey === null) return {}
  const name = keyHeader ?? customs.keyHeader ?? bearer
  return { [name]: name === bearer ? `Bearer ${apiKey}` : apiKey }
}

const bearer = 'authorization'

/** Error bodies are a few lines; what is longer is not read. */
const maxErrorBytes = 64 * 1024

async function errorBody(response: Response, exchange: Exchange): Promise<unknown> {
  const text = await readBounded(response, maxErrorBytes, exchange).catch(() => '')
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The body of a whole reply. */
export async function readBounded(response: Response, maxBytes: number, exchange: Exchange): Promise<string> {
  const declared = Number(response.headers.get('content-length') ?? Number.NaN)
  if (declared > maxBytes) throw tooLarge()
  // A compressed body is longer than it says.
  const isPlain = declared >= 0 && !response.headers.has('content-encoding')
  try {
    return isPlain ? await response.text() : await readChunks(response, maxBytes)
  } catch (error) {
    throw exchange.explain(error)
  }
}

async function readChunks(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function tooLarge(): UpstreamError {
  return unexpected('The reply of the provider is too large.')
}

/** A provider that does not keep to its own protocol. */
export function unexpected(message: string, cause?: unknown): UpstreamError {
  return new UpstreamError({ kind: 'provider_unavailable', status: null, message }, cause)
}

export function tookTooLong(): UpstreamError {
  return new UpstreamError({ kind: 'timeout', status: null, message: 'The provider took too long.' })
}
