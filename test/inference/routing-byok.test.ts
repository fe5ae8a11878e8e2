import { afterEach, describe, expect, test } from 'bun:test'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import {
  collectAttempts,
  collectRefusal,
  describeRouting,
  endpointNameOf,
  sendRouted,
} from './routing-fixture.ts'

describeRouting('a BYOK key', (routed) => {
  const made: string[] = []
  afterEach(async () => {
    for (const id of made.splice(0)) await routed().server.call('DELETE', `/byok/${id}`)
  })

  /** The credential is `own-1`, `own-2`, ... by default. */
  const bring = async (provider: string, more: object = {}) => {
    const key = `own-${made.length + 1}-0123456789`
    const { body } = await routed().server.call('POST', '/byok', { body: { provider, key, ...more } })
    made.push(body.data.id)
    return body.data.id as string
  }
  const tried = async (body: object = {}, init = {}) => {
    const { attempts } = await collectAttempts(routed(), { ...body }, init)
    return attempts.map(({ endpoint, credential }) => `${endpointNameOf(endpoint)} ${credential.slice(0, 5)}`)
  }
  const shared = (...slugs: string[]) => slugs.map((slug) => `${slug} share`)

  describe('order', () => {
    test('BYOK keys first, by sort_order within a provider, then shared capacity, then fallback keys', async () => {
      await bring('gamma')
      await bring('gamma')
      await bring('beta', { is_fallback: true })
      await bring('alpha')
      expect(await tried()).toEqual([
        'alpha own-4',
        'gamma own-1',
        'gamma own-2',
        ...shared('alpha', 'beta', 'gamma'),
        'beta own-3',
      ])
    })

    test('with provider.order all BYOK keys come first, in that order', async () => {
      await bring('beta')
      await bring('gamma')
      const order = { provider: { order: ['alpha', 'gamma', 'beta'] } }
      expect(await tried(order)).toEqual(['gamma own-2', 'beta own-1', ...shared('alpha', 'gamma', 'beta')])
    })

    test('partition none lets a BYOK key of a later model go first', async () => {
      await bring('beta')
      const provider = { sort: { by: 'price', partition: 'none' } }
      const models = ['test/line-1', 'test/line-2']
      const { attempts } = await collectAttempts(routed(), { model: undefined, models, provider })
      expect(attempts.map(({ endpoint }) => endpoint)).toEqual(['line-2 beta', 'line-1 alpha', 'line-2 beta'])
    })

    test('I11 S13 a request makes twenty attempts at most, however many keys there are', async () => {
      for (let count = 0; count < 22; count++) await bring('alpha')
      expect(await tried()).toHaveLength(20)
    })

    test('a disabled or deleted key is not used', async () => {
      const id = await bring('alpha')
      await routed().server.call('PATCH', `/byok/${id}`, { body: { disabled: true } })
      expect(await tried()).toEqual(shared('alpha', 'beta', 'gamma'))
    })
  })

  describe('what it excludes', () => {
    test('is_required: no shared capacity of the provider for the models it applies to', async () => {
      await bring('alpha', { is_required: true, allowed_models: ['test/plain'] })
      expect(await tried()).toEqual(['alpha own-1', ...shared('beta', 'gamma')])
      expect(await tried({ model: 'test/line-1' })).toEqual(shared('alpha'))
    })

    test('is_byok_only: no shared capacity of the provider for any model', async () => {
      await bring('alpha', { is_byok_only: true, allowed_models: ['test/plain'] })
      expect(await tried()).toEqual(['alpha own-1', ...shared('beta', 'gamma')])
      expect(await collectRefusal(routed(), { model: 'test/line-1' })).toMatchObject({
        tried: [],
        excluded: ['own_key_required'],
      })
    })

    test('preferences apply to BYOK keys too', async () => {
      await bring('alpha')
      expect(await tried({ provider: { ignore: ['alpha'] } })).toEqual(shared('beta', 'gamma'))
      expect(await tried({ provider: { max_price: { prompt: 0.5 } } })).toEqual([])
    })
  })

  describe('who may use it', () => {
    test('allowed_models', async () => {
      await bring('alpha', { allowed_models: ['test/line-1'] })
      expect(await tried()).toEqual(shared('alpha', 'beta', 'gamma'))
      expect(await tried({ model: 'test/line-1' })).toEqual(['alpha own-1', ...shared('alpha')])
    })

    test('allowed_api_key_hashes', async () => {
      const { inferenceKey } = routed().server.own
      const other = await routed().server.call('POST', '/keys', { body: { name: 'another' } })
      await bring('alpha', { allowed_api_key_hashes: [sha256(inferenceKey)] })
      expect(await tried({ model: 'test/line-1' })).toEqual(['alpha own-1', ...shared('alpha')])
      expect(await tried({ model: 'test/line-1' }, { key: other.body.key })).toEqual(shared('alpha'))
    })

    test('allowed_user_ids', async () => {
      const { server } = routed()
      await bring('alpha', { allowed_user_ids: [] })
      expect(await tried({ model: 'test/line-1' })).toEqual(shared('alpha'))
      await bring('alpha', { allowed_user_ids: [server.own.owner.id] })
      const mine = await server.call('POST', '/keys', {
        body: { name: 'mine', creator_user_id: server.own.owner.id },
      })
      expect(await tried({ model: 'test/line-1' }, { key: mine.body.key })).toEqual([
        'alpha own-2',
        ...shared('alpha'),
      ])
    })

    test('another organization never does', async () => {
      await bring('alpha')
      const { foreign, gateway } = routed().server
      const model = 'test/gift:free'
      const { attempts } = await collectAttempts(routed(), { model }, { key: foreign.inferenceKey })
      expect(attempts.map(({ credential }) => credential)).toEqual(['shared-secret'])
      expect(gateway.routing.health.find('test/gift:free alpha')).not.toBeNull()
    })
  })

  test.each([
    [true, ['alpha own-1', 'gamma share']],
    [false, ['gamma share']],
    [null, ['gamma share']],
  ])('declared_zdr %p where retention is forbidden: %j', async (declared_zdr, endpoints) => {
    await bring('alpha', { declared_zdr })
    const refuse = { provider: { zdr: true } }
    expect(await tried({ model: 'test/data', ...refuse })).toEqual(endpoints)
  })

  test('declared_zdr false excludes even an endpoint with a ZDR policy', async () => {
    await bring('gamma', { declared_zdr: false })
    const zdr = { model: 'test/data', provider: { zdr: true } }
    expect(await tried(zdr)).toEqual(shared('gamma'))
    expect(await tried({ model: 'test/data', provider: { only: ['gamma'] } })).toEqual([
      'gamma own-1',
      ...shared('gamma'),
    ])
  })

  test('R15 only the fee is charged, and the record has the id of the key', async () => {
    const { server } = routed()
    const withShared = await sendRouted(routed(), { model: 'test/line-1' })
    await bring('alpha')
    const withOwn = await sendRouted(routed(), { model: 'test/line-1' })
    expect([withShared.body.usage.is_byok, withOwn.body.usage.is_byok]).toEqual([false, true])
    expect(withOwn.body.usage.cost).toBeCloseTo(withShared.body.usage.cost * 0.05, 9)
    const id = withOwn.headers.get('x-generation-id')
    const { body } = await server.call('GET', `/generation?id=${id}`, { key: server.own.inferenceKey })
    expect(body.data.is_byok).toBe(true)
  })

  test('failures with one key do not affect the health with another', async () => {
    await bring('alpha')
    const { upstream, server } = routed()
    upstream.setDefault(({ headers }) =>
      headers.authorization?.includes('own-') ? { status: 401, json: {} } : { json: replyOf() },
    )
    for (let count = 0; count < 6; count++) {
      expect((await sendRouted(routed(), { model: 'test/line-1' })).status).toBe(200)
    }
    const { health } = server.gateway.routing
    expect(health.find('test/line-1 alpha')?.isUnstable(server.clock.now())).toBe(false)
    expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer shared-secret')
    expect(upstream.requests.filter(({ headers }) => headers.authorization?.includes('own-')).length).toBe(5)
  })

  test('regions restrict shared capacity: a BYOK key is used wherever its owner configured it', async () => {
    await bring('alpha')
    const init = { headers: { host: 'eu.example.com' } }
    expect(await tried({ model: 'test/regions' }, init)).toEqual(['alpha own-1', ...shared('brussels')])
  })
})

function replyOf() {
  const message = { role: 'assistant', content: 'Hello' }
  return {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
  }
}
