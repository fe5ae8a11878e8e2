import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds, startTestServer, type TestServer } from '../../../test/support/harness.ts'
import { findSettingsPath } from '../../config.ts'
import { reloadGateway } from '../../main.ts'

const base = `
tiers:
  - { name: free, description: Trial keys, is_default: true }
  - { name: team }
usage_limits:
  - { name: Requests of free keys, measure: requests, window: minute, amount: 60, match: { tier: free } }
  - { name: Spend of users, measure: usd, window: day, amount: 5, per: [end_user] }
  - { name: Elsewhere, measure: requests, window: day, amount: 1, match: { workspace: not-here } }
`

interface Declared {
  id: string
  name: string
  source: string
  amount: number
  match: { tier: string | null; workspace_id: string | null }
}

describe.each(databaseKinds)('limits of headgate.yaml (%s)', (kind) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(kind, { settings: base })
    server.clock.freeze('2028-03-15T12:00:30.000Z')
    await reloadGateway(server.gateway)
  })
  afterAll(() => server.stop())

  async function reloadWith(text: string): Promise<void> {
    await Bun.write(findSettingsPath(server.gateway.config.environment) ?? '', text)
    await reloadGateway(server.gateway)
  }
  const list = async (): Promise<Declared[]> => {
    const { body } = await server.call('GET', '/limits?source=settings')
    return body.data.toSorted((a: Declared, b: Declared) => a.name.localeCompare(b.name))
  }
  const listTiers = async () => (await server.call('GET', '/tiers')).body.data
  const findOne = async (name: string) => (await list()).find((limit) => limit.name === name)
  const listActions = async (): Promise<string[]> =>
    (await server.call('GET', '/audit?limit=100')).body.data.map(({ action }: { action: string }) => action)

  test('every organization has the limits and tiers; a limit of a workspace it does not have is left out', async () => {
    expect((await list()).map(({ name, source, amount }) => [name, source, amount])).toEqual([
      ['Requests of free keys', 'settings', 60],
      ['Spend of users', 'settings', 5],
    ])
    expect(await listTiers()).toMatchObject([
      { name: 'free', description: 'Trial keys', is_default: true, source: 'settings' },
      { name: 'team', is_default: false, source: 'settings' },
    ])
    expect(await listActions()).toEqual(expect.arrayContaining(['tier.create', 'limit.create']))
  })

  test('a new key has the default tier, and its requests are limited', async () => {
    const { body } = await server.call('POST', '/keys', { body: { name: 'free key' } })
    expect(body.data.tier).toBe('free')
    const request = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
    const reply = await server.call('POST', '/chat/completions', { key: body.key, body: request })
    expect([reply.status, reply.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '59'])
    const usage = await server.call('GET', '/limits/usage')
    expect(usage.body.data).toContainEqual(
      expect.objectContaining({
        ...{ name: 'Requests of free keys', source: 'settings' },
        counts: [expect.objectContaining({ used: 1 })],
      }),
    )
  })

  test('they are changed in headgate.yaml only', async () => {
    const limit = await findOne('Spend of users')
    for (const [method, path, body] of [
      ['PATCH', `/limits/${limit?.id}`, { amount: 6 }],
      ['DELETE', `/limits/${limit?.id}`],
      ['PATCH', '/tiers/team', { description: 'Other' }],
      ['DELETE', '/tiers/team'],
    ] as const) {
      const refused = await server.call(method, path, body && { body })
      expect([method, path, refused.status]).toEqual([method, path, 409])
      expect(refused.body.error.message).toContain('headgate.yaml')
    }
  })

  test('a limit with another amount keeps what it has counted, one that counts something else is replaced', async () => {
    const before = await list()
    await reloadWith(base.replace('amount: 60', 'amount: 90').replace('[end_user]', '[end_user, key]'))
    const after = await list()
    const pick = (limits: Declared[], name: string) => limits.find((limit) => limit.name === name)
    expect(pick(after, 'Requests of free keys')).toMatchObject({
      id: pick(before, 'Requests of free keys')?.id ?? '',
      amount: 90,
    })
    expect(pick(after, 'Spend of users')?.id).not.toBe(pick(before, 'Spend of users')?.id ?? '')
    expect(after).toHaveLength(2)
  })

  test('a reload without a change writes nothing', async () => {
    const actions = (await listActions()).filter((action) => /^(limit|tier)\./.test(action))
    const limits = await list()
    await reloadGateway(server.gateway)
    expect(await list()).toEqual(limits)
    expect((await listActions()).filter((action) => /^(limit|tier)\./.test(action))).toEqual(actions)
  })

  test('a limit applies once the organization has its workspace', async () => {
    const { body } = await server.call('POST', '/workspaces', { body: { name: 'Here', slug: 'not-here' } })
    await reloadGateway(server.gateway)
    expect((await findOne('Elsewhere'))?.match.workspace_id).toBe(body.data.id)
  })

  test('a tier that is removed from the file stays the tier of its keys, and has its limits when it returns', async () => {
    const { body } = await server.call('POST', '/keys', { body: { name: 'of a tier', tier: 'team' } })
    const tierOf = async () => (await server.call('GET', `/keys/${body.data.hash}`)).body.data.tier
    await reloadWith('')
    expect(await listTiers()).toContainEqual(expect.objectContaining({ name: 'team', source: 'tier' }))
    expect([await tierOf(), await list()]).toEqual(['team', []])
    const limit = '{ name: Team, measure: requests, window: day, amount: 0, match: { tier: team } }'
    await reloadWith(`tiers: [{ name: team }]\nusage_limits: [${limit}]`)
    const request = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
    const rejected = await server.call('POST', '/chat/completions', { key: body.key, body: request })
    expect([await tierOf(), rejected.status]).toEqual(['team', 429])
    for (const { hash } of (await server.call('GET', '/keys')).body.data)
      await server.call('PATCH', `/keys/${hash}`, { body: { tier: null } })
    await reloadWith(base)
  })

  test('what is removed from the file is deleted; a tier and a limit created by hand stay', async () => {
    await server.call('POST', '/tiers', { body: { name: 'mine' } })
    const own = { name: 'Own', measure: 'requests', window: 'minute', amount: 9, match: { tier: 'mine' } }
    await server.call('POST', '/limits', { body: own })
    await reloadWith('tiers: [{ name: team }]')
    expect(await list()).toEqual([])
    expect((await listTiers()).map(({ name }: { name: string }) => name).toSorted()).toEqual(['mine', 'team'])
    await reloadWith('')
    expect((await listTiers()).map(({ name }: { name: string }) => name)).toEqual(['mine'])
    expect((await server.call('GET', '/limits')).body.data.map(({ name }: Declared) => name)).toEqual(['Own'])
  })

  test('a tier of the file takes over one of the same name', async () => {
    await reloadWith('tiers: [{ name: mine, description: Declared }]')
    expect(await listTiers()).toMatchObject([{ name: 'mine', description: 'Declared', source: 'settings' }])
    expect((await server.call('GET', '/limits')).body.data).toHaveLength(1)
  })
})

describe('limits of headgate.yaml', () => {
  const mistakes: [string, string][] = [
    [
      'usage_limits: [{ name: A, measure: requests, window: minute, amount: 1, match: { tier: nope } }]',
      'usage_limits.0.match.tier: "nope" is not one of the tiers',
    ],
    ['tiers: [{ name: a }, { name: a }]', 'tiers.1.name: is used twice'],
    [
      'tiers: [{ name: a, is_default: true }, { name: b, is_default: true }]',
      'tiers.1.is_default: is set for two tiers',
    ],
    ['usage_limits: [{ name: A, measure: requests, amount: 1 }]', 'usage_limits.0.window: is required'],
    [
      'usage_limits: [{ name: A, measure: requests, window: day, amount: 1.5 }]',
      'usage_limits.0.amount: must be a whole number',
    ],
    [
      'usage_limits: [{ name: A, measure: requests, window: day, amount: 1, match: { workspace: A B } }]',
      'usage_limits.0.match.workspace: must be the slug of a workspace',
    ],
  ]
  test.each(mistakes)('%s', async (settings, problem) => {
    await expect(startTestServer('sqlite', { settings })).rejects.toThrow(problem)
  })
})
