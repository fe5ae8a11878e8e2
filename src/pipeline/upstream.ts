import type { UpstreamSide } from '../dialects/dialect.ts'
import type { Gateway } from '../gateway.ts'
import { withDeadline } from '../lib/deadline.ts'
import { converse, DeliveryError } from '../lib/deliver.ts'
import { retryAfterOf } from '../lib/retry-after.ts'
import { TextPieces } from '../lib/text-pieces.ts'
import { type HeaderMap, type Means, SignInError } from '../sign-in/scheme.ts'
import { signIn } from '../sign-in/sign-in.ts'
import { bearer } from '../sign-in/token.ts'
import type { Access } from './access.ts'
import { mapDetail, type Secrets, secretsOf, withoutLongSecrets, withoutSecrets } from './discretion.ts'
import { ClientGoneError, StoppingError, tookTooLong, UpstreamError, unexpected } from './upstream-error.ts'

/** One conversation with an upstream, which ends when either side, or a clock, has had enough. */
export class Exchange {
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #late = false
  #stopping = false
  readonly #client: AbortSignal
  readonly #active: Gateway['exchanges']
  readonly #leave = () => this.#controller.abort()

  /** `active` holds the exchanges that are under way. */
  constructor(client: AbortSignal, active: Gateway['exchanges']) {
    this.#client = client
    this.#active = active
    active.add(this)
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
    this.#active.delete(this)
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

  /** Ends it because this process must stop. */
  stop(): void {
    this.#stopping = true
    this.#controller.abort()
  }

  /** What an exception while talking to the upstream means. */
  explain(error: unknown): Error {
    if (error instanceof UpstreamError || error instanceof ClientGoneError) return error
    if (this.#stopping) return new StoppingError()
    if (this.#late) return tookTooLong()
    if (this.#client.aborted) return new ClientGoneError()
    return unexpected('The connection to the provider failed.', error)
  }
}

/** A request as it goes out. */
export interface Outgoing {
  path: string
  headers: HeaderMap
  text: string
  upstream: UpstreamSide
  access: Access
  /** The provider has words of its own for what the format says in headers. */
  isShaped: boolean
}

/** An answer, and what nobody may read should the provider say it in there. */
export interface Answered {
  response: Response
  secrets: Secrets
  /** How long a whole reply may be. */
  mostBytes: number
  /** How many objects and lists a whole reply, or an event, may be made of. */
  mostContainers: number
}

/** Sends a request. An answer with an error status is an error here. */
export async function send(gateway: Gateway, exchange: Exchange, request: Outgoing): Promise<Answered> {
  const { access, upstream } = request
  const answered = await ask(gateway, exchange, request)
  const { response, secrets } = answered
  if (response.ok) return answered
  if (response.status < 400) throw unexpected(`The provider answered with status ${response.status}.`)
  const failure = upstream.decodeError(response.status, await errorBody(answered, exchange))
  if (response.status === 401) forgetToken(gateway, access)
  const retryAfterMs = failure.retryAfterMs ?? retryAfterOf(response.headers)
  const discreet = (text: string) => withoutSecrets(text, secrets())
  throw new UpstreamError({
    ...failure,
    message: discreet(presentable(failure.message)),
    ...(failure.detail && { detail: mapDetail(failure.detail, discreet) }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** A provider's words, and not a web page. */
function presentable(message: string): string {
  return /^\s*<(!doctype|html)/i.test(message) ? 'The provider answered with a web page.' : message
}

/** A server that a user runs is not given the room that a provider has. */
const userNamedBytes = 16 * 1024 * 1024
const userNamedContainers = 100_000

/** Enough for the logprobs of a long reply. */
const mostContainers = 1_000_000

async function ask(gateway: Gateway, exchange: Exchange, request: Outgoing): Promise<Answered> {
  const { access, path, text } = request
  if (access.problem !== null) throw notSignedIn(new SignInError(access.problem))
  const { baseUrl } = access
  const isReached = access.isUserNamed || gateway.origins.isKnown(baseUrl)
  if (!isReached) await connect(gateway, exchange, baseUrl)
  const url = baseUrl + path + access.query
  const plain = { url, headers: headersOf(request), body: text }
  const signature = await signatureOf(gateway, request, plain)
  const signed = { ...plain, headers: { ...plain.headers, ...signature } }
  const response = await (access.isUserNamed
    ? askUserNamed(gateway, exchange, signed)
    : askProvider(exchange, signed))
  if (!access.isUserNamed) gateway.origins.answered(baseUrl)
  const { reply_bytes } = gateway.settings.limits
  const mostBytes = access.isUserNamed ? Math.min(userNamedBytes, reply_bytes) : reply_bytes
  return {
    response,
    secrets: () => secretsOf(access, signature),
    mostBytes,
    mostContainers: access.isUserNamed ? userNamedContainers : mostContainers,
  }
}

async function connect(gateway: Gateway, exchange: Exchange, baseUrl: string): Promise<void> {
  try {
    const work = gateway.origins.reach(baseUrl)
    await withDeadline(gateway.settings.limits.connect, work, tookTooLong)
  } catch (error) {
    throw exchange.explain(error)
  }
}

interface Posted {
  url: string
  headers: HeaderMap
  body: string
}

async function askProvider(exchange: Exchange, { url, headers, body }: Posted): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers,
      body,
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

/** By the rules for every address that a user writes. */
async function askUserNamed(gateway: Gateway, exchange: Exchange, posted: Posted): Promise<Response> {
  const { egress, limits } = gateway.settings
  try {
    return await converse(
      { ...posted, method: 'POST', headers: { ...posted.headers } },
      { allowPrivate: egress.allow_private, connectMs: limits.connect, signal: exchange.signal },
    )
  } catch (error) {
    if (exchange.signal.aborted || !(error instanceof DeliveryError)) throw exchange.explain(error)
    throw error.problem === 'timeout' ? tookTooLong() : unexpected(error.message)
  }
}

/** Nothing is compressed on the way: each event is to arrive when it is sent. */
const baseHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'headgate',
}

/** The client's own, where they pass, stand before those of the format; nothing stands before the signature. */
function headersOf(request: Outgoing): HeaderMap {
  const standing = standingHeaders(request)
  const isPlain = Object.keys(request.headers).length === 0
  return isPlain ? standing : { ...standing, ...request.headers }
}

const standingOf = new WeakMap<Access, WeakMap<UpstreamSide, HeaderMap>>()

/** What every request by one way carries; neither the way nor the format ever changes. */
function standingHeaders({ upstream, access, isShaped }: Outgoing): HeaderMap {
  const byFormat = standingOf.get(access) ?? new WeakMap<UpstreamSide, HeaderMap>()
  const known = byFormat.get(upstream)
  if (known) return known
  const { provider } = access.endpoint
  // What the operator has every request carry is for the operator's own address.
  const isHome = access.baseUrl === provider.installed.address
  const headers = {
    ...baseHeaders,
    ...(!isShaped && upstream.customs.headers),
    ...(isHome && provider.headers),
  }
  standingOf.set(access, byFormat.set(upstream, headers))
  return headers
}

async function signatureOf(gateway: Gateway, request: Outgoing, plain: Posted): Promise<HeaderMap> {
  const { access, upstream } = request
  try {
    const means = meansFor(gateway, access, upstream)
    return await signIn({ method: 'POST', ...plain }, access.credential, means)
  } catch (error) {
    if (error instanceof SignInError) throw notSignedIn(error)
    throw error
  }
}

function meansFor(gateway: Gateway, { endpoint, settings }: Access, { customs }: UpstreamSide): Means {
  const { keyHeader, awsService = '', tokenUrl = '' } = endpoint.provider
  return {
    clock: gateway.clock,
    grants: gateway.grants,
    keyHeader: keyHeader ?? customs.keyHeader ?? bearer,
    service: awsService,
    region: settings.region ?? '',
    tokenUrl,
    allowPrivate: gateway.settings.egress.allow_private,
  }
}

/** It may have been taken back: the next request asks for another. */
function forgetToken(gateway: Gateway, { credential, endpoint }: Access): void {
  const { tokenUrl = '' } = endpoint.provider
  if (credential.kind === 'service-account') gateway.grants.forget(credential, tokenUrl)
}

/** Error bodies are a few lines; what is longer is not read. */
const maxErrorBytes = 64 * 1024

async function errorBody({ response, secrets }: Answered, exchange: Exchange): Promise<unknown> {
  const read = await readBounded(response, maxErrorBytes, exchange).catch(() => '')
  const text = withoutLongSecrets(read, secrets())
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
  const isShort = declared <= shortReply && !response.headers.has('content-encoding')
  try {
    return isShort ? await response.text() : await readChunks(response, maxBytes)
  } catch (error) {
    throw exchange.explain(error)
  }
}

/** In one piece. */
const shortReply = 256 * 1024

/** Decoded as it comes: the bytes need not be kept beside the text, nor decoded in one go. */
async function readChunks(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  const pieces = new TextPieces()
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLarge()
    pieces.add(decoder.decode(chunk, { stream: true }))
  }
  pieces.add(decoder.decode())
  return pieces.take()
}

function tooLarge(): UpstreamError {
  return unexpected('The reply of the provider is too large.')
}

/** Never the client's fault, and none of its business: its own key was fine. The log says why. */
function notSignedIn(cause: SignInError): UpstreamError {
  return new UpstreamError({ kind: 'authentication', status: null, message: cause.message }, cause)
}
