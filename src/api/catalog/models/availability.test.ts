import { describe, expect, test } from 'bun:test'
import { describeOnSqlite } from '../../../../test/support/harness.ts'

const settings = `
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9001/v1", dialects: [chat] }
models:
  - { id: acme/open-1, name: Open, endpoints: [{ provider: local, upstream_model: open }] }
  - { id: acme/closed-1, name: Closed, endpoints: [{ provider: groq, upstream_model: closed }] }
  - { id: acme/vectors-1, name: Vectors, output_modalities: [embeddings],
      endpoints: [{ provider: groq, upstream_model: vectors, dialects: [embeddings] }] }
  - { id: acme/painter-1, name: Painter, output_modalities: [image],
      endpoints: [{ provider: groq, upstream_model: painter }] }
  - { id: acme/film-1, name: Film, output_modalities: [video], video: {},
      endpoints: [{ provider: groq, upstream_model: film }] }
`

describeOnSqlite(
  'models that no request can be routed to',
  (server) => {
    const list = async (path: string, key?: string): Promise<string[]> => {
      const { body } = await server().call('GET', path, { ...(key && { key }) })
      return body.data.map(({ id }: { id: string }) => id)
    }

    test('GET /models omits models without a credential, and lists them on request', async () => {
      const served = await list('/models')
      expect(served).toContain('acme/open-1')
      expect(served).toContain('sandbox/echo')
      expect(served).not.toContain('acme/closed-1')
      expect(served.every((id) => /^(?:acme|sandbox|service)\//.test(id))).toBe(true)
      const all = await list('/models?include_unavailable=true')
      expect(all).toContain('acme/closed-1')
      expect(all.length).toBeGreaterThan(served.length + 100)
    })

    test('GET /models names the providers of each model on request', async () => {
      const read = async (query: string) =>
        (await server().call('GET', `/models?q=acme/open-1${query}`)).body.data[0]
      expect(await read('&include_providers=true')).toMatchObject({ providers: ['local'] })
      expect(await read('')).not.toHaveProperty('providers')
    })

    test('GET /models/count counts what GET /models lists', async () => {
      const count = async (query: string) =>
        (await server().call('GET', `/models/count${query}`)).body.data.count
      expect(await count('')).toBe((await list('/models')).length)
      const all = '?include_unavailable=true'
      expect(await count(all)).toBe((await list(`/models${all}`)).length)
    })

    test('a key of the caller lists the models it opens, for that caller alone', async () => {
      const slug = `w-${crypto.randomUUID().slice(0, 8)}`
      const workspace = (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
      const made = await server().call('POST', '/keys', { body: { name: 'k', workspace_id: workspace.id } })
      const body = { provider: 'groq', key: 'gsk-1234567890', workspace_id: workspace.id }
      expect((await server().call('POST', '/byok', { body })).status).toBe(201)
      expect(await list('/models', made.body.key)).toContain('acme/closed-1')
      expect(await list('/models', server().foreign.inferenceKey)).not.toContain('acme/closed-1')
    })

    test('GET /api/tags lists the models of GET /models with text output', async () => {
      const { body } = await server().call('GET', '/api/tags')
      const tags = body.models.map(({ name }: { name: string }) => name)
      expect(tags.sort()).toEqual((await list('/models?output_modalities=text')).sort())
    })

    test.each([
      ['/embeddings/models', 'acme/vectors-1'],
      ['/images/models', 'acme/painter-1'],
      ['/videos/models', 'acme/film-1'],
    ])('%s lists by the same rule', async (path, id) => {
      expect(await list(path)).not.toContain(id)
      expect(await list(`${path}?include_unavailable=true`)).toContain(id)
    })

    describe('a request to one of them', () => {
      const send = (path: string, body: object) =>
        server().call('POST', path, { body, key: server().own.inferenceKey })
      const messages = [{ role: 'user', content: 'Hi' }]

      test('is a 404 that no client retries', async () => {
        const result = await send('/chat/completions', { model: 'acme/closed-1', messages })
        expect(result.status).toBe(404)
        expect(result.headers.get('x-should-retry')).toBe('false')
        expect(result.body.error).toMatchObject({
          message: expect.stringContaining('acme/closed-1'),
          metadata: { error_type: 'not_found', reason: 'no_endpoints' },
          availability: { code: 'no_endpoints', retryable: false },
        })
      })

      test('requirements that no provider meets stay a 503, which says not to retry', async () => {
        const provider = { only: ['openai'] }
        const result = await send('/chat/completions', { model: 'acme/open-1', messages, provider })
        expect(result.status).toBe(503)
        expect(result.headers.get('x-should-retry')).toBe('false')
        expect(result.body.error.metadata.reason).toBe('no_provider')
      })
    })

    test.each(['/v1', '/api/v1'])('a model is read under its plain id at %s', async (base) => {
      const read = async (id: string) => {
        const headers = { authorization: `Bearer ${server().own.inferenceKey}` }
        const response = await fetch(`${server().url}${base}/models/${id}`, { headers })
        return { status: response.status, body: await response.json() }
      }
      expect(await read('acme/closed-1')).toMatchObject({ status: 200, body: { id: 'acme/closed-1' } })
      expect(await read('acme%2Fclosed-1')).toMatchObject({ status: 200, body: { id: 'acme/closed-1' } })
      expect(await read('acme/none')).toMatchObject({ status: 404 })
    })
  },
  { settings },
)
