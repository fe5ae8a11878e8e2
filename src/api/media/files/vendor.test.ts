import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { FileVendors, vendorError } from '../../../../test/support/file-vendor.ts'
import {
  type CallOptions,
  createTenant,
  startTestServer,
  type TestServer,
} from '../../../../test/support/harness.ts'

const keys = { vendor_a: 'own-a-0123456789', vendor_b: 'own-b-0123456789' }
const slugs = { vendor_a: 'anthropic', vendor_b: 'openai' } as const
const vendorNames = ['vendor_a', 'vendor_b'] as const
type Vendor = (typeof vendorNames)[number]

describe('files at a vendor', () => {
  let server: TestServer
  let vendors: FileVendors
  const added: string[] = []
  beforeAll(async () => {
    vendors = new FileVendors()
    const settings = { providers: vendors.providers, files: { max_bytes: 1024 * 1024 } }
    server = await startTestServer('sqlite', { settings: JSON.stringify(settings) })
  })
  afterAll(async () => {
    await server.stop()
    await vendors.stop()
  })
  beforeEach(async () => {
    for (const vendor of vendorNames) await addKey({ provider: slugs[vendor], key: keys[vendor] })
  })
  afterEach(async () => {
    for (const id of added.splice(0)) await server.call('DELETE', `/byok/${id}`)
    vendors.requests.length = 0
  })

  const addKey = async (body: object) => {
    const { id } = (await server.call('POST', '/byok', { body })).body.data
    added.push(id)
    return id as string
  }
  const call = (method: string, path: string, options: CallOptions = {}) =>
    server.call(method, path, { key: server.own.inferenceKey, ...options })
  const upload = async (
    vendor: string,
    text = 'hello',
    fields: Record<string, string> = {},
    options = {},
  ) => {
    const body = new FormData()
    body.append('file', new File([text], 'notes/a.txt'))
    for (const [name, value] of Object.entries(fields)) body.append(name, value)
    return call('POST', `/files?provider=${vendor}`, { body, ...options })
  }
  const storedAt = (vendor: Vendor, key = keys[vendor]) => vendors.filesOf(slugs[vendor], key)

  describe.each(vendorNames)('%s', (vendor) => {
    const path = (id: string, rest = '') => `/files/${id}${rest}?provider=${vendor}`

    test('a file is uploaded, listed, read, downloaded and deleted, in the shape of the vendor', async () => {
      const uploaded = await upload(vendor)
      expect(uploaded.status).toBe(200)
      const { id } = uploaded.body
      expect(storedAt(vendor).map((file) => file.id)).toEqual([id])
      expect(uploaded.body).toMatchObject({
        _shape: vendor,
        filename: 'notes/a.txt',
        size_bytes: 5,
        bytes: 5,
        created_at: vendor === 'vendor_a' ? expect.stringMatching(/^\d{4}-/) : expect.any(Number),
        downloadable: false,
      })
      expect((await call('GET', path(id))).body).toEqual(uploaded.body)
      const list = await call('GET', `/files?provider=${vendor}`)
      expect(list.body).toMatchObject({ _shape: vendor, data: [uploaded.body], has_more: false, last_id: id })
      const content = await call('GET', path(id, '/content'))
      expect(content.body).toBe('hello')
      expect(content.headers.get('content-type')).toBe('application/octet-stream')
      expect((await call('DELETE', path(id))).body).toEqual(
        vendor === 'vendor_a'
          ? { _shape: vendor, id, type: 'file_deleted' }
          : { _shape: vendor, id, object: 'file', deleted: true },
      )
      expect(storedAt(vendor)).toEqual([])
      expect((await server.gateway.db.selectFrom('files').selectAll().execute()).length).toBe(0)
    })

    test('the slug of the provider names it too, and each request is signed as its others are', async () => {
      expect((await call('GET', `/files?provider=${slugs[vendor]}`)).status).toBe(200)
      const { headers } = vendors.requests.at(-1) ?? { headers: new Headers() }
      const sent = {
        key: headers.get('x-api-key'),
        token: headers.get('authorization'),
        beta: headers.get('anthropic-beta'),
      }
      expect(sent).toEqual(
        vendor === 'vendor_a'
          ? { key: keys.vendor_a, token: null, beta: 'files-api-2025-04-14' }
          : { key: null, token: `Bearer ${keys.vendor_b}`, beta: null },
      )
    })

    test('pages continue after the last file', async () => {
      const ids: string[] = []
      for (const text of ['1', '2', '3']) ids.push((await upload(vendor, text)).body.id)
      const first = (await call('GET', `/files?provider=${vendor}&limit=2`)).body
      expect(first).toMatchObject({ has_more: true, first_id: ids[0], last_id: ids[1] })
      const second = (await call('GET', `/files?provider=${vendor}&limit=2&after_id=${first.last_id}`)).body
      expect(second).toMatchObject({ has_more: false, first_id: ids[2] })
      storedAt(vendor).length = 0
    })

    test('a part of a file is passed on', async () => {
      const { id } = (await upload(vendor)).body
      const { status, headers, body } = await call('GET', path(id, '/content'), {
        headers: { range: 'bytes=1-3' },
      })
      expect({ status, body, range: headers.get('content-range') }).toEqual({
        ...{ status: 206, body: 'ell', range: 'bytes 1-3/5' },
      })
      storedAt(vendor).length = 0
    })

    test.each(['GET', 'DELETE'])('R37 404 for an id that the account does not have: %s', async (method) => {
      expect((await call(method, path('file_none'))).body.error).toMatchObject({
        code: 404,
        message: 'The file does not exist.',
      })
    })

    test.each([
      ['a rate limit', 429, 429, 'rate_limit_error'],
      ['an outage', 500, 502, 'api_error'],
      ['a bad gateway', 502, 502, 'api_error'],
      ['overload', vendor === 'vendor_a' ? 529 : 503, 503, 'overloaded_error'],
      ['a rejected key', 401, 502, 'authentication_error'],
      ['a rejected request', 400, 400, 'invalid_request_error'],
    ])('%s of the vendor, %d, is %d', async (_, status, expected, type) => {
      vendors.failure = vendorError(slugs[vendor], status, type, `no: ${keys[vendor]}`)
      const response = await call('GET', `/files?provider=${vendor}`)
      expect(response.status).toBe(expected)
      expect(JSON.stringify(response.body)).not.toContain(keys[vendor])
    })

    test.each([
      ['a page of HTML', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
      ['another object', () => Response.json({ data: [{ name: 'x' }] })],
      ['an impossible time', () => Response.json({ data: [{ id: 'x', filename: 'x', created_at: 1e300 }] })],
      ['a redirect', () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.1:1/' } })],
    ])('502 for %s', async (_, build) => {
      vendors.failure = build()
      expect((await call('GET', `/files?provider=${vendor}`)).status).toBe(502)
    })

    test('the retry delay of a rate limit is passed on', async () => {
      vendors.failure = new Response('{}', { status: 429, headers: { 'retry-after': '7' } })
      const { headers } = await call('GET', `/files?provider=${vendor}`)
      expect(headers.get('retry-after')).toBe('7')
    })

    test('bad uploads reach no vendor: too large, empty, unknown field', async () => {
      expect((await upload(vendor, 'x'.repeat(1024 * 1024 + 1))).status).toBe(413)
      expect((await upload(vendor, '')).status).toBe(400)
      expect((await upload(vendor, 'x', { color: 'red' })).status).toBe(400)
      expect(vendors.requests).toEqual([])
      expect(readdirSync(join(server.gateway.config.dataDir, 'files'))).toEqual([])
    })

    test('any type is accepted, because the vendor decides', async () => {
      expect((await upload(vendor, '\u0000\u0001')).status).toBe(200)
      expect(storedAt(vendor).at(-1)?.type).toBe('application/octet-stream')
      storedAt(vendor).length = 0
    })
  })

  describe('the BYOK key', () => {
    test('400 without one, with a disabled one, or with one for certain models', async () => {
      const [first = ''] = added
      const expectNone = async () => {
        const { status, body } = await call('GET', '/files?provider=vendor_a')
        expect({ status, message: body.error?.message }).toEqual({
          status: 400,
          message: 'provider: no BYOK key is configured for this vendor',
        })
      }
      await server.call('PATCH', `/byok/${first}`, { body: { disabled: true } })
      await expectNone()
      await server.call('PATCH', `/byok/${first}`, {
        body: { disabled: false, allowed_models: ['anthropic/claude-haiku-4.5'] },
      })
      await expectNone()
    })

    test('a fallback key is used last, and the first of several always', async () => {
      const [first = ''] = added
      await server.call('PATCH', `/byok/${first}`, { body: { is_fallback: true } })
      await addKey({ provider: 'anthropic', key: 'second-0123456789' })
      await addKey({ provider: 'anthropic', key: 'third-0123456789' })
      for (let count = 0; count < 3; count++) await call('GET', '/files?provider=vendor_a')
      expect(new Set(vendors.requests.map(({ headers }) => headers.get('x-api-key')))).toEqual(
        new Set(['second-0123456789']),
      )
    })

    test('R37 of another organization is not used', async () => {
      const { status } = await call('GET', '/files?provider=vendor_a', { key: server.foreign.inferenceKey })
      expect(status).toBe(400)
      expect(vendors.requests).toEqual([])
    })

    test('a management key uses those of the workspace', async () => {
      const { status } = await server.call('GET', '/files?provider=vendor_a')
      expect(status).toBe(200)
      expect(vendors.requests.at(-1)?.headers.get('x-api-key')).toBe(keys.vendor_a)
    })

    test('S6 is not sent to another address than it was entered for', async () => {
      const { gateway } = server
      const { catalog } = gateway
      const moved = catalog.providers.map((provider) =>
        provider.slug === 'anthropic' ? { ...provider, baseUrl: 'http://127.0.0.1:1/v1' } : provider,
      )
      Object.assign(gateway, { catalog: { ...catalog, providers: moved } })
      try {
        const { status, body } = await call('GET', '/files?provider=vendor_a')
        expect(status).toBe(400)
        expect(body.error.message).toContain('another address of the provider')
      } finally {
        Object.assign(gateway, { catalog })
      }
    })
  })

  test.each([
    ['vendor_a', 'order=desc', 'order'],
    ['vendor_a', 'purpose=batch', 'purpose'],
    ['vendor_a', 'cursor=x', 'cursor'],
    ['vendor_b', 'before_id=file_1', 'before_id'],
    ['vendor_b', 'cursor=x', 'cursor'],
    ['vendor_b', 'after=file_1&after_id=file_2', 'after_id'],
  ])('R12 %s: 400 for %s, which it does not have', async (vendor, query, field) => {
    const { status, body } = await call('GET', `/files?provider=${vendor}&${query}`)
    expect(status).toBe(400)
    expect(body.error.message).toStartWith(`${field}:`)
    expect(vendors.requests).toEqual([])
  })

  test('order, purpose and expiry reach the vendor that has them', async () => {
    await call('GET', '/files?provider=vendor_b&order=desc&purpose=batch&after=file_1')
    expect(vendors.requests.at(-1)?.query).toBe('?limit=100&after=file_1&order=desc&purpose=batch')
    const expiry = { 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3600' }
    await upload('vendor_b', '{}', { purpose: 'batch', ...expiry })
    expect(storedAt('vendor_b').at(-1)).toMatchObject({
      purpose: 'batch',
      expiry: '3600',
      type: 'application/json',
    })
    await upload('vendor_b')
    expect(storedAt('vendor_b').at(-1)).toMatchObject({ purpose: 'user_data' })
    storedAt('vendor_b').length = 0
  })

  test('a library of one vendor gets its shape for files at the other', async () => {
    const headers = { 'anthropic-version': '2023-06-01' }
    expect((await call('GET', '/files?provider=vendor_b', { headers })).body._shape).toBe('vendor_a')
    const stainless = { 'x-stainless-lang': 'js' }
    expect((await call('GET', '/files?provider=vendor_a', { headers: stainless })).body._shape).toBe(
      'vendor_b',
    )
  })

  test('400 in the Gemini format', async () => {
    const response = await fetch(`${server.url}/v1/files?provider=vendor_a`, {
      headers: { 'x-goog-api-key': server.own.inferenceKey },
    })
    expect(response.status).toBe(400)
    expect(vendors.requests).toEqual([])
  })

  test.each([
    [{ ignored_providers: ['anthropic'] }, 'ignored_providers'],
    [{ allowed_providers: ['openai'] }, 'allowed_providers'],
    [{ enforce_zdr_vendor_a: true }, 'enforce_zdr'],
  ])('a guardrail %j applies to files too', async (rule, field) => {
    const { managementKey: key, inferenceKey, workspace } = await createTenant(server.gateway, field)
    const body = { provider: 'anthropic', key: keys.vendor_a, workspace_id: workspace.id }
    await server.call('POST', '/byok', { key, body })
    const list = () => call('GET', '/files?provider=vendor_a', { key: inferenceKey })
    expect((await list()).status).toBe(200)
    const { default_guardrail_id } = (await server.call('GET', `/workspaces/${workspace.id}`, { key })).body
      .data
    await server.call('PATCH', `/guardrails/${default_guardrail_id}`, { key, body: rule })
    const refused = await list()
    expect(refused.status).toBe(403)
    expect(refused.body.error.message).toContain(field)
  })
})
