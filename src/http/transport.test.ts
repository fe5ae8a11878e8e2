import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync, zstdDecompressSync } from 'node:zlib'
import { describeOnEachDatabase, type TestServer } from '../../test/support/harness.ts'
import { enforceIfMatch, toTaggedResponse } from './etag.ts'
import type { Operation } from './operation.ts'

/** The status line and body of a request as it is on the wire. */
async function sendRaw({ url }: TestServer, head: string): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`${head}\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += chunk
  const [lines = '', body = ''] = text.split('\r\n\r\n')
  return { status: Number(lines.split(' ')[1]), body }
}

const prompt = 'compress me, please. '.repeat(200)
const chat = { model: 'sandbox/echo', messages: [{ role: 'user', content: prompt }] }

describeOnEachDatabase('the transport', (server) => {
  function post(path: string, body: Uint8Array<ArrayBuffer>, headers: Record<string, string>) {
    const authorization = `Bearer ${path === '/keys' ? server().own.managementKey : server().own.inferenceKey}`
    return fetch(`${server().url}/v1${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', ...headers },
      body,
    })
  }

  test('a compressed body is read as its text', async () => {
    const body = new Uint8Array(gzipSync(JSON.stringify(chat)))
    const response = await post('/chat/completions', body, { 'content-encoding': 'gzip' })
    expect(response.status).toBe(200)
    expect(JSON.stringify(await response.json())).toContain('compress me, please.')
    const key = new Uint8Array(brotliCompressSync(JSON.stringify({ name: 'compressed' })))
    expect((await post('/keys', key, { 'content-encoding': 'br' })).status).toBe(201)
  })

  test('an unknown encoding is 415, and a body that inflates beyond the limit 413', async () => {
    const unknown = await post('/keys', new Uint8Array(10), { 'content-encoding': 'compress' })
    expect([unknown.status, unknown.headers.get('accept-encoding')]).toEqual([415, 'gzip, deflate, br, zstd'])
    expect(await unknown.json()).toMatchObject({
      error: { code: 415, metadata: { reason: 'encoding_unsupported' } },
    })
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(2 * 1024 * 1024, ' ')))
    const large = await post('/keys', bomb, { 'content-encoding': 'gzip' })
    expect([large.status, await large.json()]).toEqual([
      413,
      expect.objectContaining({ error: expect.objectContaining({ code: 413 }) }),
    ])
  })

  const decoders = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync }

  test.each(Object.entries(decoders))(
    'JSON is compressed for a client that accepts %s',
    async (name, decode) => {
      const { url, own } = server()
      const headers = { authorization: `Bearer ${own.inferenceKey}`, 'accept-encoding': name }
      const options = { method: 'POST', headers, body: JSON.stringify(chat), decompress: false }
      const response = await fetch(`${url}/v1/chat/completions`, options)
      expect(response.headers.get('content-encoding')).toBe(name)
      expect(response.headers.get('vary')).toContain('accept-encoding')
      expect(response.headers.get('x-generation-id')).toBeTruthy()
      expect(decode(await response.bytes()).toString()).toContain('compress me, please.')
      const models = await fetch(`${url}/v1/models`, { headers, decompress: false })
      expect(models.headers.get('content-encoding')).toBe(name)
      expect(JSON.parse(decode(await models.bytes()).toString()).data.length).toBeGreaterThan(0)
    },
  )

  test('short responses, streams, and responses for other clients are not compressed', async () => {
    const { url, own } = server()
    const send = async (path: string, body: object | null, acceptEncoding: string) => {
      const response = await fetch(`${url}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${own.inferenceKey}`, 'accept-encoding': acceptEncoding },
        ...(body && { body: JSON.stringify(body) }),
        decompress: false,
      })
      await response.bytes()
      return response.headers.get('content-encoding')
    }
    expect(await send('/v1/chat/completions', chat, 'identity')).toBeNull()
    expect(await send('/v1/chat/completions', chat, 'gzip;q=0, compress')).toBeNull()
    expect(await send('/v1/chat/completions', { ...chat, stream: true }, 'gzip')).toBeNull()
    expect(await send('/v1/key', null, 'gzip')).toBeNull()
  })

  test('two Host headers are 400', async () => {
    for (const hosts of ['Host: a.example\r\nHost: b.example', 'Host: a\r\nhost: a', 'Host: a, b']) {
      for (const path of ['/v1/models', '/healthz', '/signin', '/nowhere']) {
        const { status, body } = await sendRaw(server(), `GET ${path} HTTP/1.1\r\n${hosts}`)
        expect([hosts, path, status]).toEqual([hosts, path, 400])
        expect(JSON.parse(body).error.message).toStartWith('Host: ')
      }
    }
    for (const host of ['a.example', 'a.example:8080', '[::1]:80'])
      expect((await sendRaw(server(), `GET /healthz HTTP/1.1\r\nHost: ${host}`)).status).toBe(200)
  })

  describe('ETag', () => {
    async function createRecord(name: string): Promise<string> {
      const { body } = await server().call('POST', '/keys', { body: { name } })
      return `/keys/${body.data.hash}`
    }

    test('a record has one, and a change with that of another version is 412', async () => {
      const { call } = server()
      const path = await createRecord('tagged')
      const etag = (await call('GET', path)).headers.get('etag') ?? ''
      expect((await call('GET', path)).headers.get('etag')).toBe(etag)
      const first = await call('PATCH', path, { body: { name: 'one' }, headers: { 'if-match': etag } })
      expect(first.status).toBe(200)
      const second = await call('PATCH', path, { body: { name: 'two' }, headers: { 'if-match': etag } })
      expect([second.status, second.body.error.metadata.reason]).toEqual([412, 'precondition_failed'])
      expect((await call('DELETE', path, { headers: { 'if-match': etag } })).status).toBe(412)
      const current = await call('GET', path)
      expect(current.body.data.name).toBe('one')
      const tags = `"other", W/${current.headers.get('etag')}`
      expect((await call('DELETE', path, { headers: { 'if-match': tags } })).status).toBe(200)
      expect((await call('DELETE', path, { headers: { 'if-match': '*' } })).status).toBe(404)
    })

    test('of concurrent changes of one version, one succeeds', async () => {
      const { call } = server()
      const path = await createRecord('contested')
      const headers = { 'if-match': (await call('GET', path)).headers.get('etag') ?? '' }
      const { url, own } = server()
      const changes = Array.from({ length: 6 }, (_, index) =>
        fetch(`${url}${['/api/v1', '/v1'][index % 2]}${path}${index % 3 === 0 ? '/' : ''}`, {
          method: 'PATCH',
          headers: { ...headers, authorization: `Bearer ${own.managementKey}` },
          body: JSON.stringify({ name: `change ${index}` }),
        }),
      )
      const statuses = (await Promise.all(changes)).map(({ status }) => status)
      expect(statuses.toSorted()).toEqual([200, 412, 412, 412, 412, 412])
    })

    test('what a key spends does not keep it from being changed, but is a change for a client that polls', async () => {
      const { call } = server()
      const created = (await call('POST', '/keys', { body: { name: 'used' } })).body
      const path = `/keys/${created.data.hash}`
      const etag = (await call('GET', path)).headers.get('etag') ?? ''
      const reply = await call('POST', '/chat/completions', { key: created.key, body: chat })
      expect(reply.status).toBe(200)
      expect((await call('GET', path, { headers: { 'if-none-match': etag } })).status).toBe(200)
      const changed = await call('PATCH', path, { body: { name: 'changed' }, headers: { 'if-match': etag } })
      expect(changed.status).toBe(200)
    })

    test('only the counters of the record itself are not compared, not settings of the same name', async () => {
      const operation = { status: 200, params: {} } as Operation
      const record = (include: boolean, usage: number) => ({
        data: { usage, config: { usage: { include } } },
      })
      const etag =
        toTaggedResponse(operation, new Request('http://localhost/'), record(true, 1)).headers.get('etag') ??
        ''
      await enforceIfMatch(etag, async () => record(true, 2))
      await expect(enforceIfMatch(etag, async () => record(false, 1))).rejects.toMatchObject({
        code: 'precondition_failed',
      })
    })

    test('a client that has the list or the record gets 304 without a body', async () => {
      const { call } = server()
      for (const path of ['/workspaces', await createRecord('polled')]) {
        const etag = (await call('GET', path)).headers.get('etag') ?? ''
        const same = await call('GET', path, { headers: { 'if-none-match': `"x", W/${etag}` } })
        expect([same.status, same.body, same.headers.get('etag')]).toEqual([304, '', etag])
        expect((await call('GET', path, { headers: { 'if-none-match': '"x"' } })).status).toBe(200)
      }
    })

    test('a record that does not exist yet is not created with If-Match', async () => {
      const { call, own } = server()
      const path = `/workspaces/${own.workspace.id}/budgets/daily`
      const { status, body } = await call('PUT', path, {
        body: { limit_usd: 1 },
        headers: { 'if-match': '*' },
      })
      expect([status, body.error.metadata.reason]).toEqual([412, 'precondition_failed'])
    })

    test('a condition that cannot be checked is 400', () => {
      expect(enforceIfMatch('"x"', null)).rejects.toMatchObject({
        code: 'invalid_request',
        param: 'If-Match',
      })
    })
  })
})
