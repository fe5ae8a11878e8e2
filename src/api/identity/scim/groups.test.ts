import { beforeAll, describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import {
  buildPatchBody,
  connectIdentityProvider,
  type IdentityProvider,
} from '../../../../test/support/scim.ts'
import { newId, newUuid } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('SCIM groups', (server) => {
  let provider: IdentityProvider
  const people: string[] = []
  beforeAll(async () => {
    provider = await connectIdentityProvider(server())
    for (let i = 0; i < 4; i++) people.push((await provider.createUser(newId('p'))).id)
  })

  const membersOf = async (id: string) => {
    const { body } = await provider.send('GET', `/Groups/${id}`)
    return body.members.map((member: { value: string }) => member.value).sort() as string[]
  }
  const patch = (id: string, ...operations: unknown[]) =>
    provider.send('PATCH', `/Groups/${id}`, buildPatchBody(...operations))
  const values = (...ids: (string | undefined)[]) => ids.map((value) => ({ value }))

  test('is created with or without members, read, replaced and deleted', async () => {
    const name = newId('group')
    const body = { displayName: name, externalId: 'ext-1', members: values(people[0], people[1], people[0]) }
    const made = await provider.send('POST', '/Groups/', body)
    expect(made).toMatchObject({ status: 201, body: { displayName: name, externalId: 'ext-1' } })
    expect(made.headers.get('location')).toBe(made.body.meta.location)
    const { id } = made.body
    expect(await membersOf(id)).toEqual(people.slice(0, 2).sort())
    const put = await provider.send('PUT', `/Groups/${id}/`, {
      displayName: name,
      members: values(people[2]),
    })
    expect(put.body).toMatchObject({ displayName: name, members: [{ value: people[2], type: 'User' }] })
    expect(put.body).not.toHaveProperty('externalId')
    await provider.send('PUT', `/Groups/${id}`, { displayName: name })
    expect(await membersOf(id)).toEqual([])
    expect((await provider.send('DELETE', `/Groups/${id}`)).status).toBe(204)
    expect((await provider.send('DELETE', `/Groups/${id}`)).status).toBe(404)
  })

  test('display of a member is its userName, shown on request, whatever was sent', async () => {
    const user = await provider.createUser(newId('shown'))
    const id = await provider.createGroup(newId('group'))
    const value = [{ value: user.id, display: 'Somebody', type: 'User' }]
    expect((await patch(id, { op: 'add', path: 'members', value })).status).toBe(204)
    const { body } = await provider.send('GET', `/Groups/${id}`)
    const $ref = `${server().url}/scim/v2/Users/${user.id}`
    expect(body.members).toEqual([{ value: user.id, type: 'User', $ref }])
    const request = await provider.send('GET', `/Groups/${id}?attributes=members.value,members.Display`)
    expect(request.body.members).toEqual([{ value: user.id, display: user.email }])
  })

  test('409 uniqueness for a name in use, in any case, also by renaming', async () => {
    const [one, two] = [newId('Name'), newId('Name')]
    const id = await provider.createGroup(one)
    await provider.createGroup(two)
    const again = await provider.send('POST', '/Groups', { displayName: one.toUpperCase() })
    expect(again).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
    const rename = { op: 'replace', path: 'displayName', value: two }
    expect((await patch(id, rename, { op: 'add', path: 'members', value: values(people[0]) })).status).toBe(
      409,
    )
    expect(await membersOf(id)).toEqual([])
    expect((await patch(id, { ...rename, value: one.toUpperCase() })).status).toBe(204)
  })

  test('names beyond ASCII have no case either, on any database', async () => {
    const name = newId('Ärzte')
    const id = await provider.createGroup(name)
    const lower = name.toLowerCase()
    const again = await provider.send('POST', '/Groups', { displayName: lower })
    expect(again).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
    const find = (filter: string) => provider.send('GET', `/Groups?filter=${encodeURIComponent(filter)}`)
    expect((await find(`displayName eq "${lower}"`)).body.Resources).toMatchObject([{ id }])
    expect((await find(`displayName eq "${lower}" and id sw "${id}"`)).body.Resources).toMatchObject([{ id }])
    expect((await find(`displayName eq "${newId('Ö')}"`)).body.totalResults).toBe(0)
    expect((await patch(id, { op: 'replace', path: 'displayName', value: lower })).status).toBe(204)
  })

  test('400 invalidValue for an unknown member, and nothing changes; removing an unknown member succeeds', async () => {
    const id = await provider.createGroup(newId('g'), [people[0]!])
    const unknown = newUuid()
    for (const value of [values(people[1], unknown), values('x'), [{ display: 'no value' }], [7], [null]]) {
      const response = await patch(id, { op: 'add', path: 'members', value })
      expect(response).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } })
    }
    const named = await patch(id, { op: 'add', path: 'members', value: values(unknown) })
    expect(named.body.detail).toContain(unknown)
    expect(await membersOf(id)).toEqual([people[0]!])
    expect((await patch(id, { op: 'remove', path: `members[value eq "${unknown}"]` })).status).toBe(204)
    expect((await patch(id, { op: 'remove', path: 'members', value: values(unknown) })).status).toBe(204)
    const made = await provider.send('POST', '/Groups', { displayName: newId('g'), members: values(unknown) })
    expect(made.status).toBe(400)
  })

  test.each([
    ['add one', [{ op: 'add', path: 'members', value: [0] }], [0, 1]],
    ['add one that is not in a list', [{ op: 'Add', path: 'members', value: 0 }], [0, 1]],
    ['add without a path', [{ op: 'add', value: { members: [2] } }], [1, 2]],
    ['replace', [{ op: 'REPLACE', path: 'members', value: [2, 3] }], [2, 3]],
    ['replace without a path', [{ op: 'replace', value: { members: [] } }], []],
    ['remove everyone', [{ op: 'remove', path: 'members' }], []],
    ['remove by value', [{ op: 'Remove', path: 'Members', value: [1] }], []],
    ['remove no member', [{ op: 'remove', path: 'members', value: [] }], [1]],
    [
      'in order',
      [
        { op: 'add', path: 'members', value: [0] },
        { op: 'remove', path: 'members', value: [0, 1] },
        { op: 'add', path: 'members', value: [1, 2] },
        { op: 'remove', path: 'members', value: [2] },
      ],
      [1],
    ],
    [
      'after everyone left',
      [
        { op: 'remove', path: 'members' },
        { op: 'add', path: 'members', value: [3] },
      ],
      [3],
    ],
  ] as const)('PATCH of members: %s', async (_, operations, expected) => {
    const id = await provider.createGroup(newId('g'), [people[1]!])
    const real = JSON.parse(JSON.stringify(operations), (key, value) =>
      typeof value === 'number' && key !== 'op' ? { value: people[value] } : value,
    )
    expect((await patch(id, ...real)).status).toBe(204)
    expect(await membersOf(id)).toEqual(expected.map((i) => people[i]!).sort())
  })

  test('removes several by one filter, and returns a body when attributes are requested', async () => {
    const id = await provider.createGroup(newId('g'), people)
    const path = `members[value eq "${people[0]}" or value eq "${people[1]}"]`
    const body = buildPatchBody({ op: 'remove', path })
    const response = await provider.send('PATCH', `/Groups/${id}?attributes=displayName`, body)
    expect(response.status).toBe(200)
    expect(Object.keys(response.body).sort()).toEqual(['displayName', 'id', 'schemas'])
    expect(await membersOf(id)).toEqual(people.slice(2).sort())
  })

  test.each([
    [{ op: 'remove', path: 'members[display eq "x"]' }, 'invalidPath'],
    [{ op: 'replace', path: 'members[value eq "x"]', value: [] }, 'invalidPath'],
    [{ op: 'replace', path: 'members[value eq]', value: [] }, 'invalidPath'],
    [{ op: 'remove', path: 'members[((]' }, 'invalidFilter'],
    [{ op: 'replace', path: 'title', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', value: { color: 'x' } }, 'invalidPath'],
    [{ op: 'replace', path: 'displayName', value: '' }, 'invalidValue'],
    [{ op: 'remove', path: 'displayName' }, 'invalidValue'],
    [{ op: 'replace', path: 'externalId', value: 7 }, 'invalidValue'],
  ])('400 for PATCH %j', async (operation, scimType) => {
    const id = await provider.createGroup(newId('g'))
    expect(await patch(id, operation)).toMatchObject({ status: 400, body: { scimType } })
  })

  test('413 for too many members in one request', async () => {
    const members = Array.from({ length: 10_001 }, (_, i) => ({ value: `u${i}` }))
    expect((await provider.send('POST', '/Groups', { displayName: newId('g'), members })).status).toBe(413)
  })

  test('R22 parallel PATCHes that add different members all land', async () => {
    const id = await provider.createGroup(newId('g'))
    const responses = await Promise.all(
      people.map((person) => patch(id, { op: 'add', path: 'members', value: values(person) })),
    )
    expect(responses.map((response) => response.status)).toEqual([204, 204, 204, 204])
    expect(await membersOf(id)).toEqual(people.toSorted())
  })

  test('R22 of 10 creates of one name, one is 201 and the rest 409', async () => {
    const displayName = newId('race')
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => provider.send('POST', '/Groups', { displayName })),
    )
    expect(responses.map((response) => response.status).sort()).toEqual([201, ...Array(9).fill(409)])
  })

  describe('finding', () => {
    test('by name, externalId, member, and filters that SQL cannot express', async () => {
      const other = await createTenant(server().gateway, 'Groups')
      const idp = await connectIdentityProvider(server(), other)
      const user = await idp.createUser(newId('u'))
      const names = ['Alpha "quoted"', 'Beta', 'Gamma']
      const ids: string[] = []
      for (const name of names) ids.push(await idp.createGroup(name, name === 'Beta' ? [user.id] : []))
      const find = async (filter: string, rest = '') => {
        const { body } = await idp.send('GET', `/Groups?filter=${encodeURIComponent(filter)}${rest}`)
        return {
          total: body.totalResults,
          names: body.Resources.map((g: { displayName: string }) => g.displayName),
        }
      }
      expect(await find('displayName eq "alpha \\"quoted\\""')).toEqual({ total: 1, names: [names[0]] })
      expect(await find(`members.value eq "${user.id}"`)).toEqual({ total: 1, names: ['Beta'] })
      expect(await find(`id eq "${ids[2]}" and members eq "${user.id}"`)).toEqual({ total: 0, names: [] })
      expect(await find('displayName co "A"', '&count=2&startIndex=2')).toEqual({
        total: 3,
        names: ['Beta', 'Gamma'],
      })
      const rejected = await idp.send('GET', '/Groups?filter=members.display%20co%20%22x%22')
      expect(rejected).toMatchObject({ status: 400, body: { scimType: 'invalidFilter' } })
      const listed = await idp.send('GET', '/Groups?excludedAttributes=members&count=1&startIndex=2')
      expect(listed.body).toMatchObject({ totalResults: 3, Resources: [{ displayName: 'Beta' }] })
      expect(listed.body.Resources[0]).not.toHaveProperty('members')
    })
  })

  test('a group of 10,000 is filled, mapped, read and emptied in bounded time', async () => {
    const { gateway } = server()
    const other = await createTenant(gateway, 'Large')
    const idp = await connectIdentityProvider(server(), other)
    const key = other.managementKey
    const slug = newId('large').replace('_', '-')
    const workspace = (await server().call('POST', '/workspaces', { key, body: { name: slug, slug } })).body
      .data
    const ids = await manyUsers(other.organization.id, 10_000)
    const group = await idp.createGroup('Everyone')
    const mapping = { scim_group_id: group, workspace_id: workspace.id, role: 'member' }
    await server().call('POST', '/scim/group-mappings', { key, body: mapping })
    const started = process.cpuUsage().user
    const fill = buildPatchBody({ op: 'add', path: 'members', value: values(...ids) })
    expect((await idp.send('PATCH', `/Groups/${group}`, fill)).status).toBe(204)
    const count = async () =>
      (await server().call('GET', `/workspaces/${workspace.id}/members`, { key })).body.total_count
    expect(await count()).toBe(10_000)
    expect((await idp.send('GET', `/Groups/${group}`)).body.members).toHaveLength(10_000)
    const removals = ids.slice(0, 5000).map((id) => ({ op: 'remove', path: `members[value eq "${id}"]` }))
    expect((await idp.send('PATCH', `/Groups/${group}`, buildPatchBody(...removals))).status).toBe(204)
    expect(await count()).toBe(5000)
    expect((await idp.send('DELETE', `/Groups/${group}`)).status).toBe(204)
    expect(await count()).toBe(0)
    expect(process.cpuUsage().user - started).toBeLessThan(20_000_000)
  }, 60_000)

  async function manyUsers(organization_id: string, count: number): Promise<string[]> {
    const { db } = server().gateway
    const now = new Date().toISOString()
    const ids = Array.from({ length: count }, () => newUuid())
    for (let start = 0; start < count; start += 1000) {
      const some = ids.slice(start, start + 1000)
      const members = some.map((id) => ({
        id: `user_${id}`,
        organization_id,
        email: `${id}@example.com`,
        first_name: null,
        last_name: null,
        role: 'org:member' as const,
        created_at: now,
      }))
      await db.insertInto('members').values(members).execute()
      const users = some.map((id) => ({
        id,
        organization_id,
        user_id: `user_${id}`,
        user_name: id,
        external_id: null,
        resource: JSON.stringify({ userName: id }),
        created_at: now,
        updated_at: now,
      }))
      await db.insertInto('scim_users').values(users).execute()
    }
    return ids
  }
})
