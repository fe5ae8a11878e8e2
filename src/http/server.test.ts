import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { sql } from 'kysely'
import {
  checkEnvelope,
  createSessionCaller,
  describeOnSqlite,
  startTestServer,
} from '../../test/support/harness.ts'
import { errorTable } from '../platform/errors/table.ts'

const settings = `
public_url: https://gate.example.com
regions: { default: global, hosts: { "EU.example.com": europe } }
cors: { inference: ["https://APP.example。com"], management: ["https://console.example.com"] }
`

describeOnSqlite(
  'the HTTP surface',
  (server) => {
    const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      fetch(server().url + path, { method, headers, redirect: 'manual' })
    const bearer = () => ({ authorization: `Bearer ${server().own.inferenceKey}` })

    test('the same API under /api/v1 and /v1, with or without a trailing slash', async () => {
      for (const path of ['/api/v1/key', '/v1/key', '/v1/key/', '/api/v1/key/?x=1']) {
        expect((await get(path, bearer())).status).toBe(200)
      }
    })

    test.each(['/nowhere', '/api/v1/nowhere', '/api/v2/key', '/api/v1/keys/a/b/c', '/%00'])(
      'unknown route %s is 404 in the envelope',
      async (path) => {
        const response = await get(path, bearer())
        expect(response.status).toBe(404)
        checkEnvelope(404, await response.json())
      },
    )

    test('a known path with another method is 405 with Allow, before authentication', async () => {
      const response = await get('/api/v1/keys', {}, 'PUT')
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('GET, POST, HEAD, OPTIONS')
      checkEnvelope(405, await response.json())
    })

    test('HEAD returns the headers of GET without a body', async () => {
      const response = await get('/api/v1/key', bearer(), 'HEAD')
      expect(response.status).toBe(200)
      expect(await response.text()).toBe('')
      expect(Number(response.headers.get('content-length'))).toBeGreaterThan(100)
    })

    test('HEAD without a key succeeds', async () => {
      expect((await get('/api/v1/key', {}, 'HEAD')).status).toBe(200)
    })

    test.each(['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'])(
      'S1 HEAD with a wrong key in %s is 401, as GET is',
      async (header) => {
        const headers = { [header]: header === 'authorization' ? 'Bearer wrong' : 'wrong' }
        expect((await get('/api/v1/key', headers, 'HEAD')).status).toBe(401)
      },
    )

    test('the request id of the client is returned; an invalid one is replaced', async () => {
      const own = await get('/api/v1/key', { ...bearer(), 'x-request-id': 'trace-1:a.b' })
      expect(own.headers.get('x-request-id')).toBe('trace-1:a.b')
      const strange = await get('/api/v1/key', { ...bearer(), 'x-request-id': 'a b\u00e9' })
      expect(strange.headers.get('x-request-id')).toMatch(/^req_/)
    })

    test.each(['[', 'a b', '%%', '127.0.0.1:99999', 'constructor', '__proto__', ''])(
      'S12 S14 the Host %j is nothing to trip over',
      async (host) => {
        const text = await rawRequest(
          server().url,
          `GET /api/v1/files?limit=1 HTTP/1.0\r\nHost: ${host}\r\n`,
          bearer(),
        )
        expect(text).toMatch(/^HTTP\/1\.[01] 200 /)
      },
    )

    describe('S1 credentials', () => {
      test.each([
        ['Bearer', 'authorization', (key: string) => `Bearer ${key}`],
        ['bearer in capitals', 'authorization', (key: string) => `BEARER ${key}`],
        ['bearer with more space', 'authorization', (key: string) => `bearer   ${key} `],
        ['x-api-key', 'x-api-key', (key: string) => key],
      ])('%s is accepted', async (_, header, value) => {
        const response = await get('/api/v1/key', { [header]: value(server().own.inferenceKey) })
        expect(response.status).toBe(200)
      })

      test.each([
        ['nothing', {}, 'credential_missing'],
        ['another scheme', { authorization: 'Basic abc' }, 'credential_missing'],
        ['an empty Bearer', { authorization: 'Bearer ' }, 'credential_missing'],
        ['an unknown key', { authorization: 'Bearer sk-hg-v1-0' }, 'credential_invalid'],
        ['an absurdly long one', { authorization: `Bearer ${'a'.repeat(9000)}` }, 'credential_invalid'],
      ])('%s is 401', async (_, headers, reason) => {
        const response = await get('/api/v1/key', headers as Record<string, string>)
        expect(response.status).toBe(401)
        const body = (await response.json()) as { error: { metadata: { reason: string } } }
        expect(body.error.metadata.reason).toBe(reason)
        expect(response.headers.get('x-should-retry')).toBe('false')
      })

      test('an invalid Bearer token is 401, whatever other headers are sent; a valid one is sufficient', async () => {
        const { inferenceKey } = server().own
        const wrong = { authorization: 'Bearer wrong', 'x-api-key': inferenceKey }
        expect((await get('/api/v1/key', wrong)).status).toBe(401)
        const right = { authorization: `Bearer ${inferenceKey}`, 'x-api-key': 'wrong' }
        expect((await get('/api/v1/key', right)).status).toBe(200)
      })
    })

    describe('bodies', () => {
      const post = (body: string | ReadableStream, headers: Record<string, string> = {}) =>
        fetch(`${server().url}/api/v1/keys`, {
          method: 'POST',
          body,
          headers: { authorization: `Bearer ${server().own.managementKey}`, ...headers },
        })

      test.each([
        ['empty', '', 400],
        ['not JSON', 'name=x', 400],
        ['cut off', '{"name":"x"', 400],
        ['an array', '[]', 400],
        ['null', 'null', 400],
        ['a string', '"x"', 400],
        ['too deep', '['.repeat(10_000), 400],
        ['a prototype key', '{"name":"x","__proto__":{"disabled":true}}', 400],
        ['U+0000 in a string', '{"name":"a\\u0000b"}', 400],
        ['a key twice', '{"name":"x","name":"y"}', 400],
        ['without a content type', '{"name":"x"}', 201],
      ])('%s', async (_, body, status) => {
        const response = await post(body)
        expect(response.status).toBe(status)
        if (status >= 400) checkEnvelope(status, await response.json())
      })

      test('S13 over the limit is 413, declared or chunked', async () => {
        const large = `{"name":"${'x'.repeat(2 * 1024 * 1024)}"}`
        const declared = await post(large)
        expect(declared.status).toBe(413)
        checkEnvelope(413, await declared.json())
        const chunked = await post(new Blob([large]).stream())
        expect(chunked.status).toBe(413)
        checkEnvelope(413, await chunked.json())
      })

      test('every wrong field is listed', async () => {
        const response = await post('{"name":"","limit":-1,"bogus":true}')
        const { error } = (await response.json()) as { error: { metadata: { issues: { field: string }[] } } }
        expect(error.metadata.issues.map((issue) => issue.field).sort()).toEqual(['bogus', 'limit', 'name'])
      })
    })

    test('path parameters that are not percent-encoded UTF-8 are 400', async () => {
      const response = await get('/api/v1/keys/%ZZ', {
        authorization: `Bearer ${server().own.managementKey}`,
      })
      expect(response.status).toBe(400)
    })

    test('S14 the region follows the host name, in capitals or not', async () => {
      const inRegion = await get('/api/v1/files', { ...bearer(), host: 'eu.EXAMPLE.com:8080' })
      expect(inRegion.status).toBe(403)
    })

    test('a repeated query parameter is 400, naming it', async () => {
      const response = await server().call('GET', '/keys?offset=0&offset=1')
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith('offset')
    })

    describe('CORS', () => {
      const from = (origin: string, path = '/api/v1/key', method = 'GET') =>
        get(path, { ...bearer(), origin, 'access-control-request-method': 'GET' }, method)

      test('a listed origin may read the response', async () => {
        const response = await from('https://app.example.com')
        expect(response.status).toBe(200)
        expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
        expect(response.headers.get('vary')).toBe('origin, accept-encoding')
      })

      test('an origin that is not allowed is 400 in the envelope, as the spec says', async () => {
        const response = await from('https://evil.example.com')
        expect(response.status).toBe(400)
        checkEnvelope(400, await response.json())
        expect(response.headers.get('access-control-allow-origin')).toBeNull()
      })

      test('management operations have their own list', async () => {
        expect((await from('https://app.example.com', '/api/v1/keys')).status).toBe(400)
        expect((await from('https://console.example.com', '/api/v1/keys')).status).toBe(403)
      })

      test('what a session can read is for pages of this server alone', async () => {
        const { token } = await createSessionCaller(server())
        const cookie = `__Host-headgate_session=${token}`
        for (const path of ['/api/v1/session', '/api/v1/key', '/api/v1/keys', '/api/v1/account']) {
          for (const origin of ['https://app.example.com', 'https://console.example.com']) {
            const response = await get(path, { origin, cookie })
            expect([path, response.status]).toEqual([path, 400])
            expect(response.headers.get('access-control-allow-origin')).toBeNull()
          }
        }
        const foreign = await get('/api/v1/session', { origin: 'https://app.example.com' }, 'OPTIONS')
        expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
        expect((await get('/api/v1/session', { origin: 'https://gate.example.com', cookie })).status).toBe(
          200,
        )
      })

      test('the public URL and the host of the server are the same origin', async () => {
        expect((await from('https://gate.example.com', '/api/v1/keys', 'OPTIONS')).status).toBe(204)
        expect((await from(server().url, '/api/v1/keys', 'OPTIONS')).status).toBe(204)
      })

      test('preflight lists the methods and echoes the requested headers', async () => {
        const response = await get(
          '/api/v1/key',
          { origin: 'https://app.example.com', 'access-control-request-headers': 'authorization,x-title' },
          'OPTIONS',
        )
        expect(response.status).toBe(204)
        expect(response.headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS')
        expect(response.headers.get('access-control-allow-headers')).toBe('authorization,x-title')
      })

      test('an error has the CORS headers, so that a browser can read it', async () => {
        const response = await get('/api/v1/key', { origin: 'https://app.example.com' })
        expect(response.status).toBe(401)
        expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
      })
    })

    test('R25 liveness, readiness and status are separate', async () => {
      expect(await (await get('/healthz')).json()).toEqual({ status: 'ok' })
      expect(await (await get('/readyz')).json()).toEqual({ status: 'ready' })
      const status = (await (await get('/status')).json()) as Record<string, Record<string, unknown>>
      expect(status.status as unknown).toBe('ok')
      expect(status.dependencies?.database).toMatchObject({ status: 'ok' })
      expect(status.catalog?.snapshot).toMatch(/^\d{4}-\d{2}-\d{2}$/)
      expect(status.runtime).toMatchObject({ name: 'bun', version: Bun.version })
      expect(status.build).toHaveProperty('commit')
    })

    test('metrics count requests by operation and status, and contain nothing a client sent', async () => {
      await get('/api/v1/key?canary=CANARY', { authorization: 'Bearer CANARY' })
      const text = await (await get('/metrics')).text()
      expect(text).toContain('headgate_http_requests_total{operation="getCurrentKey",status="401"}')
      expect(text).not.toContain('CANARY')
    })

    test('a browser gets the console at paths that only its screens have; other clients get an error', async () => {
      const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
      for (const path of ['/', '/requests', '/requests/gen-1?tab=price', '/models', '/models?q=claude']) {
        const response = await get(path, browser)
        expect(response.headers.get('content-type')).toContain('text/html')
        expect(response.headers.get('content-security-policy')).not.toContain("script-src 'unsafe")
      }
      for (const [path, headers] of [
        ['/requests', {}],
        ['/requests', { accept: 'application/json' }],
        ['/api/v1/requests', browser],
        ['/v1/nothing', browser],
        ['/assets/nothing.js', browser],
      ] as const) {
        const response = await get(path, headers)
        expect([response.status, response.headers.get('content-type')]).toEqual([
          404,
          'application/json;charset=utf-8',
        ])
      }
    })

    test('a path that is a screen and an operation is the operation for clients of the API', async () => {
      const browser = 'text/html,application/xhtml+xml,*/*;q=0.8'
      for (const headers of [
        {},
        { accept: '*/*' },
        { accept: browser, authorization: 'Bearer sk-unknown' },
      ]) {
        const response = await get('/models', headers)
        expect(response.status).toBe(401)
        expect(response.headers.get('content-type')).toContain('application/json')
      }
    })

    test('metrics include those of the process, except sizes that Bun would walk through the heap for', async () => {
      const text = await (await get('/metrics')).text()
      expect(text.match(/^headgate_process_resident_memory_bytes \d+$/gm)).toHaveLength(1)
      expect(text).not.toContain('heap_space')
    })

    test('openapi.json is served as it is in the repository', async () => {
      const response = await get('/openapi.json')
      expect(response.headers.get('content-type')).toBe('application/json')
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(await response.text()).toBe(await Bun.file('openapi.json').text())
    })

    test('openapi.json is compressed for clients that accept it', async () => {
      const headers = { 'accept-encoding': 'gzip' }
      const response = await fetch(`${server().url}/openapi.json`, { headers, decompress: false })
      expect(response.headers.get('content-encoding')).toBe('gzip')
      const text = new TextDecoder().decode(Bun.gunzipSync(await response.arrayBuffer()))
      expect(text).toBe(await Bun.file('openapi.json').text())
    })
  },
  { settings },
)

/** Sends what no client library would. */
async function rawRequest(url: string, head: string, headers: Record<string, string>): Promise<string> {
  const { hostname, port } = new URL(url)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const socket = connect(Number(port), hostname, () => socket.write(`${head}${lines.join('')}\r\n`))
  socket.on('data', (chunk) => {
    text += chunk
    if (text.includes('\r\n\r\n')) socket.destroy()
  })
  socket.on('close', () => resolve(text))
  return promise
}

describe('when the database is unavailable', () => {
  test('an unexpected error is 500 with a generic message and a request id', async () => {
    const server = await startTestServer('sqlite')
    await server.gateway.db.destroy()
    const response = await server.call('GET', '/keys')
    expect(response.status).toBe(500)
    expect(response.body.error.message).toContain(response.headers.get('x-request-id') ?? 'none')
    expect(response.body.error.message).not.toMatch(/database|sqlite|driver/i)
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503)
    await server.stop()
  })

  test.each([
    ['is full', sql`pragma max_page_count = 1`],
    ['is read-only', sql`pragma query_only = 1`],
  ])(
    'R21 R25 I8 a SQLite file that %s makes changes 503 with Retry-After, and /readyz too',
    async (_, fault) => {
      const server = await startTestServer('sqlite')
      await fault.execute(server.gateway.db)
      const name = 'x'.repeat(200)
      const fill = () => server.call('POST', '/keys', { body: { name } })
      let response = await fill()
      for (let row = 0; row < 200 && response.status === 201; row++) response = await fill()
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
      expect(response.body.error).toMatchObject({ code: 503, metadata: { reason: 'unavailable' } })
      const ready = await fetch(`${server.url}/readyz`)
      expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '5'])
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
      await server.stop()
    },
  )
})

describe('docs/errors.md', () => {
  test('has a heading for every error, and none for others', async () => {
    const text = await Bun.file('docs/errors.md').text()
    const headings = [...text.matchAll(/^### `(\w+)`/gm)].map((match) => match[1] ?? '')
    expect(headings.sort()).toEqual(Object.keys(errorTable).sort())
  })

  test('gives the status and the error_type of each', async () => {
    const text = await Bun.file('docs/errors.md').text()
    for (const [code, row] of Object.entries(errorTable)) {
      const section = text.split(`### \`${code}\``)[1]?.split('### ')[0]
      expect(section).toContain(`${row.status} · \`${row.errorType}\``)
    }
  })
})
