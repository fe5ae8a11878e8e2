import type { Socket } from 'node:net'
import { hostname } from 'node:os'
import { connect as connectTls } from 'node:tls'
import { LinkedAbortController } from '../concurrency/linked-abort-controller.ts'
import { EgressError, type EgressOptions, openConnection } from './egress-client.ts'
import { findUrlProblem } from './egress-policy.ts'

export interface SyslogServer {
  host: string
  port: number
  tls: boolean
}

export interface SyslogMessage {
  time: string
  /** 0 to 7, of RFC 5424. */
  severity: number
  /** The kind of event. */
  id: string
  text: string
}

/** "Log audit". */
const facility = 13

/** A message of RFC 5424 in a frame of RFC 6587: its bytes are counted, so it may contain any character. */
export function encodeFrame({ time, severity, id, text }: SyslogMessage): Buffer {
  const priority = facility * 8 + severity
  const header = `<${priority}>1 ${time} ${toToken(hostname(), 255)} headgate - ${toToken(id, 32)} -`
  const message = Buffer.from(`${header} ${text}`)
  return Buffer.concat([Buffer.from(`${message.length} `), message])
}

function toToken(text: string, maxLength: number): string {
  return text.replace(/[^\x21-\x7e]/g, '_').slice(0, maxLength) || '-'
}

export interface SyslogOptions extends EgressOptions {
  timeoutMs: number
}

/** Applies the rules for URLs to a syslog server: plain text only where the operator allows it. */
export function findServerProblem({ host, port, tls }: SyslogServer, allowPrivate: readonly string[]) {
  return findUrlProblem(URL.parse(`${tls ? 'https' : 'http'}://${host}:${port}`), allowPrivate)
}

/**
 * Syslog has no acknowledgments. The connection is closed after the messages, and the server's end of it shows that
 * it has read them.
 */
export async function sendSyslog(
  server: SyslogServer,
  messages: readonly SyslogMessage[],
  options: SyslogOptions,
): Promise<void> {
  const problem = findServerProblem(server, options.allowPrivate)
  if (problem !== null) throw new EgressError('url', `The address ${problem}.`)
  const abort = new LinkedAbortController([], options.timeoutMs)
  try {
    await sendFrames(server, messages, options, abort.signal)
  } finally {
    abort.close()
  }
}

async function sendFrames(
  server: SyslogServer,
  messages: readonly SyslogMessage[],
  options: SyslogOptions,
  signal: AbortSignal,
): Promise<void> {
  const socket = await openConnection(server, { ...options, connectMs: options.timeoutMs, signal })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stream = server.tls ? secure(socket, server, options) : socket
  const fail = (error?: unknown) => reject(toPublicError(error))
  signal.addEventListener('abort', () => reject(new EgressError('timeout')), { once: true })
  socket.once('error', fail)
  stream.once('error', fail)
  // A proxy without a server behind it ends the connection before it has read the messages.
  const end = () => (stream.writableFinished ? resolve() : fail())
  stream.once('end', end)
  stream.once('close', (hadError: boolean) => (hadError ? fail() : end()))
  stream.resume()
  stream.end(Buffer.concat(messages.map(encodeFrame)))
  try {
    await promise
  } finally {
    stream.destroy()
    socket.destroy()
  }
}

function secure(socket: Socket, { host }: SyslogServer, { ca }: EgressOptions): Socket {
  return connectTls({ socket, servername: host, ...(ca !== undefined && { ca }) })
}

function toPublicError(error: unknown): EgressError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new EgressError(/CERT|SELF_SIGNED|UNABLE_TO_/.test(code) ? 'certificate' : 'unreachable')
}
