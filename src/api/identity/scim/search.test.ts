import { beforeAll, describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { connectIdentityProvider, type IdentityProvider } from '../../../../test/support/scim.ts'
import { newId } from '../../../platform/crypto/ids.ts'

const searchUrn = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'

describeOnEachDatabase('SCIM search with POST', (server) => {
  let provider: IdentityProvider
  const users: string[] = []
  const groups: string[] = []

  beforeAll(async () => {
    provider = await connectIdentityProvider(server(), await createTenant(server().gateway, newId('search')))
    for (const name of ['ann', 'bob', 'cid']) {
      users.push((await provider.createUser(name, { displayName: `Team ${name}` })).id)
    }
    for (const name of ['Team red', 'Team blue'])
      groups.push(await provider.createGroup(name, users.slice(0, 1)))
  })

  const search = (path: string, body: Record<string, unknown>) =>
    provider.send('POST', path, { schemas: [searchUrn], ...body })
  const idsOf = ({ body }: { body: { Resources: { id: string }[] } }) => body.Resources.map(({ id }) => id)

  test('users and groups are found as with GET', async () => {
    const filter = 'userName eq "BOB@example.com"'
    const found = await search('/Users/.search', { filter, attributes: ['userName'] })
    const query = `filter=${encodeURIComponent(filter)}&attributes=userName`
    expect(found.status).toBe(200)
    expect(found.body).toEqual((await provider.send('GET', `/Users?${query}`)).body)
    expect(idsOf(found)).toEqual([users[1]!])
    const group = await search('/Groups/.search/', {
      FILTER: `members.value eq "${users[0]}"`,
      excludedAttributes: ['members', 'meta'],
      startIndex: 2,
      count: 1,
    })
    expect(group.body).toMatchObject({ totalResults: 2, startIndex: 2, itemsPerPage: 1 })
    expect(group.body.Resources).toEqual([
      { schemas: expect.anything(), id: groups[1], displayName: 'Team blue' },
    ])
  })

  describe('of all resources', () => {
    test('users come before groups, in pages over both', async () => {
      expect(idsOf(await search('/.search', {}))).toEqual([...users, ...groups])
      const pages = []
      for (const startIndex of [1, 3, 5, 7]) {
        const { body } = await search('/.search', { startIndex, count: 2, filter: 'displayName sw "team"' })
        expect(body).toMatchObject({ totalResults: 5, startIndex })
        pages.push(body.Resources.map((found: { id: string }) => found.id))
      }
      expect(pages).toEqual([users.slice(0, 2), [users[2], groups[0]], [groups[1]], []])
      expect((await search('/.search', { count: 0 })).body).toMatchObject({
        totalResults: 5,
        itemsPerPage: 0,
      })
    })

    test('an attribute that only some have matches only those', async () => {
      expect(idsOf(await search('/.search', { filter: 'userName eq "cid@example.com"' }))).toEqual([
        users[2]!,
      ])
      expect(idsOf(await search('/.search', { filter: 'meta.resourceType eq "Group"' }))).toEqual(groups)
    })
  })

  test.each<[string, Record<string, unknown>]>([
    ['a filter that is no text', { filter: 7 }],
    ['a filter that cannot be read', { filter: 'userName eq' }],
    ['a count that is no number', { count: '2' }],
    ['a startIndex that is not whole', { startIndex: 1.5 }],
    ['attributes that are no list', { attributes: 'userName' }],
    ['attributes that are no texts', { attributes: [7] }],
    ['several names in one', { attributes: ['a,b'] }],
    ['a name that is too long', { attributes: ['x'.repeat(1000)] }],
    ['too many names', { excludedAttributes: Array(1000).fill('userName') }],
  ])('400 for %s', async (_, body) => {
    for (const path of ['/.search', '/Users/.search', '/Groups/.search']) {
      expect((await search(path, body)).status).toBe(400)
    }
  })

  test('I9 R37 another organization finds nothing of this one, and a request without a token finds nothing', async () => {
    const theirs = await connectIdentityProvider(server(), server().foreign)
    const found = await theirs.send('POST', '/.search', { filter: `id eq "${users[0]}"` })
    expect(found.body).toMatchObject({ totalResults: 0, Resources: [] })
    expect((await theirs.send('POST', '/.search', {}, { token: null })).status).toBe(401)
  })

  test('other methods are 405', async () => {
    for (const path of ['/.search', '/Users/.search', '/Groups/.search']) {
      const rejected = await provider.send('GET', path)
      expect(rejected.status).toBe(405)
      expect(rejected.headers.get('allow')).toBe('POST')
    }
  })
})
