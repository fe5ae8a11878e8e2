import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { OriginReachability } from '../../src/platform/http/origin-reachability.ts'
import { describeOnSqlite } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const installationKey = 'canary-installation-0123456789'
const byokSecret = 'canary-byok-secret-0123456789'

const settings = `
models:
  - { id: acme/cheap, name: Cheap, endpoints: [
      { provider: local, upstream_model: cheap, pricing: { prompt: "0.000001", completion: "0.000001" } }] }
  - { id: acme/dear, name: Dear, endpoints: [
      { provider: local, upstream_model: dear, pricing: { prompt: "0.001", completion: "0.001" } }] }
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9/v1", api_key: ${installationKey}, dialects: [chat] }
`

describeOnSqlite(
  'tests of credentials',
  (server) => {
    let upstream: Upstream
    beforeAll(async () => {
      upstream = await startUpstream()
      await setAddress(`${upstream.url}/v1`)
    })
    afterEach(() => {
      // The rate limit of tests is by the minute.
      server().clock.advance(60_000)
      Object.assign(server().gateway.upstreams, { origins: new OriginReachability() })
    })
    afterAll(() => upstream.stop())

    const setAddress = (base_url: string) =>
      server().call('PUT', '/catalogue/providers/local', {
        body: { name: 'Local', base_url, api_key: installationKey, dialects: ['chat'] },
      })
    const post = async (path: string, body?: unknown) =>
      (await server().call('POST', path, body === undefined ? {} : { body })).body
    const testProvider = async (body?: unknown) => (await post('/catalogue/providers/local/test', body)).data
    const createKey = async (more = {}) =>
      (await post('/byok', { provider: 'local', key: byokSecret, ...more })).data.id as string
    const okReply = {
      json: { choices: [{ message: { content: 'Hi' }, finish_reason: 'length' }], usage: {} },
    }
    const countGenerations = async () =>
      (await server().gateway.db.selectFrom('generations').select('id').execute()).length

    test('asks the cheapest text model with the credential of the installation, free of charge', async () => {
      const generations = await countGenerations()
      upstream.enqueue(okReply)
      expect(await testProvider()).toEqual({
        ok: true,
        model: 'acme/cheap',
        endpoint: 'local',
        duration_ms: expect.any(Number),
        failed_step: null,
        status: 200,
        message: expect.stringContaining('answered'),
        remedy: null,
        provider_message: null,
      })
      const request = upstream.requests.at(-1)
      expect(request?.headers.authorization).toBe(`Bearer ${installationKey}`)
      expect(request?.json).toMatchObject({ model: 'cheap', max_tokens: 16 })
      expect(await countGenerations()).toBe(generations)
      upstream.enqueue(okReply)
      expect(await testProvider({ model: 'acme/dear' })).toMatchObject({ ok: true, model: 'acme/dear' })
      expect((await post('/catalogue/providers/local/test', { model: 'sandbox/echo' })).error).toMatchObject({
        code: 400,
      })
    })

    test.each([
      [401, 'authentication'],
      [402, 'payment'],
      [403, 'permission'],
      [404, 'model'],
      [429, 'rate_limit'],
      [400, 'request'],
      [500, 'provider'],
      [529, 'provider'],
    ])('status %p: %s, with what to do', async (status, failed_step) => {
      upstream.enqueue({ status, json: { error: { message: 'Because.' } } })
      expect(await testProvider()).toMatchObject({
        ok: false,
        status,
        failed_step,
        model: 'acme/cheap',
        remedy: expect.any(String),
        provider_message: 'Because.',
      })
    })

    test('a web page, an empty reply and an error in a reply are no success', async () => {
      upstream.enqueue({ text: '<html>Welcome</html>' }, { json: {} }, { status: 302 })
      for (let count = 0; count < 3; count += 1)
        expect(await testProvider()).toMatchObject({
          ok: false,
          failed_step: 'reply',
          provider_message: null,
        })
    })

    describe('a connection that fails', () => {
      const useOrigins = (code: string, hasAddress: boolean) => {
        const connect = () => Promise.reject(Object.assign(new Error('failed'), { code }))
        const resolve = () => (hasAddress ? Promise.resolve() : Promise.reject(new Error('no address')))
        Object.assign(server().gateway.upstreams, { origins: new OriginReachability(connect, resolve) })
      }

      test.each([
        ['ECONNREFUSED', true, 'connection'],
        ['ECONNREFUSED', false, 'dns'],
        ['ENOTFOUND', true, 'dns'],
        ['DEPTH_ZERO_SELF_SIGNED_CERT', true, 'tls'],
      ])('%s, with an address %p: %s', async (code, hasAddress, failed_step) => {
        await setAddress('http://provider.test/v1')
        useOrigins(code, hasAddress)
        expect(await testProvider()).toMatchObject({ ok: false, failed_step, status: null })
        await setAddress(`${upstream.url}/v1`)
      })
    })

    test('a BYOK key is tested with its own credential and models, and the test is in the audit log', async () => {
      const id = await createKey({ allowed_models: ['acme/dear'] })
      upstream.enqueue(okReply)
      expect((await post(`/byok/${id}/test`)).data).toMatchObject({ ok: true, model: 'acme/dear' })
      expect(upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${byokSecret}`)
      const { data } = (await server().call('GET', `/audit?target_id=${id}&action=byok_key.test`)).body
      expect(data).toEqual([
        expect.objectContaining({
          changes: { details: { ok: true, failed_step: null, model: 'acme/dear' } },
        }),
      ])
      await server().call('DELETE', `/byok/${id}`)
    })

    test('a test is in the audit log although its client has left', async () => {
      const id = await createKey()
      upstream.enqueue({ ...okReply, waitMs: 300 })
      const { length } = upstream.requests
      const client = new AbortController()
      const { own, url } = server()
      const left = fetch(`${url}/api/v1/byok/${id}/test`, {
        method: 'POST',
        headers: { authorization: `Bearer ${own.managementKey}` },
        signal: client.signal,
      })
      await upstream.waitForRequests(length + 1)
      client.abort()
      await expect(left).rejects.toThrow()
      const read = async () =>
        (await server().call('GET', `/audit?target_id=${id}&action=byok_key.test`)).body.data
      for (let tries = 0; tries < 100 && (await read()).length === 0; tries += 1) await Bun.sleep(50)
      const details = { ok: true, failed_step: null, model: 'acme/cheap' }
      expect(await read()).toMatchObject([{ ip: '127.0.0.1', changes: { details } }])
      await server().call('DELETE', `/byok/${id}`)
    })

    test('R40: a provider that repeats the credential: it is in no answer, and neither are accounts', async () => {
      const id = await createKey()
      const echo = {
        status: 401,
        json: { error: { message: `Bad key ${byokSecret} of org-abcdefghij1234` } },
      }
      upstream.enqueue(echo, echo)
      for (const answer of [
        await post(`/byok/${id}/test`),
        await post('/byok/test', { provider: 'local', key: byokSecret }),
      ]) {
        expect(answer.data).toMatchObject({
          failed_step: 'authentication',
          provider_message: 'Bad key *** of ***',
        })
        expect(JSON.stringify(answer)).not.toContain(byokSecret)
      }
      await server().call('DELETE', `/byok/${id}`)
    })

    test('a draft is tested and not stored', async () => {
      upstream.enqueue(okReply)
      const { data } = await post('/byok/test', { provider: 'local', key: 'draft-secret-0123456789' })
      expect(data).toMatchObject({ ok: true, model: 'acme/cheap' })
      expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer draft-secret-0123456789')
      expect((await server().call('GET', '/byok?provider=local')).body.data).toEqual([])
      expect((await post('/byok/test', { provider: 'sandbox', key: 'x' })).error.message).toContain(
        'provider',
      )
    })

    test('a credential with one deployment is tested with its model, however many are cheaper', async () => {
      const { catalog, settings } = server().gateway
      const endpoints = catalog.models
        .flatMap((model) => model.endpoints)
        .filter(({ provider, service_tier }) => provider.slug === 'azure' && service_tier === null)
        .filter(({ model_id }) => /^openai\/gpt-[\d.]+-pro$/.test(model_id))
      const [model_slug] = endpoints.map(({ model_id }) => model_id)
      const { host } = new URL(upstream.url)
      settings.egress.allow_private.push(host)
      const deployment = {
        model_slug,
        endpoint_url: `http://${host}/v1`,
        api_key: byokSecret,
        model_id: 'mine',
      }
      const draft = { provider: 'azure', key: JSON.stringify([deployment]) }
      upstream.enqueue(okReply)
      expect((await post('/byok/test', draft)).data).toMatchObject({ ok: true, model: model_slug })
      expect(upstream.requests.at(-1)?.json).toMatchObject({ model: 'mine' })
      const other = { ...deployment, endpoint_url: `http://${host}/v1/embeddings` }
      expect((await post('/byok/test', { ...draft, key: JSON.stringify([other]) })).data).toMatchObject({
        failed_step: 'credential',
        message: 'The deployment of this model is not for text.',
      })
      settings.egress.allow_private.pop()
    })

    test('without anything to send: no credential, no model, a key for another address', async () => {
      const none = await post('/catalogue/providers/groq/test')
      expect(none.data).toMatchObject({ ok: false, failed_step: 'credential', model: null })
      const unknown = await post('/byok/test', { provider: 'ai21', key: byokSecret })
      expect(unknown.data).toMatchObject({ ok: false, failed_step: 'model', model: null })
      const id = await createKey()
      await setAddress('http://127.0.0.1:1/v1')
      const moved = await post(`/byok/${id}/test`)
      expect(moved.data).toMatchObject({
        failed_step: 'credential',
        message: expect.stringContaining('another address'),
      })
      await setAddress(`${upstream.url}/v1`)
      await server().call('DELETE', `/byok/${id}`)
      expect((await server().call('POST', '/catalogue/providers/none/test')).status).toBe(404)
      expect((await post('/catalogue/providers/sandbox/test')).data).toMatchObject({ ok: true })
    })

    test('a request with tests changes neither health nor routing', async () => {
      upstream.enqueue({ status: 500, json: {} })
      await testProvider()
      const { data } = (await server().call('GET', '/endpoints/health?model=acme/cheap')).body
      expect(data[0]).toMatchObject({ state: 'healthy', last_error: null, hours: [] })
    })
  },
  { settings },
)
