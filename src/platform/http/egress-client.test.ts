import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer, type Server as NetServer } from 'node:net'
import { cert, key } from '../../../test/support/certificate.ts'
import {
  type BufferedOptions,
  EgressError,
  type EgressRequest,
  sendBuffered,
  sendStreaming,
} from './egress-client.ts'

interface ReceivedRequest {
  url: string
  method: string
  headers: Headers
  body: string
}

describe('S5 the egress client', () => {
  const requests: ReceivedRequest[] = []
  let plain: ReturnType<typeof Bun.serve>
  let secure: ReturnType<typeof Bun.serve>
  beforeAll(() => {
    const handle = async (request: Request) => {
      const { method, headers, url } = request
      requests.push({ url, method, headers, body: await request.text() })
      return respond(new URL(url).pathname)
    }
    plain = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handle })
    secure = Bun.serve({ port: 0, hostname: '127.0.0.1', tls: { key, cert }, fetch: handle })
  })
  afterAll(async () => {
    await plain.stop(true)
    await secure.stop(true)
  })

  const request = (url: string, more: Partial<EgressRequest> = {}): EgressRequest => ({
    url,
    method: 'POST',
    headers: { 'x-test': 'yes' },
    body: '{}',
    ...more,
  })
  const options = (more: Partial<BufferedOptions> = {}): BufferedOptions => ({
    allowPrivate: [
      `collector.test:${plain.port}`,
      `collector.test:${secure.port}`,
      `127.0.0.1:${plain.port}`,
    ],
    timeoutMs: 2000,
    maxBytes: 1000,
    resolve: async () => ['127.0.0.1'],
    ...more,
  })
  const here = (path = '/') => `http://collector.test:${plain.port}${path}`
  const problemOf = async (url: string, more: Partial<BufferedOptions> = {}, sent = request(url)) => {
    try {
      await sendBuffered(sent, options(more))
      return 'delivered'
    } catch (error) {
      if (!(error instanceof EgressError)) throw error
      expect(error.message).not.toMatch(/127\.0\.0\.1|10\.0\.0\.1|yes/)
      expect(error.cause).toBeUndefined()
      return error.kind
    }
  }

  test('sends the request to the listed host, with its name in the Host header', async () => {
    requests.length = 0
    const { status, bytes } = await sendBuffered(
      request(here('/a?b=c'), { method: 'PUT', body: 'hello' }),
      options(),
    )
    expect(status).toBe(200)
    expect(new TextDecoder().decode(bytes)).toBe('thanks')
    expect(requests).toHaveLength(1)
    expect(requests[0]).toMatchObject({ url: here('/a?b=c'), method: 'PUT', body: 'hello' })
    expect(requests[0]?.headers.get('host')).toBe(`collector.test:${plain.port}`)
    expect(requests[0]?.headers.get('x-test')).toBe('yes')
  })

  test('S5 the name is resolved once, and the connection goes to that address', async () => {
    requests.length = 0
    const results = [['127.0.0.1'], ['192.0.2.1']]
    let lookups = 0
    const resolve = async () => results[lookups++] ?? []
    expect((await sendBuffered(request(here()), options({ resolve }))).status).toBe(200)
    expect(lookups).toBe(1)
    expect(requests).toHaveLength(1)
  })

  test.each([
    ['loopback', ['127.0.0.1']],
    ['private', ['10.0.0.1']],
    ['metadata', ['169.254.169.254']],
    ['one private among public ones', ['1.1.1.1', '10.0.0.1']],
    ['IPv4-mapped', ['::ffff:127.0.0.1']],
    ['a result that is not an address', ['1.1.1.1', 'localhost']],
  ])('S5 a name that resolves to %s is rejected before anything is sent', async (_, addresses) => {
    requests.length = 0
    const resolve = async () => addresses
    expect(await problemOf(`https://other.test:${plain.port}/`, { resolve })).toBe('address')
    expect(requests).toHaveLength(0)
  })

  test.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
  ])('S5 %s is rejected without a DNS lookup', async (url) => {
    let lookups = 0
    const resolve = async () => {
      lookups++
      return ['1.1.1.1']
    }
    expect(await problemOf(url, { resolve })).toBe('url')
    expect(lookups).toBe(0)
  })

  test.each(['http://other.test/', 'ftp://collector.test/', 'https://user:pass@collector.test/', 'nonsense'])(
    'S5 %s is not an allowed URL',
    async (url) => {
      expect(await problemOf(url)).toBe('url')
    },
  )

  test('a name without an address', async () => {
    expect(await problemOf(here(), { resolve: async () => [] })).toBe('unresolved')
    const broken = () => Promise.reject(new Error('ENOTFOUND 10.0.0.1'))
    expect(await problemOf(here(), { resolve: broken })).toBe('unresolved')
  })

  test('S5 a redirect is returned and not followed', async () => {
    requests.length = 0
    expect((await sendBuffered(request(here('/redirect')), options())).status).toBe(302)
    expect(requests).toHaveLength(1)
  })

  test('S5 S13 time, bytes and headers are bounded, and nothing is decompressed', async () => {
    expect(await problemOf(here('/slow'), { timeoutMs: 50 })).toBe('timeout')
    expect(await problemOf(here('/drip'), { timeoutMs: 150 })).toBe('timeout')
    expect(await problemOf(here(), { timeoutMs: 50, resolve: () => new Promise(() => undefined) })).toBe(
      'timeout',
    )
    expect(await problemOf(here('/big'))).toBe('too_large')
    expect(await problemOf(here('/headers'))).toBe('unreachable')
    const { bytes } = await sendBuffered(request(here('/gzip')), options({ maxBytes: 5000 }))
    expect(bytes.length).toBeLessThan(5000)
  })

  test('an invalid request, and an unreachable host', async () => {
    const bad = request(here(), { headers: { 'x-bad': 'yes\r\nx-injected: 1' } })
    expect(await problemOf(here(), {}, bad)).toBe('request')
    const allowPrivate = ['127.0.0.1:1']
    expect(await problemOf('http://127.0.0.1:1/', { allowPrivate })).toBe('unreachable')
  })

  test('S5 the certificate must be for the name, whatever the address', async () => {
    const at = (host: string) => `https://${host}:${secure.port}/`
    expect((await sendBuffered(request(at('collector.test')), options({ ca: cert }))).status).toBe(200)
    expect(await problemOf(at('collector.test'))).toBe('certificate')
    const allowPrivate = [`other.test:${secure.port}`]
    expect(await problemOf(at('other.test'), { ca: cert, allowPrivate })).toBe('certificate')
  })

  describe('a streamed response', () => {
    const stream = (
      path: string,
      more: Partial<BufferedOptions> = {},
      signal = new AbortController().signal,
    ) => sendStreaming(request(here(path)), { ...options(more), connectMs: 2000, signal })

    test('has its status, its headers and its body in chunks', async () => {
      const whole = await stream('/a')
      expect([whole.status, await whole.text()]).toEqual([200, 'thanks'])
      expect((await stream('/redirect')).status).toBe(302)
      expect((await stream('/nothing')).status).toBe(204)
      const gone = new AbortController()
      const reader = (await stream('/drip', {}, gone.signal)).body?.getReader()
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('x')
      gone.abort()
      await expect(reader?.read()).rejects.toThrow()
    })

    test('connecting has a timeout, a slow response has none', async () => {
      const signal = new AbortController().signal
      const resolve = () => new Promise<string[]>(() => undefined)
      const lost = sendStreaming(request(here()), { ...options({ resolve }), connectMs: 20, signal })
      await expect(lost).rejects.toHaveProperty('kind', 'timeout')
      const slow = await sendStreaming(request(here('/late')), { ...options(), connectMs: 40, signal })
      expect(await slow.text()).toBe('late')
    })

    test('S5 obeys the same policy', async () => {
      requests.length = 0
      const resolve = async () => ['10.0.0.1']
      await expect(stream('/', { resolve, allowPrivate: [] })).rejects.toHaveProperty('kind', 'url')
      const secret = sendStreaming(request('https://other.test/'), {
        ...options({ resolve }),
        connectMs: 2000,
        signal: new AbortController().signal,
      })
      await expect(secret).rejects.toHaveProperty('kind', 'address')
      expect(requests).toHaveLength(0)
    })
  })

  test('S5 a proxy in the environment is not used', async () => {
    const { proxy, port, connections } = await listenOnly()
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY']
    const before = names.map((name) => process.env[name])
    for (const name of names) process.env[name] = `http://127.0.0.1:${port}`
    try {
      expect((await sendBuffered(request(here()), options())).status).toBe(200)
    } finally {
      names.forEach((name, i) => {
        if (before[i] === undefined) delete process.env[name]
        else process.env[name] = before[i]
      })
      proxy.close()
    }
    expect(connections()).toBe(0)
  })
})

async function listenOnly(): Promise<{ proxy: NetServer; port: number; connections: () => number }> {
  let count = 0
  const proxy = createServer((socket) => {
    count++
    socket.destroy()
  })
  await new Promise<void>((ready) => proxy.listen(0, '127.0.0.1', ready))
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { proxy, port: address.port, connections: () => count }
}

function respond(path: string): Response | Promise<Response> {
  switch (path) {
    case '/redirect':
      return new Response(null, { status: 302, headers: { location: '/' } })
    case '/nothing':
      return new Response(null, { status: 204 })
    case '/late':
      return Bun.sleep(120).then(() => new Response('late'))
    case '/slow':
      return new Promise<Response>(() => undefined)
    case '/drip':
      return new Response(new ReadableStream({ start: (stream) => stream.enqueue('x') }))
    case '/big':
      return new Response('x'.repeat(100_000))
    case '/headers':
      return new Response('x', { headers: { 'x-large': 'y'.repeat(100_000) } })
    case '/gzip':
      return new Response(Bun.gzipSync('a'.repeat(1_000_000)), { headers: { 'content-encoding': 'gzip' } })
    default:
      return new Response('thanks')
  }
}
