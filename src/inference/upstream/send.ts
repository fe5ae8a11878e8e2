import type { AuthOptions } from '../../catalog/provider-auth/all.ts'
import {
  type AuthContext,
  type HeaderMap,
  isStreamed,
  ProviderAuthError,
  type UpstreamBody,
} from '../../catalog/provider-auth/scheme.ts'
import { bearerHeader } from '../../catalog/provider-auth/token.ts'
import type { UpstreamCodec, WireFormatDefaults } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { EgressError, sendStreaming } from '../../platform/http/egress-client.ts'
import { parseRetryAfter } from '../../platform/http/retry-after.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { withDeadline } from '../../platform/time/deadline.ts'
import { timeoutError, UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import {
  collectSecrets,
  mapDetail,
  redactSecrets,
  redactUnparsed,
  type SecretSource,
} from '../failures/redact-secrets.ts'
import { learnRates } from '../rates/learn.ts'
import { anthropicMarker, openaiMarker } from '../rates/rate-headers.ts'
import type { ProviderAccess } from './access.ts'
import type { UpstreamExchange } from './exchange.ts'
import { readBounded } from './read-body.ts'

/** The properties of a wire format that sending depends on. */
export interface WireFormat {
  defaults: Pick<WireFormatDefaults, 'headers' | 'keyHeader' | 'keyScheme'>
  decodeError: UpstreamCodec['decodeError']
}

/** A request in the form it is sent in. */
export interface UpstreamCall {
  /** POST when absent. */
  method?: 'GET' | 'DELETE' | 'PUT' | 'PATCH'
  path: string
  headers: HeaderMap
  body: UpstreamBody
  upstream: WireFormat
  access: ProviderAccess
  /** Whether a redirect is a response: the caller follows it without the credential. */
  acceptsRedirect?: true
  /** Whether an error status is a response too: the caller relays it. */
  acceptsErrors?: true
  /** Whether the provider's wire adapts the request, so that the default headers of the wire format do not apply. */
  isAdapted: boolean
}

/** A response, and the secrets to redact should the provider repeat them in it. */
export interface UpstreamResponse {
  /** The call that this is the response to. */
  call: UpstreamCall
  response: Response
  secrets: SecretSource
  /** The limit of a whole reply. */
  maxBytes: number
  /** The limit of JSON values in a whole reply or an event. */
  maxValues: number
  /** The limit of its parts. */
  maxParts: number
}

/** Sends a request; throws an `UpstreamError` for an error status. */
export async function send(
  gateway: Gateway,
  exchange: UpstreamExchange,
  call: UpstreamCall,
): Promise<UpstreamResponse> {
  const { access, upstream } = call
  const received = await sendSigned(gateway, exchange, call)
  const { response, secrets } = received
  if (response.ok || (call.acceptsRedirect && response.status < 400)) return received
  if (response.status < 400)
    throw unexpectedReplyError(`The provider responded with status ${response.status}.`)
  if (response.status === 401)
    gateway.upstreams.signer.forgetToken(access.credential, buildAuthContext(gateway, access, upstream))
  if (call.acceptsErrors) return received
  const failure = upstream.decodeError(response.status, await readErrorBody(received, exchange))
  const retryAfterMs = failure.retryAfterMs ?? parseRetryAfter(response.headers)
  const redact = (text: string) => redactSecrets(text, secrets())
  throw new UpstreamError({
    ...failure,
    message: redact(sanitizeMessage(failure.message)),
    ...(failure.detail && { detail: mapDetail(failure.detail, redact) }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** Proxies in front of a provider send HTML error pages. */
function sanitizeMessage(message: string): string {
  return /^\s*<(!doctype|html)/i.test(message) ? 'The provider responded with a web page.' : message
}

/** Limits for servers at addresses supplied by users, lower than for providers. */
const maxUserNamedBytes = 16 * 1024 * 1024
const maxUserNamedValues = 200_000

async function sendSigned(
  gateway: Gateway,
  exchange: UpstreamExchange,
  call: UpstreamCall,
): Promise<UpstreamResponse> {
  const { access, path, method = 'POST', body } = call
  if (access.problem !== null) throw providerAuthError(new ProviderAuthError(access.problem))
  const { baseUrl } = access
  const probing = ensureReachable(gateway, exchange, access)
  if (probing) await probing
  const url = baseUrl + path + access.query
  const shared = findSharedHeaders(gateway, call)
  // Forwarded client headers override the defaults of the format; the signature overrides both.
  const plainHeaders = { ...shared.defaults, ...call.headers }
  const signature =
    shared.signature ?? (await sign(gateway, call, { method, url, headers: plainHeaders, body }))
  // Not signed: a proxy may continue the trace with a span of its own.
  const headers = { ...plainHeaders, ...signature, ...exchange.traceHeaders }
  const request: HttpRequest = { method, url, headers, body }
  const response = await (access.isUserNamed
    ? requestUserNamed(gateway, exchange, request)
    : requestProvider(exchange, request))
  exchange.status = response.status
  if (response.headers.has(openaiMarker) || response.headers.has(anthropicMarker))
    learnRates(gateway, exchange, response.headers)
  if (!access.isUserNamed) gateway.upstreams.origins.markReached(baseUrl)
  const { reply_bytes, reply_values, reply_parts } = gateway.settings.limits
  const { isUserNamed } = access
  return {
    call,
    response,
    secrets: toSecretSource(access, signature),
    maxBytes: isUserNamed ? Math.min(maxUserNamedBytes, reply_bytes) : reply_bytes,
    maxValues: isUserNamed ? Math.min(maxUserNamedValues, reply_values) : reply_values,
    maxParts: reply_parts,
  }
}

/** A function of its own, because a closure in `sendSigned` would hold the whole request in memory. */
function toSecretSource(access: ProviderAccess, signature: HeaderMap): SecretSource {
  return () => collectSecrets(access, signature)
}

/** Rejects if the server cannot be connected to, before anything is sent; null if it was reached recently. */
export function ensureReachable(
  gateway: Gateway,
  exchange: UpstreamExchange,
  { baseUrl, isUserNamed }: ProviderAccess,
): Promise<void> | null {
  if (isUserNamed || gateway.upstreams.origins.isRecentlyReached(baseUrl)) return null
  return probeOrigin(gateway, exchange, baseUrl)
}

async function probeOrigin(gateway: Gateway, exchange: UpstreamExchange, baseUrl: string): Promise<void> {
  try {
    const work = gateway.upstreams.origins.probe(baseUrl)
    await withDeadline(gateway.settings.limits.connect, work, timeoutError)
  } catch (error) {
    throw exchange.toError(error)
  }
}

interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE' | 'PUT' | 'PATCH'
  url: string
  headers: HeaderMap
  body: UpstreamBody
}

async function requestProvider(
  exchange: UpstreamExchange,
  { method, url, headers, body }: HttpRequest,
): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      ...(typeof body !== 'string' && isStreamed(body)
        ? { headers: withLength(headers, body.length), body: body.open() }
        : { headers, body }),
      signal: exchange.signal,
      // Following a redirect would send the key to another host.
      redirect: 'manual',
      // The exchange has its own timeouts; the runtime's would end a reply after five minutes of reasoning.
      timeout: false,
    })
  } catch (error) {
    throw exchange.toError(error)
  }
}

function withLength(headers: HeaderMap, length: number | null): HeaderMap {
  return length === null ? headers : { ...headers, 'content-length': String(length) }
}

/** Applies the egress rules for addresses supplied by users. */
async function requestUserNamed(
  gateway: Gateway,
  exchange: UpstreamExchange,
  request: HttpRequest,
): Promise<Response> {
  const { egress, limits } = gateway.settings
  const { body } = request
  if (isStreamed(body)) throw new Error('streams are sent to providers only')
  try {
    return await sendStreaming(
      { ...request, body, headers: { ...request.headers } },
      { allowPrivate: egress.allow_private, connectMs: limits.connect, signal: exchange.signal },
    )
  } catch (error) {
    if (exchange.signal.aborted || !(error instanceof EgressError)) throw exchange.toError(error)
    throw error.kind === 'timeout' ? timeoutError() : unexpectedReplyError(error.message, error)
  }
}

/** No compression, which would delay the events of a stream. */
const baseHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'headgate',
}

/** Headers that all requests with the same access and format share. */
interface SharedHeaders {
  defaults: HeaderMap
  /** The signature; null if it depends on the request. */
  signature: HeaderMap | null
}

/** Headers by two keys that are immutable. */
const sharedHeaders = new WeakMap<ProviderAccess, WeakMap<WireFormat, SharedHeaders>>()

function findSharedHeaders(gateway: Gateway, call: UpstreamCall): SharedHeaders {
  const { access, upstream } = call
  const known = sharedHeaders.get(access)?.get(upstream)
  if (known) return known
  const shared = { defaults: buildDefaultHeaders(call), signature: signOnce(gateway, call) }
  const byFormat = sharedHeaders.get(access) ?? new WeakMap<WireFormat, SharedHeaders>()
  sharedHeaders.set(access, byFormat.set(upstream, shared))
  return shared
}

function buildDefaultHeaders({ upstream, access, isAdapted }: UpstreamCall): HeaderMap {
  const { provider } = access
  // The operator's headers may hold secrets, so they are sent to the configured address only.
  const isConfiguredAddress = access.baseUrl === provider.installation.address
  return {
    ...baseHeaders,
    ...(!isAdapted && upstream.defaults.headers),
    ...(isConfiguredAddress && provider.headers),
  }
}

/** A key is sent as it is. Null for a credential that signs each request. */
function signOnce(gateway: Gateway, { access, upstream }: UpstreamCall): HeaderMap | null {
  return gateway.upstreams.signer.findHeaders(access.credential, buildAuthContext(gateway, access, upstream))
}

function sign(
  gateway: Gateway,
  { access, upstream }: UpstreamCall,
  plain: HttpRequest,
): HeaderMap | Promise<HeaderMap> {
  try {
    const context = buildAuthContext(gateway, access, upstream)
    const signing = gateway.upstreams.signer.sign(plain, access.credential, context)
    return signing instanceof Promise ? signing.catch(throwAuthError) : signing
  } catch (error) {
    return throwAuthError(error)
  }
}

function throwAuthError(error: unknown): never {
  throw error instanceof ProviderAuthError ? providerAuthError(error) : error
}

function buildAuthContext(
  gateway: Gateway,
  { provider, settings }: ProviderAccess,
  { defaults }: WireFormat,
): AuthContext<AuthOptions | undefined> {
  const { keyHeader, auth } = provider
  return {
    keyHeader: keyHeader ?? defaults.keyHeader ?? bearerHeader,
    ...(defaults.keyScheme && { keyScheme: defaults.keyScheme }),
    settings,
    options: auth,
    allowPrivate: gateway.settings.egress.allow_private,
  }
}

/** Longer error bodies are ignored. */
const maxErrorBytes = 64 * 1024

async function readErrorBody(
  { response, secrets }: UpstreamResponse,
  exchange: UpstreamExchange,
): Promise<unknown> {
  const read = await readBounded(response, maxErrorBytes, exchange).catch(() => '')
  const text = redactUnparsed(read, secrets())
  return tryParseJson(text) ?? text
}

/** Builds an authentication error that the client's key did not cause: the reason is logged and hidden from clients. */
function providerAuthError(cause: ProviderAuthError): UpstreamError {
  return new UpstreamError({ kind: 'authentication', status: null, message: cause.message }, cause)
}
