import { chmod } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { EgressError, type EgressOptions, openConnection } from '../platform/http/egress-client.ts'
import { isAllowedPrivate } from '../platform/http/egress-policy.ts'
import { isAllowedDomain } from './environment.ts'

const maxConnections = 64
const maxHeadBytes = 8 * 1024
const headMs = 10_000
const connectMs = 10_000
const headEnd = '\r\n\r\n'

export interface ProxyRules {
  domains: readonly string[]
  egress: EgressOptions
}

export interface EgressProxy {
  close(): void
}

/**
 * The way out of a sandbox: an HTTP proxy on a unix socket that connects to the allowed domains alone, with the method
 * CONNECT, so that only https passes. Names are resolved and checked here, once; the sandbox has no DNS.
 */
export async function openEgressProxy(path: string, rules: ProxyRules): Promise<EgressProxy> {
  const clients = new Set<Socket>()
  const closing = new AbortController()
  const server = createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client)
    client.on('close', () => clients.delete(client))
    client.on('error', () => client.destroy())
    if (clients.size > maxConnections) client.destroy()
    else void serveClient(client, rules, closing.signal).catch(() => client.destroy())
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(path, resolve)
  await promise
  // Its folder is private; the process in the sandbox may be of another user.
  await chmod(path, 0o666)
  return {
    close: () => {
      closing.abort()
      server.close()
      for (const client of clients) client.destroy()
    },
  }
}

async function serveClient(client: Socket, rules: ProxyRules, signal: AbortSignal): Promise<void> {
  const head = await readHead(client)
  if (head === null) return
  const target = parseConnect(head.text)
  if (!target) return refuse(client, 405, 'Only https is supported: the proxy accepts CONNECT alone.')
  if (!isAllowedTarget(target, rules))
    return refuse(client, 403, `${target.host}:${target.port} is not in allowed_domains of the container.`)
  try {
    const upstream = await openConnection(target, { ...rules.egress, connectMs, signal })
    joinSockets(client, upstream, head.rest)
  } catch (error) {
    const problem = error instanceof EgressError ? error.message : 'The host could not be reached.'
    refuse(client, 502, problem)
  }
}

/** Another port than that of https only where the operator lists it. */
function isAllowedTarget({ host, port }: Target, { domains, egress }: ProxyRules): boolean {
  const url = URL.parse(`https://${host}:${port}`)
  if (url === null || !isAllowedDomain(host, domains)) return false
  return port === 443 || isAllowedPrivate(url, egress.allowPrivate)
}

interface Target {
  host: string
  port: number
}

function parseConnect(head: string): Target | null {
  const [, host = '', port = ''] =
    /^CONNECT ([A-Za-z0-9._-]{1,253}):(\d{1,5}) HTTP\/1\.[01]\r\n/.exec(head) ?? []
  return host === '' || Number(port) > 65_535 ? null : { host, port: Number(port) }
}

/** The head of the request and what follows it; null if the connection ended before. */
function readHead(client: Socket): Promise<{ text: string; rest: Buffer } | null> {
  const { promise, resolve } = Promise.withResolvers<{ text: string; rest: Buffer } | null>()
  let received = Buffer.alloc(0)
  const end = () => {
    client.destroy()
    resolve(null)
  }
  const timer = setTimeout(end, headMs)
  const onData = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    const at = received.indexOf(headEnd)
    if (at === -1) {
      if (received.length > maxHeadBytes) end()
      return
    }
    clearTimeout(timer)
    client.off('data', onData)
    client.pause()
    const start = at + headEnd.length
    resolve({ text: received.subarray(0, start).toString('latin1'), rest: received.subarray(start) })
  }
  client.on('data', onData)
  client.once('close', () => {
    clearTimeout(timer)
    resolve(null)
  })
  return promise
}

function joinSockets(client: Socket, upstream: Socket, rest: Buffer): void {
  const end = () => {
    client.destroy()
    upstream.destroy()
  }
  upstream.on('error', end)
  upstream.on('close', () => client.end())
  client.on('close', end)
  client.write('HTTP/1.1 200 Connection established\r\n\r\n')
  if (rest.length > 0) upstream.write(rest)
  client.pipe(upstream)
  upstream.pipe(client)
}

function refuse(client: Socket, status: number, problem: string): void {
  const body = `${problem}\n`
  client.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
