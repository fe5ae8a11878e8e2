import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { LinkedAbortController } from '../concurrency/linked-abort-controller.ts'
import { findUrlProblem, isAllowedPrivate, isPublicAddress } from './egress-policy.ts'

export interface EgressRequest {
  url: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'
  headers: Record<string, string>
  body?: string | Uint8Array | null
}

export interface EgressOptions {
  /** `host:port` that may be private and plain http. */
  allowPrivate: readonly string[]
  resolve?: DnsResolver
  /** Allows plain http to public addresses too, for requests without secrets. */
  allowPlainHttp?: boolean
  /** Certificates to trust instead of the system's, in PEM. */
  ca?: string
}

export interface BufferedOptions extends EgressOptions {
  /** Milliseconds for the whole request: DNS, connection and response. */
  timeoutMs: number
  /** Bytes of the response body as received: nothing is decompressed. */
  maxBytes: number
  /** Ends the request before its timeout. */
  signal?: AbortSignal
}

/** Resolves a host name to its addresses. */
export type DnsResolver = (host: string) => Promise<string[]>

export interface BufferedResponse {
  status: number
  headers: Headers
  bytes: Uint8Array
}

/** Safe to show to the caller: no address, no header, nothing of the response. */
const errorMessages = {
  url: 'Requests to this URL are not allowed.',
  unresolved: 'The host name could not be resolved.',
  address:
    'The host resolves to an address that is not public. The operator can allow it with egress.allow_private in headgate.yaml.',
  unreachable: 'The host could not be reached.',
  certificate: 'The certificate of the host could not be verified.',
  timeout: 'The host did not respond in time.',
  too_large: 'The response of the host is too large.',
  request: 'The request is not valid HTTP.',
}

export type EgressErrorKind = keyof typeof errorMessages

export class EgressError extends Error {
  readonly kind: EgressErrorKind

  constructor(kind: EgressErrorKind, message: string = errorMessages[kind]) {
    super(message)
    this.kind = kind
  }
}

/** The headers of a response, names included. */
const maxHeaderBytes = 16 * 1024

/**
 * The only way to send requests to addresses that users choose. The host is resolved once, all its addresses must be
 * public, and the connection goes to one of them; redirects are returned, not followed.
 */
export async function sendBuffered(
  request: EgressRequest,
  options: BufferedOptions,
): Promise<BufferedResponse> {
  const abort = new LinkedAbortController(options.signal ? [options.signal] : [], options.timeoutMs)
  const { signal } = abort
  try {
    const incoming = await openResponse(request, options, signal)
    const bytes = await readBody(incoming, options.maxBytes)
    return { status: incoming.statusCode ?? 0, headers: readHeaders(incoming), bytes }
  } catch (error) {
    throw signal.aborted ? new EgressError('timeout') : toPublicError(error)
  } finally {
    abort.close()
  }
}

export interface StreamingOptions extends EgressOptions {
  /** Milliseconds for DNS and connection. */
  connectMs: number
  signal: AbortSignal
}

/** Sends a request as `sendBuffered` does, and streams the response. The caller bounds its duration and size. */
export async function sendStreaming(
  request: EgressRequest,
  { signal: abortSignal, connectMs, ...options }: StreamingOptions,
): Promise<Response> {
  // It stays linked to its source: the caller may abort while it reads the body.
  const abort = new LinkedAbortController([abortSignal], connectMs)
  const { signal } = abort
  try {
    const incoming = await openResponse(request, options, signal, () => abort.clearTimeout())
    const headers = readHeaders(incoming)
    const status = incoming.statusCode ?? 502
    return new Response(bodilessStatuses.has(status) ? null : toReadableStream(incoming), { status, headers })
  } catch (error) {
    throw signal.aborted ? new EgressError('timeout') : toPublicError(error)
  } finally {
    abort.clearTimeout()
  }
}

/** A connection to a host that users choose, for a protocol that they speak themselves. Its addresses are checked as above. */
export async function openConnection(
  { host, port }: { host: string; port: number },
  { signal: abortSignal, connectMs, ...options }: StreamingOptions,
): Promise<Socket> {
  const url = URL.parse(`https://${host}:${port}`)
  const problem = findUrlProblem(url, options.allowPrivate)
  if (url === null || problem !== null) throw new EgressError('url', `The host ${problem}.`)
  const abort = new LinkedAbortController([abortSignal], connectMs)
  const { signal } = abort
  try {
    const addresses = await resolveAllowedAddresses(url, options, signal)
    for (const address of addresses) {
      const socket = await tryConnect(address, port, signal)
      if (socket) return socket
    }
    throw new EgressError(signal.aborted ? 'timeout' : 'unreachable')
  } finally {
    abort.close()
  }
}

function tryConnect(address: string, port: number, signal: AbortSignal): Promise<Socket | null> {
  const { promise, resolve } = Promise.withResolvers<Socket | null>()
  if (signal.aborted) return Promise.resolve(null)
  const socket = connect({ host: address, port, allowHalfOpen: true })
  const fail = () => {
    socket.destroy()
    resolve(null)
  }
  signal.addEventListener('abort', fail, { once: true })
  socket.once('error', fail)
  socket.once('connect', () => {
    signal.removeEventListener('abort', fail)
    socket.off('error', fail)
    resolve(socket)
  })
  return promise
}

function readHeaders({ headersDistinct }: IncomingMessage): Headers {
  const entries = Object.entries(headersDistinct)
  return new Headers(
    entries.flatMap(([name, values = []]) => values.map((value): [string, string] => [name, value])),
  )
}

const bodilessStatuses = new Set([204, 205, 304])

function toReadableStream(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = incoming[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: () => void incoming.destroy(),
  })
}

async function openResponse(
  request: EgressRequest,
  options: EgressOptions,
  signal: AbortSignal,
  onConnect: () => void = () => undefined,
): Promise<IncomingMessage> {
  const url = URL.parse(request.url)
  const problem = findUrlProblem(url, options.allowPrivate, options.allowPlainHttp)
  if (url === null || problem !== null) throw new EgressError('url', `The URL ${problem}.`)
  const addresses = await resolveAllowedAddresses(url, options, signal)
  return send(url, addresses, { request, options, signal, onConnect })
}

async function resolveAllowedAddresses(
  url: URL,
  options: EgressOptions,
  signal: AbortSignal,
): Promise<[string, ...string[]]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const addresses = isIP(host) ? [host] : await resolveWithin(options.resolve ?? resolveSystem, host, signal)
  const [first, ...others] = addresses.filter((address) => isIP(address))
  if (first === undefined) throw new EgressError('unresolved')
  if (!isAllowedPrivate(url, options.allowPrivate) && !addresses.every(isPublicAddress))
    throw new EgressError('address')
  return [first, ...others]
}

async function resolveWithin(resolve: DnsResolver, host: string, signal: AbortSignal): Promise<string[]> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(new EgressError('timeout'))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([resolve(host), timeout])
  } catch (error) {
    throw error instanceof EgressError ? error : new EgressError('unresolved')
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function resolveSystem(host: string): Promise<string[]> {
  const records = await lookup(host, { all: true })
  return records.map(({ address }) => address)
}

interface SendContext {
  request: EgressRequest
  options: EgressOptions
  signal: AbortSignal
  onConnect: () => void
}

/** `agent: false` opens a separate connection that no proxy variable of the environment redirects. */
function send(url: URL, addresses: [string, ...string[]], context: SendContext): Promise<IncomingMessage> {
  const { request, options, signal, onConnect } = context
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = start(url, {
      method: request.method,
      headers: request.headers,
      agent: false,
      lookup: pinAddresses(addresses),
      maxHeaderSize: maxHeaderBytes,
      signal,
      ...(options.ca !== undefined && { ca: options.ca }),
    })
    outgoing.on('error', reject)
    outgoing.on('socket', (socket) => socket.once('connect', onConnect))
    outgoing.on('response', resolve)
    outgoing.end(request.body ?? undefined)
  })
}

/** Resolves to the addresses that were checked, so that DNS cannot change between check and connection. */
function pinAddresses(addresses: [string, ...string[]]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, query, callback) => {
    if (query.all) callback(null, entries)
    else callback(null, addresses[0], isIP(addresses[0]))
  }
}

async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) throw new EgressError('too_large')
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

/** Errors of the runtime contain addresses and headers: only their kind is passed on. */
function toPublicError(error: unknown): EgressError {
  if (error instanceof EgressError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) return new EgressError('certificate')
  if (/^ERR_(INVALID|HTTP_INVALID|UNESCAPED)/.test(code)) return new EgressError('request')
  return new EgressError('unreachable')
}
