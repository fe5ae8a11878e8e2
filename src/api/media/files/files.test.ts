import { beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type CallOptions,
  createTenant,
  describeOnEachDatabase,
  type TestServer,
} from '../../../../test/support/harness.ts'
import { createKey } from '../../../identity/keys.ts'
import { createWorkspace } from '../../../identity/workspaces.ts'

const settings = `
regions:
  hosts:
    europe.example.com: europe
`
const vendorA = { 'anthropic-version': '2023-06-01' }
const vendorB = { 'x-stainless-lang': 'js' }
const idPattern = /^hg_file_[A-Za-z0-9_-]+$/

describeOnEachDatabase(
  'files',
  (server) => {
    const upload = async (text = 'hello', name = 'a.txt', options: CallOptions = {}, query = '') => {
      const body = new FormData()
      body.append('file', new File([text], name))
      return (await server().call('POST', `/files${query}`, { body, ...options })).body
    }

    describe('shapes', () => {
      test('service is the default shape of a response', async () => {
        const file = await upload('{"a": 1}', 'data.json')
        expect(file).toEqual({
          _shape: 'service',
          id: expect.stringMatching(idPattern),
          type: 'file',
          object: 'file',
          filename: 'data.json',
          mime_type: 'application/json',
          size_bytes: 8,
          bytes: 8,
          purpose: 'user_data',
          status: 'processed',
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
          downloadable: true,
        })
        expect((await server().call('GET', `/files/${file.id}`)).body).toEqual(file)
        const list = await server().call('GET', '/files?limit=1000')
        expect(list.body._shape).toBe('service')
        expect(list.body.data).toContainEqual(file)
        const deleted = await server().call('DELETE', `/files/${file.id}`)
        expect(deleted.body).toEqual({ _shape: 'service', id: file.id, type: 'file_deleted' })
      })

      test('vendor_a for a client that sends anthropic-version', async () => {
        const file = await upload('hello', 'a.txt', { headers: vendorA })
        expect(file).toMatchObject({
          _shape: 'vendor_a',
          type: 'file',
          mime_type: 'text/plain',
          size_bytes: 5,
        })
        const got = await server().call('GET', `/files/${file.id}?beta=true`, { headers: vendorA })
        expect(got.body).toEqual(file)
        const list = await server().call('GET', '/files?limit=1000', { headers: vendorA })
        expect(list.body).toMatchObject({ _shape: 'vendor_a', has_more: false, last_id: file.id })
        expect(list.body).not.toHaveProperty('cursor')
        const deleted = await server().call('DELETE', `/files/${file.id}`, { headers: vendorA })
        expect(deleted.body).toEqual({ _shape: 'vendor_a', id: file.id, type: 'file_deleted' })
      })

      test('vendor_b for the OpenAI SDK, as it sends its form', async () => {
        const { type, body } = openAiForm({ file: '{"custom_id": "1"}\n', purpose: 'batch' })
        const headers = { ...vendorB, 'content-type': type }
        const { body: file } = await server().call('POST', '/files', { body, headers })
        expect(file).toEqual({
          _shape: 'vendor_b',
          id: expect.stringMatching(idPattern),
          object: 'file',
          type: 'file',
          filename: 'requests.jsonl',
          mime_type: 'application/x-ndjson',
          bytes: 19,
          size_bytes: 19,
          downloadable: true,
          created_at: expect.any(Number),
          purpose: 'batch',
          status: 'processed',
        })
        expect((await server().call('GET', `/files/${file.id}`, { headers: vendorB })).body).toEqual(file)
        const list = await server().call('GET', '/files?limit=1000', { headers: vendorB })
        expect(list.body).toMatchObject({ _shape: 'vendor_b', object: 'list', has_more: false })
        const deleted = await server().call('DELETE', `/files/${file.id}`, { headers: vendorB })
        expect(deleted.body).toEqual({ _shape: 'vendor_b', id: file.id, object: 'file', deleted: true })
      })

      test('vendor_b by `purpose` in the form or `after` in the query alone', async () => {
        const body = new FormData()
        body.append('purpose', 'user_data')
        body.append('file', new File(['hello'], 'a.txt'))
        const { body: file } = await server().call('POST', '/files', { body })
        expect(file._shape).toBe('vendor_b')
        const list = await server().call('GET', `/files?after=${file.id}`)
        expect(list.body).toEqual({
          _shape: 'vendor_b',
          object: 'list',
          data: [],
          first_id: null,
          last_id: null,
          has_more: false,
        })
      })

      test.each(['Go-http-client/1.1', 'async-openai', 'OpenAI/JS 7.53.0', 'curl/8.0'])(
        'vendor_b at /v1 for everyone who says nothing else, %s included',
        async (agent) => {
          const call = async (method: string, path: string, body?: FormData, more = {}) => {
            const headers = {
              authorization: `Bearer ${server().own.inferenceKey}`,
              'user-agent': agent,
              ...more,
            }
            const sent = { method, headers, ...(body && { body }) }
            const response = await fetch(`${server().url}/v1${path}`, sent)
            return (await response.json()) as Record<string, unknown>
          }
          const form = new FormData()
          form.append('file', new File(['hello'], 'a.txt'))
          const file = await call('POST', '/files', form)
          const shown = { object: 'file', bytes: 5, created_at: expect.any(Number), purpose: 'user_data' }
          expect(file).toMatchObject(shown)
          expect(await call('GET', `/files/${file.id}`)).toMatchObject(shown)
          expect(await call('GET', '/files?limit=1000')).toMatchObject({ _shape: 'vendor_b', object: 'list' })
          expect(await call('GET', `/files/${file.id}`, undefined, vendorA)).toMatchObject({
            _shape: 'vendor_a',
            created_at: expect.any(String),
          })
          expect(await call('DELETE', `/files/${file.id}`)).toEqual({
            _shape: 'vendor_b',
            id: file.id,
            object: 'file',
            deleted: true,
          })
        },
      )

      test.each([
        ['/home/me/a.txt', 'a.txt'],
        ['C:\\Users\\me\\a.txt', 'a.txt'],
        ['folder/a.txt', 'folder/a.txt'],
      ])(
        'of the absolute path that some libraries of vendor_b send, %s, the name is stored',
        async (given, kept) => {
          const body = [
            '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n',
            `--b\r\nContent-Disposition: form-data; name="file"; filename="${given}"\r\n\r\nhi\r\n--b--\r\n`,
          ].join('')
          const headers = { 'content-type': 'multipart/form-data; boundary=b' }
          const result = await server().call('POST', '/files', { body, headers })
          expect([result.status, result.body.filename]).toEqual([200, kept])
        },
      )

      test('the user agent alone decides nothing', async () => {
        const list = await server().call('GET', '/files', { headers: { 'user-agent': 'OpenAI/JS 7.53.0' } })
        expect(list.body._shape).toBe('service')
      })
    })

    describe('E7 DELETE /files/{file_id}', () => {
      const onDisk = (id: string) => existsSync(join(server().gateway.config.dataDir, 'files', id))

      test('E7 removes the record and the bytes permanently', async () => {
        const { id } = await upload()
        expect(onDisk(id)).toBe(true)
        expect((await server().call('DELETE', `/files/${id}`)).status).toBe(200)
        expect(onDisk(id)).toBe(false)
        for (const [method, path] of [
          ['DELETE', `/files/${id}`],
          ['GET', `/files/${id}`],
          ['GET', `/files/${id}/content`],
        ] as const) {
          expect((await server().call(method, path)).status).toBe(404)
        }
      })

      test.each([
        ['a dot', 'a.b'],
        ['a folder', '..%2F..%2Fheadgate.sqlite'],
        ['a space', 'a%20b'],
        ['a NUL', 'a%00b'],
        ['a letter beyond ASCII', '%C3%A9'],
        ['257 characters', 'a'.repeat(257)],
      ])('E7 400 for an id with %s', async (_, id) => {
        for (const [method, path] of [
          ['DELETE', `/files/${id}`],
          ['GET', `/files/${id}`],
          ['GET', `/files/${id}/content`],
        ] as const) {
          const result = await server().call(method, path)
          expect(result.status).toBe(400)
          expect(result.body.error.message).toStartWith('file_id')
        }
      })

      test('E7 404 for an id of 256 characters that does not exist', async () => {
        expect((await server().call('DELETE', `/files/${'a'.repeat(256)}`)).status).toBe(404)
      })

      test('E7 401 without a key', async () => {
        expect((await server().call('DELETE', '/files/x', { key: null })).status).toBe(401)
      })
    })

    describe('GET /files/{file_id}/content', () => {
      test('the bytes, as an attachment that no browser interprets', async () => {
        const { id } = await upload('<script>alert(1)</script>', 'notes/naïve (1).html')
        const { headers, body } = await server().call('GET', `/files/${id}/content`)
        expect(body).toBe('<script>alert(1)</script>')
        expect(headers.get('content-type')).toBe('application/octet-stream')
        expect(headers.get('content-disposition')).toBe(
          "attachment; filename*=UTF-8''na%C3%AFve%20%281%29.html",
        )
        expect(headers.get('x-content-type-options')).toBe('nosniff')
      })

      test('500, not 404, when the record is there and its bytes are not', async () => {
        const { id } = await upload()
        await Bun.file(join(server().gateway.config.dataDir, 'files', id)).delete()
        expect((await server().call('GET', `/files/${id}/content`)).status).toBe(500)
        expect((await server().call('DELETE', `/files/${id}`)).status).toBe(200)
      })
    })

    describe('tenants', () => {
      let other: { id: string; key: string }
      let homeKey: string
      beforeAll(async () => {
        other = await workspaceWithKey(server(), 'files-other')
        homeKey = await keyIn(server(), server().own.workspace.id)
      })

      test('R37 a file of another tenant is 404 for every operation, and in no list', async () => {
        const file = await upload()
        const key = server().foreign.inferenceKey
        for (const [method, path] of [
          ['GET', `/files/${file.id}`],
          ['GET', `/files/${file.id}/content`],
          ['DELETE', `/files/${file.id}`],
          ['GET', `/files?after=${file.id}`],
          ['GET', `/files?after_id=${file.id}`],
        ] as const) {
          expect((await server().call(method, path, { key })).status).toBe(404)
        }
        const list = await server().call('GET', '/files', { key })
        expect(list.body.data).toEqual([])
        expect((await server().call('GET', `/files/${file.id}`)).status).toBe(200)
      })

      test('R37 a file of another workspace of the same organization is 404', async () => {
        const file = await upload('hello', 'a.txt', { key: other.key })
        expect((await server().call('GET', `/files/${file.id}`, { key: homeKey })).status).toBe(404)
        expect((await server().call('DELETE', `/files/${file.id}`, { key: homeKey })).status).toBe(404)
        expect((await server().call('GET', `/files/${file.id}`, { key: other.key })).status).toBe(200)
      })

      test('R37 an inference key acts in its own workspace and is 403 in any other', async () => {
        const body = () => {
          const form = new FormData()
          form.append('file', new File(['x'], 'a.txt'))
          return form
        }
        for (const workspace of [other.id, server().foreign.workspace.id, crypto.randomUUID()]) {
          const query = `?workspace_id=${workspace}`
          expect((await server().call('GET', `/files${query}`, { key: homeKey })).status).toBe(403)
          const options = { key: homeKey, body: body() }
          expect((await server().call('POST', `/files${query}`, options)).status).toBe(403)
          expect((await server().call('DELETE', `/files/x${query}`, { key: homeKey })).status).toBe(403)
        }
        const own = `?workspace_id=${other.id.toUpperCase()}`
        expect((await server().call('GET', `/files${own}`, { key: other.key })).status).toBe(200)
      })

      test('R37 a management key may name any workspace of its organization, and no other', async () => {
        const query = `?workspace_id=${other.id}`
        const file = await upload('hello', 'a.txt', {}, query)
        expect((await server().call('GET', `/files/${file.id}${query}`)).status).toBe(200)
        expect((await server().call('GET', `/files/${file.id}`)).status).toBe(404)
        expect((await server().call('GET', `/files/${file.id}`, { key: other.key })).status).toBe(200)
        const foreign = `?workspace_id=${server().foreign.workspace.id}`
        expect((await server().call('GET', `/files${foreign}`)).status).toBe(403)
      })
    })

    test('403 on a regional host for every operation', async () => {
      const headers = { host: 'europe.example.com' }
      const body = new FormData()
      body.append('file', new File(['x'], 'a.txt'))
      for (const [method, path, extra] of [
        ['GET', '/files', {}],
        ['POST', '/files', { body }],
        ['GET', '/files/x', {}],
        ['GET', '/files/x/content', {}],
        ['DELETE', '/files/x', {}],
      ] as const) {
        const result = await server().call(method, path, { headers, ...extra })
        expect(result.body.error.metadata.reason).toBe('region_refused')
      }
    })

    test('a region guardrail holds for files as for requests to models', async () => {
      const tenant = await createTenant(server().gateway, 'European files')
      const { managementKey, inferenceKey, workspace } = tenant
      const path = `/guardrails/${(await server().call('GET', `/workspaces/${workspace.id}`, { key: managementKey })).body.data.default_guardrail_id}`
      const body = new FormData()
      body.append('file', new File(['x'], 'a.txt'))
      expect((await server().call('POST', '/files', { key: inferenceKey, body })).status).toBe(200)
      const regions = { allowed_data_regions: ['europe'] }
      await server().call('PATCH', path, { key: managementKey, body: regions })
      for (const key of [managementKey, inferenceKey]) {
        const again = new FormData()
        again.append('file', new File(['x'], 'a.txt'))
        const result = await server().call('POST', '/files', { key, body: again })
        expect([result.status, result.body.error.metadata.reason]).toEqual([403, 'guardrail_blocked'])
      }
    })

    test.each(['vendor_a', 'vendor_b', 'anthropic', 'openai'])(
      '400 for provider=%s while no BYOK key for it is configured',
      async (provider) => {
        for (const path of ['/files', '/files/x', '/files/x/content']) {
          const result = await server().call('GET', `${path}?provider=${provider}`)
          expect(result.status).toBe(400)
          expect(result.body.error.message).toStartWith('provider: no BYOK key')
        }
      },
    )
  },
  { settings },
)

async function keyIn(server: TestServer, workspaceId: string): Promise<string> {
  const { db, clock } = server.gateway
  const organizationId = server.own.organization.id
  const { secret } = await createKey(db, clock, { organizationId, workspaceId, kind: 'inference', name: 'k' })
  return secret
}

async function workspaceWithKey(server: TestServer, slug: string): Promise<{ id: string; key: string }> {
  const { db, clock } = server.gateway
  const owner = { organizationId: server.own.organization.id, createdBy: null }
  const { id } = await createWorkspace(db, clock, owner, { slug, name: slug })
  return { id, key: await keyIn(server, id) }
}

/** Field order, names and headers as the SDK writes them. */
function openAiForm({ file, purpose }: { file: string; purpose: string }): { type: string; body: string } {
  const boundary = 'formdata-undici-012345678901'
  const body = [
    `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n${purpose}\r\n`,
    `--${boundary}\r\nContent-Disposition: form-data; name="expires_after[anchor]"\r\n\r\ncreated_at\r\n`,
    `--${boundary}\r\nContent-Disposition: form-data; name="expires_after[seconds]"\r\n\r\n3600\r\n`,
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="requests.jsonl"\r\nContent-Type: application/octet-stream\r\n\r\n${file}\r\n`,
    `--${boundary}--\r\n`,
  ].join('')
  return { type: `multipart/form-data; boundary=${boundary}`, body }
}
