import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { healthIdOf } from '../../../catalog/health/health-id.ts'
import { byokKeys } from './store.ts'

describeOnEachDatabase('the order and health of BYOK keys', (server) => {
  const create = async (provider: string) =>
    (await server().call('POST', '/byok', { body: { provider, key: 'a-credential-0123456789' } })).body.data
      .id as string
  const order = (provider: string, ids: string[], key?: string) =>
    server().call('PUT', '/byok/order', { body: { provider, ids }, ...(key && { key }) })
  const list = async (provider: string) =>
    (await server().call('GET', `/byok?provider=${provider}`)).body.data.map(({ id }: { id: string }) => id)

  test('PUT /byok/order sets the order in which keys are tried', async () => {
    const [first = '', second = '', third = ''] = [
      await create('groq'),
      await create('groq'),
      await create('groq'),
    ]
    const response = await order('groq', [third, first, second])
    expect(response.status).toBe(200)
    expect(response.body.data.map(({ sort_order }: { sort_order: number }) => sort_order)).toEqual([0, 1, 2])
    expect(await list('groq')).toEqual([third, first, second])
    const { data } = (await server().call('GET', `/audit?target_id=${third}&action=byok_key.update`)).body
    expect(data).toHaveLength(1)
  })

  test('every key must be named once, so that a key added meanwhile is not forgotten', async () => {
    const [first = '', second = ''] = [await create('cerebras'), await create('cerebras')]
    for (const ids of [[first], [first, first], [first, second, first], [first, crypto.randomUUID()]])
      expect((await order('cerebras', ids)).status).toBe(409)
    expect(await list('cerebras')).toEqual([first, second])
  })

  test('a key that is deleted meanwhile: 409, and it stays as it was deleted', async () => {
    const [first = '', second = ''] = [await create('deepseek'), await create('deepseek')]
    const { db, clock } = server().gateway
    const deletion = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const deleted = db.transaction().execute(async (tx) => {
      await byokKeys.remove(tx, clock, second)
      locked.resolve()
      await deletion.promise
    })
    await locked.promise
    const ordered = order('deepseek', [second, first])
    await Bun.sleep(50)
    deletion.resolve()
    await deleted
    expect((await ordered).status).toBe(409)
    expect(await list('deepseek')).toEqual([first])
    const { data } = (await server().call('GET', `/audit?target_id=${second}&action=byok_key.update`)).body
    expect(data).toEqual([])
  })

  test('R37: the keys of another organization are not found', async () => {
    const id = await create('mistral')
    expect((await order('mistral', [id], server().foreign.managementKey)).status).toBe(409)
    expect(await list('mistral')).toEqual([id])
    const { body } = await server().call('GET', '/byok/health', { key: server().foreign.managementKey })
    expect(body.data).toEqual([])
  })

  test('GET /byok/health says with which endpoint and why a key is left out', async () => {
    const id = await create('nebius')
    const { gateway, clock } = server()
    clock.freeze('2027-07-01T10:02:00.000Z')
    const read = async () => (await server().call('GET', '/byok/health?provider=nebius')).body.data
    expect(await read()).toEqual([expect.objectContaining({ id, state: 'unused', hours: [] })])
    const health = (endpoint: string) => gateway.routing.health.getOrCreate(healthIdOf(endpoint, id))
    health('acme/one nebius').recordSuccess(clock.now(), { firstTokenMs: 100, tokensPerSecond: 10 })
    health('acme/two nebius').recordFailure(clock.now(), {
      kind: 'rate_limit_exceeded',
      status: 429,
      retryAfterMs: 60_000,
    })
    const [degraded] = await read()
    expect(degraded).toMatchObject({
      state: 'degraded',
      used_endpoints: 2,
      problem_count: 1,
      problems: [
        {
          model_id: 'acme/two',
          tag: 'nebius',
          state: 'cooling_down',
          unavailable_until: '2027-07-01T10:03:00.000Z',
          last_error: { error_type: 'rate_limit_exceeded', status: 429 },
        },
      ],
      last_error: { error_type: 'rate_limit_exceeded' },
      requests_last_30m: 1,
      uptime_last_1d: 100,
    })
    for (let count = 0; count < 5; count += 1)
      health('acme/one nebius').recordFailure(clock.now(), { kind: 'server', status: 500 })
    expect(await read()).toEqual([
      expect.objectContaining({ state: 'unavailable', problem_count: 2, uptime_last_1d: 16.67 }),
    ])
    clock.release()
  })
})
