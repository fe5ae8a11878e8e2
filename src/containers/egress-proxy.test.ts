import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EgressProxy, openEgressProxy } from './egress-proxy.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-proxy-test-'))
const path = join(folder, 'proxy.sock')
const lookups: string[] = []
const addresses: Record<string, string[]> = {
  'allowed.test': ['127.0.0.1'],
  'private.test': ['10.0.0.7'],
  'mixed.test': ['8.8.8.8', '127.0.0.1'],
  'sub.wild.test': ['127.0.0.1'],
}
const server = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: { data: (socket, data) => void socket.write(`echo ${data}`) },
})
let proxy: EgressProxy

beforeAll(async () => {
  proxy = await openEgressProxy(path, {
    domains: ['allowed.test', 'private.test', 'mixed.test', '*.wild.test'],
    egress: {
      allowPrivate: [`allowed.test:${server.port}`, `sub.wild.test:${server.port}`],
      resolve: async (host) => {
        lookups.push(host)
        return addresses[host] ?? []
      },
    },
  })
})
afterAll(() => {
  proxy.close()
  server.stop(true)
  rmSync(folder, { recursive: true })
})

/** Returns everything that the proxy replies, up to the marker or the end. */
async function exchange(text: string, until = '\0'): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let received = ''
  const socket = connect({ path })
  socket.on('data', (chunk) => {
    received += chunk
    if (received.includes(until)) socket.destroy()
  })
  socket.on('error', reject)
  socket.on('close', () => resolve(received))
  socket.write(text)
  return promise
}

const ask = (host: string, port: number | string = server.port) =>
  exchange(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)

describe('the proxy of a container', () => {
  test('connects to an allowed domain, and passes what follows the head', async () => {
    const head = `CONNECT allowed.test:${server.port} HTTP/1.1\r\n\r\nhello`
    expect(await exchange(head, 'hello')).toBe('HTTP/1.1 200 Connection established\r\n\r\necho hello')
    const wild = `CONNECT SUB.wild.test:${server.port} HTTP/1.1\r\n\r\nhi`
    expect(await exchange(wild, 'echo')).toContain('echo hi')
  })

  test.each([
    'other.test',
    'wild.test',
    'allowed.test.other.test',
    'notallowed.test',
    '127.0.0.1',
    'localhost',
  ])('S5 refuses %s without looking it up', async (host) => {
    lookups.length = 0
    expect(await ask(host)).toStartWith('HTTP/1.1 403 ')
    expect(lookups).toEqual([])
  })

  test.each([22, 80, 8443])('S5 refuses port %d of an allowed domain', async (port) => {
    expect(await ask('allowed.test', port)).toStartWith('HTTP/1.1 403 ')
  })

  test.each(['private.test', 'mixed.test'])('S5 refuses %s, which has a private address', async (host) => {
    lookups.length = 0
    const reply = await ask(host, 443)
    expect(reply).toStartWith('HTTP/1.1 502 ')
    expect(reply).toContain('not public')
    expect(reply).not.toContain('10.0.0.7')
    expect(lookups).toEqual([host])
  })

  test.each([
    ['plain http', 'GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n'],
    ['a user name', 'CONNECT user@allowed.test:443 HTTP/1.1\r\n\r\n'],
    ['an IPv6 address', 'CONNECT [::1]:443 HTTP/1.1\r\n\r\n'],
    ['a port that does not exist', 'CONNECT allowed.test:70000 HTTP/1.1\r\n\r\n'],
  ])('refuses %s', async (_, text) => {
    expect(await exchange(text)).toStartWith('HTTP/1.1 405 ')
  })

  test('closes a connection whose head does not end', async () => {
    expect(await exchange(`CONNECT ${'a'.repeat(20_000)}`)).toBe('')
  })
})
