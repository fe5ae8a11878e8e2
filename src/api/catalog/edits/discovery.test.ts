import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { refreshModelLists } from '../../../gateway/refresh-model-lists.ts'

/** A server that lists models, with the replies of one test. */
class ListServer {
  replies = new Map<string, (body: string) => unknown>()
  requests: { path: string; authorization: string | null }[] = []
  readonly #server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      this.requests.push({ path: pathname + search, authorization: request.headers.get('authorization') })
      const reply = this.replies.get(pathname)
      const body = await request.text()
      return reply ? Response.json(reply(body)) : Response.json({ error: { message: 'no' } }, { status: 401 })
    },
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  list(...data: unknown[]): void {
    this.replies.set('/v1/models', () => ({ object: 'list', data }))
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }
}

const hourMs = 3600_000
const price = (prompt: string) => ({ prompt, completion: '0.000002' })

describeOnEachDatabase('discovery of models', (server) => {
  let upstream: ListServer
  beforeAll(() => {
    upstream = new ListServer()
  })
  afterAll(() => upstream.stop())
  afterEach(async () => {
    upstream.replies.clear()
    upstream.requests = []
    const { db } = server().gateway
    await db.deleteFrom('model_lists').execute()
    await db.deleteFrom('model_list_changes').execute()
    for (const { kind, name } of server().gateway.overrides.rows)
      await call('DELETE', `/catalogue/${kind}s/${name}`)
  })

  const call = (method: string, path: string, body?: unknown) =>
    server().call(method, path, body === undefined ? {} : { body })
  const provider = (more: Record<string, unknown> = {}) => ({
    name: 'Local',
    base_url: `${upstream.url}/v1`,
    dialects: ['chat'],
    api_key: 'key-of-the-operator-0123456789',
    ...more,
  })
  const data = async (response: ReturnType<typeof call>) => {
    const { status, body } = await response
    expect({ status, body }).toMatchObject({ status: 200 })
    return body.data
  }
  const changes = async () => (await call('GET', '/catalogue/model-changes?provider=local')).body.data

  test('a server is tested without being stored, and its chosen models are declared with it in one request', async () => {
    upstream.list({ id: 'small:3b', max_model_len: 8192 }, { id: 'acme/priced', pricing: price('0.000001') })
    const inspected = await data(call('POST', '/catalogue/providers/local/inspect', provider()))
    expect(inspected.test).toMatchObject({ ok: true, failed_step: null })
    expect(inspected.models).toEqual([
      { id: 'acme/priced', pricing: price('0.000001'), declared_as: [] },
      { id: 'small:3b', context_length: 8192, declared_as: [] },
    ])
    expect(upstream.requests[0]?.authorization).toBe('Bearer key-of-the-operator-0123456789')
    expect((await call('GET', '/catalogue/providers/local')).status).toBe(404)

    const chosen = { models: [{ upstream_model: 'small:3b' }, { upstream_model: 'acme/priced' }] }
    const declared = await data(
      call('POST', '/catalogue/providers/local/models', { provider: provider(), ...chosen }),
    )
    expect(declared).toEqual([
      { upstream_model: 'small:3b', id: 'local/small-3b' },
      { upstream_model: 'acme/priced', id: 'acme/priced' },
    ])
    const small = (await call('GET', '/models/local/small-3b')).body
    expect(small).toMatchObject({ context_length: 8192, pricing: { prompt: '-1' } })
    expect((await call('GET', '/models/acme/priced')).body.pricing).toEqual(price('0.000001'))
    const again = await data(call('POST', '/catalogue/providers/local/inspect'))
    expect(again.models[1].declared_as).toEqual(['local/small-3b'])
  })

  test('nothing is declared if one of the models cannot be', async () => {
    upstream.list({ id: 'a' })
    const models = [{ upstream_model: 'a' }, { upstream_model: 'b', id: 'no-author' }]
    const response = await call('POST', '/catalogue/providers/local/models', { provider: provider(), models })
    expect(response.status).toBe(400)
    expect(response.body.error.metadata.issues[0].field).toBe('models.1.id')
    expect(server().gateway.overrides.rows).toEqual([])
  })

  test('a wrong key and an address without a list say which step failed', async () => {
    const denied = await data(call('POST', '/catalogue/providers/local/inspect', provider()))
    expect(denied).toMatchObject({ test: { ok: false, failed_step: 'authentication' }, models: [] })
    upstream.replies.set('/v1/models', () => ['not', 'an', 'object'])
    const other = await data(call('POST', '/catalogue/providers/local/inspect', provider()))
    expect(other.test).toMatchObject({ ok: false, failed_step: 'reply' })
  })

  test('Ollama: the details of each model are asked for', async () => {
    const details = { format: 'gguf', family: 'llama', parameter_size: '8.0B', quantization_level: 'Q4_0' }
    upstream.replies.set('/api/tags', () => ({
      models: [{ name: 'llava:7b', model: 'llava:7b', size: 1, digest: 'd', details }],
    }))
    upstream.replies.set('/api/show', (body) => ({
      details,
      capabilities: ['completion', 'vision'],
      model_info: { 'general.architecture': 'llama', 'llama.context_length': 4096, asked: JSON.parse(body) },
    }))
    const { models } = await data(
      call('POST', '/catalogue/providers/local/inspect', provider({ model_list: 'ollama' })),
    )
    expect(models).toEqual([
      { id: 'llava:7b', context_length: 4096, input_modalities: ['text', 'image'], declared_as: [] },
    ])
  })

  describe('the job', () => {
    const refresh = () => refreshModelLists(server().gateway)

    test('reads lists of providers with wildcards every hour, and records what has changed', async () => {
      upstream.list({ id: 'stays', pricing: price('0.000001') }, { id: 'goes' })
      await data(call('PUT', '/catalogue/providers/local', provider({ wildcards: ['local/*'] })))
      await refresh()
      expect(await changes()).toEqual([])
      const listed = (await call('GET', '/models?include_unavailable=true')).body.data
      expect(listed.find(({ id }: { id: string }) => id === 'local/stays')?.pricing).toEqual(
        price('0.000001'),
      )
      upstream.list({ id: 'stays', pricing: price('0.000003') }, { id: 'comes' })
      await Promise.all([refresh(), refresh()])
      expect(upstream.requests).toHaveLength(1)
      server().clock.advance(2 * hourMs)
      await Promise.all([refresh(), refresh()])
      expect(upstream.requests).toHaveLength(2)
      const recorded = await changes()
      expect(
        recorded.map(({ model, kind }: { model: string; kind: string }) => `${model} ${kind}`).sort(),
      ).toEqual(['comes appeared', 'goes disappeared', 'stays price_changed'])
      expect((await call('GET', '/models/local%2Fstays')).body.pricing).toEqual(price('0.000003'))
    })

    test('keeps the list while the provider cannot be read, and says so', async () => {
      upstream.list({ id: 'model' })
      await data(call('PUT', '/catalogue/providers/local', provider()))
      await data(call('POST', '/catalogue/providers/local/models/refresh'))
      upstream.replies.clear()
      server().clock.advance(2 * hourMs)
      await refresh()
      const { body } = await call('GET', '/catalogue/providers/local/models')
      expect(body).toMatchObject({ total_count: 1, problem: 'The provider rejected the credential.' })
      expect(body.refreshed_at).toBeString()
      expect(await changes()).toEqual([])
    })
  })
})
