import type { Gateway } from '../../app/gateway.ts'
import type { UpstreamCodec } from '../../dialects/dialect.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { EgressError, sendStreaming } from '../../lib/egress-client.ts'
import { parseRetryAfter } from '../../lib/retry-after.ts'
import type { SignInOptions } from '../../sign-in/all.ts'
import { type HeaderMap, type SignInContext, SignInError } from '../../sign-in/scheme.ts'
import { bearerHeader } from '../../sign-in/token.ts'
import type { UpstreamAccess } from './access.ts'
import { timeoutError, UpstreamError, unexpectedReplyError } from './errors.ts'
import { readBounded } from './read-body.ts'
import {
  collectSecrets,
  mapDetail,
  redactLongSecrets,
  redactSecrets,
  type SecretSource,
} from './redact-secrets.ts'
import type { UpstreamExchange } from './upstream-exchange.ts'

/** A request as it goes out. */
export interface UpstreamCall {
  path: string
  headers: HeaderMap
  text: string
  upstream: UpstreamCodec
  access: UpstreamAccess
  /** The provider has words of its own for what the format says in headers. */
  isShaped: boolean
}

/** An answer, and what nobody may read should the provider say it in there. */
export interface UpstreamResponse {
  response: Response
  secrets: SecretSource
  /** How long a whole reply may be. */
  maxBytes: number
  /** How many objects and lists a whole reply, or an event, may be made of. */
  maxContainers: number
}

/** Sends a request. An answer with an error status is an error here. */
export async function send(
  gateway: Gateway,
  exchange: UpstreamExchange,
  request: UpstreamCall,
): Promise<UpstreamResponse> {
  const { access, upstream } = request
  const answered = await sendSigned(gateway, exchange, request)
  const { response, secrets } = answered
  if (response.ok) return answered
  if (response.status < 400)
    throw unexpectedReplyError(`The provider answered with status ${response.status}.`)
  const failure = upstream.decodeError(response.status, await readErrorBody(answered, exchange))
  if (response.status === 401)
    gateway.requestSigner.forgetToken(access.credential, buildSignInContext(gateway, access, upstream))
  const retryAfterMs = failure.retryAfterMs ?? parseRetryAfter(response.headers)
  const discreet = (text: string) => redactSecrets(text, secrets())
  throw new UpstreamError({
    ...failure,
    message: discreet(sanitizeMessage(failure.message)),
    ...(failure.detail && { detail: mapDetail(failure.detail, discreet) }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** A provider's words, and not a web page. */
function sanitizeMessage(message: string): string {
  return /^\s*<(!doctype|html)/i.test(message) ? 'The provider answered with a web page.' : message
}

/** A server that a user runs is not given the room that a provider has. */
const maxUserNamedBytes = 16 * 1024 * 1024
const maxUserNamedContainers = 100_000

/** Enough for the logprobs of a long reply. */
const maxContainers = 1_000_000

async function sendSigned(
  gateway: Gateway,
  exchange: UpstreamExchange,
  request: UpstreamCall,
): Promise<UpstreamResponse> {
  const { access, path, text } = request
  if (access.problem !== null) throw signInError(new SignInError(access.problem))
  const { baseUrl } = access
  const isReached = access.isUserNamed || gateway.origins.isRecentlyReached(baseUrl)
  if (!isReached) await connect(gateway, exchange, baseUrl)
  const url = baseUrl + path + access.query
  const plain = { url, headers: buildHeaders(request), body: text }
  const signature = await sign(gateway, request, plain)
  const signed = { ...plain, headers: { ...plain.headers, ...signature } }
  const response = await (access.isUserNamed
    ? postToUserNamed(gateway, exchange, signed)
    : postToProvider(exchange, signed))
  if (!access.isUserNamed) gateway.origins.markReached(baseUrl)
  const { reply_bytes } = gateway.settings.limits
  const maxBytes = access.isUserNamed ? Math.min(maxUserNamedBytes, reply_bytes) : reply_bytes
  return {
    response,
    secrets: () => collectSecrets(access, signature),
    maxBytes,
    maxContainers: access.isUserNamed ? maxUserNamedContainers : maxContainers,
  }
}

async function connect(gateway: Gateway, exchange: UpstreamExchange, baseUrl: string): Promise<void> {
  try {
    const work = gateway.origins.probe(baseUrl)
    await withDeadline(gateway.settings.limits.connect, work, timeoutError)
  } catch (error) {
    throw exchange.toError(error)
  }
}

interface HttpPost {
  url: string
  headers: HeaderMap
  body: string
}

async function postToProvider(
  exchange: UpstreamExchange,
  { url, headers, body }: HttpPost,
): Promise<Response> {
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
    throw exchange.toError(error)
  }
}

/** By the rules for every address that a user writes. */
async function postToUserNamed(
  gateway: Gateway,
  exchange: UpstreamExchange,
  posted: HttpPost,
): Promise<Response> {
  const { egress, limits } = gateway.settings
  try {
    return await sendStreaming(
      { ...posted, method: 'POST', headers: { ...posted.headers } },
      { allowPrivate: egress.allow_private, connectMs: limits.connect, signal: exchange.signal },
    )
  } catch (error) {
    if (exchange.signal.aborted || !(error instanceof EgressError)) throw exchange.toError(error)
    throw error.kind === 'timeout' ? timeoutError() : unexpectedReplyError(error.message)
  }
}

/** Nothing is compressed on the way: each event is to arrive when it is sent. */
const baseHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'headgate',
}

/** The client's own, where they pass, stand before those of the format; nothing stands before the signature. */
function buildHeaders(request: UpstreamCall): HeaderMap {
  const keyContext = cachedHeaders(request)
  const isPlain = Object.keys(request.headers).length === 0
  return isPlain ? keyContext : { ...keyContext, ...request.headers }
}

const baseHeaderCache = new WeakMap<UpstreamAccess, WeakMap<UpstreamCodec, HeaderMap>>()

/** What every request by one way carries; neither the way nor the format ever changes. */
function cachedHeaders({ upstream, access, isShaped }: UpstreamCall): HeaderMap {
  const byFormat = baseHeaderCache.get(access) ?? new WeakMap<UpstreamCodec, HeaderMap>()
  const known = byFormat.get(upstream)
  if (known) return known
  const { provider } = access.endpoint
  // What the operator has every request carry is for the operator's own address.
  const isHome = access.baseUrl === provider.installation.address
  const headers = {
    ...baseHeaders,
    ...(!isShaped && upstream.defaults.headers),
    ...(isHome && provider.headers),
  }
  baseHeaderCache.set(access, byFormat.set(upstream, headers))
  return headers
}

async function sign(gateway: Gateway, request: UpstreamCall, plain: HttpPost): Promise<HeaderMap> {
  const { access, upstream } = request
  try {
    const context = buildSignInContext(gateway, access, upstream)
    return await gateway.requestSigner.sign({ method: 'POST', ...plain }, access.credential, context)
  } catch (error) {
    if (error instanceof SignInError) throw signInError(error)
    throw error
  }
}

function buildSignInContext(
  gateway: Gateway,
  { endpoint, settings }: UpstreamAccess,
  { defaults }: UpstreamCodec,
): SignInContext<SignInOptions | undefined> {
  const { keyHeader, signIn } = endpoint.provider
  return {
    keyHeader: keyHeader ?? defaults.keyHeader ?? bearerHeader,
    settings,
    options: signIn,
    allowPrivate: gateway.settings.egress.allow_private,
  }
}

/** Error bodies are a few lines; what is longer is not read. */
const maxErrorBytes = 64 * 1024

async function readErrorBody(
  { response, secrets }: UpstreamResponse,
  exchange: UpstreamExchange,
): Promise<unknown> {
  const read = await readBounded(response, maxErrorBytes, exchange).catch(() => '')
  const text = redactLongSecrets(read, secrets())
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Never the client's fault, and none of its business: its own key was fine. The log says why. */
function signInError(cause: SignInError): UpstreamError {
  return new UpstreamError({ kind: 'authentication', status: null, message: cause.message }, cause)
}
