import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isListed, isPublicAddress, urlProblem } from './egress.ts'

export interface DeliveryRequest {
  url: string
  method: 'GET' | 'POST' | 'PUT'
  headers: Record<string, string>
  body?: string
}

export interface WayOut {
  /** `host:port` that may be private and plain http. */
  allowPrivate: readonly string[]
  resolve?: Resolve
  /** Certificates to trust instead of the system's, in PEM. */
  ca?: string
}

export interface DeliveryOptions extends WayOut {
  /** For all of it: the name, the connection, the answer to its last byte. */
  timeoutMs: number
  /** Of the body of the answer, as it came: nothing is decompressed here. */
  maxBytes: number
}

/** The addresses of a host name. */
export type Resolve = (host: string) => Promise<string[]>

export interface Delivery {
  status: number
  bytes: Uint8Array
}

/** Safe to show to whoever asked: no address, no header, nothing of the answer. */
const messages = {
  url: 'The URL is not one that may be sent to.',
  unresolved: 'The host name could not be resolved.',
  address:
    'The host leads to an address that is not public, and the operator does not list it in egress.allow_private.',
  unreachable: 'The host could not be reached.',
  certificate: 'The certificate of the host could not be verified.',
  timeout: 'The host took too long.',
  too_large: 'The answer of the host was too large.',
  request: 'The request could not be sent as it is.',
}

export type DeliveryProblem = keyof typeof messages

export class DeliveryError extends Error {
  readonly problem: DeliveryProblem

  constructor(problem: DeliveryProblem, message: string = messages[problem]) {
    super(message)
    this.problem = problem
  }
}

/** The headers of an answer, names included. */
const maxHeaderBytes = 16 * 1024

/**
 * The one way out to addresses that users name. The name is resolved once, every address it has must be
 * public, and the connection goes to one of exactly these; a redirect is an answer, not followed.
 */
export async function deliver(request: DeliveryRequest, options: DeliveryOptions): Promise<Delivery> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  try {
    const incoming = await open(request, options, signal)
    return { status: incoming.statusCode ?? 0, bytes: await readBody(incoming, options.maxBytes) }
  } catch (error) {
    throw signal.aborted ? new DeliveryError('timeout') : publicError(error)
  }
}

export interface ConversationOptions extends WayOut {
  /** For the name and the connection. */
  connectMs: number
  signal: AbortSignal
}

/** The same way out, for an answer that is read as it comes; its time and length are the caller's to bound. */
export async function converse(
  request: DeliveryRequest,
  { signal: wish, connectMs, ...way }: ConversationOptions,
): Promise<Response> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), connectMs)
  const signal = AbortSignal.any([wish, late.signal])
  try {
    const incoming = await open(request, way, signal, () => clearTimeout(timer))
    const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    )
    const status = incoming.statusCode ?? 502
    return new Response(bodiless.has(status) ? null : bodyOf(incoming), { status, headers })
  } catch (error) {
    throw signal.aborted ? new DeliveryError('timeout') : publicError(error)
  } finally {
    clearTimeout(timer)
  }
}

const bodiless = new Set([204, 205, 304])

function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
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

async function open(
  request: DeliveryRequest,
  way: WayOut,
  signal: AbortSignal,
  onConnect: () => void = () => undefined,
): Promise<IncomingMessage> {
  const url = URL.parse(request.url)
  const problem = urlProblem(url, way.allowPrivate)
  if (url === null || problem !== null) throw new DeliveryError('url', `The URL ${problem}.`)
  const addresses = await vettedAddresses(url, way, signal)
  return send(url, addresses, { request, way, signal, onConnect })
}

async function vettedAddresses(
  url: URL,
  options: WayOut,
  signal: AbortSignal,
): Promise<[string, ...string[]]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const found = isIP(host) ? [host] : await resolved(options.resolve ?? systemResolve, host, signal)
  const [first, ...others] = found.filter((address) => isIP(address))
  if (first === undefined) throw new DeliveryError('unresolved')
  if (!isListed(url, options.allowPrivate) && !found.every(isPublicAddress))
    throw new DeliveryError('address')
  return [first, ...others]
}

async function resolved(resolve: Resolve, host: string, signal: AbortSignal): Promise<string[]> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(new DeliveryError('timeout'))
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([resolve(host), late])
  } catch (error) {
    throw error instanceof DeliveryError ? error : new DeliveryError('unresolved')
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

async function systemResolve(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
}

interface Sending {
  request: DeliveryRequest
  way: WayOut
  signal: AbortSignal
  onConnect: () => void
}

/** `agent: false` is a connection of its own, which no proxy variable of the environment redirects. */
function send(url: URL, addresses: [string, ...string[]], sending: Sending): Promise<IncomingMessage> {
  const { request, way, signal, onConnect } = sending
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = start(url, {
      method: request.method,
      headers: request.headers,
      agent: false,
      lookup: pinned(addresses),
      maxHeaderSize: maxHeaderBytes,
      signal,
      ...(way.ca !== undefined && { ca: way.ca }),
    })
    outgoing.on('error', reject)
    outgoing.on('socket', (socket) => socket.once('connect', onConnect))
    outgoing.on('response', resolve)
    outgoing.end(request.body)
  })
}

/** Answers every question of the connection with the addresses that were looked at. */
function pinned(addresses: [string, ...string[]]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, asked, answer) => {
    if (asked.all) answer(null, entries)
    else answer(null, addresses[0], isIP(addresses[0]))
  }
}

async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) throw new DeliveryError('too_large')
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

/** The runtime's errors name addresses and headers: only their kind is passed on. */
function publicError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) return new DeliveryError('certificate')
  if (/^ERR_(INVALID|HTTP_INVALID|UNESCAPED)/.test(code)) return new DeliveryError('request')
  return new DeliveryError('unreachable')
}
