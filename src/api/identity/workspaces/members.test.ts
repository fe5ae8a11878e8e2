import { beforeAll, describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { newId } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('Workspace members', (server) => {
  const people: string[] = []
  let made = 0

  const person = async (role = 'org:member') => {
    const body = { email: `${newId('p')}@example.com`, role }
    const response = await server().call('POST', '/organization/members', { body })
    return response.body.data.id as string
  }

  const create = async () => {
    const slug = `members-${++made}`
    const { body } = await server().call('POST', '/workspaces', { body: { name: slug, slug } })
    return body.data as { id: string; slug: string }
  }

  const add = (ref: string, user_ids: unknown, key?: string) =>
    server().call('POST', `/workspaces/${ref}/members/add`, {
      body: { user_ids },
      ...(key !== undefined && { key }),
    })
  const remove = (ref: string, user_ids: unknown) =>
    server().call('POST', `/workspaces/${ref}/members/remove`, { body: { user_ids } })
  const list = (ref: string, query = '') => server().call('GET', `/workspaces/${ref}/members${query}`)
  const usersOf = async (ref: string) =>
    (await list(ref, '?limit=100')).body.data.map((member: { user_id: string }) => member.user_id)

  beforeAll(async () => {
    for (let i = 0; i < 5; i++) people.push(await person())
  })

  describe('E6 POST /workspaces/{id}/members/add', () => {
    test.each(['id', 'slug'] as const)('E6 adds by %s with the role held in the organization', async (by) => {
      const workspace = await create()
      const [member] = people as [string]
      const admin = server().own.owner.id
      const { status, body } = await add(workspace[by], [member, admin])
      expect(status).toBe(200)
      expect(body.added_count).toBe(2)
      expect(body.data).toEqual([
        expect.objectContaining({ workspace_id: workspace.id, user_id: member, role: 'member' }),
        expect.objectContaining({ workspace_id: workspace.id, user_id: admin, role: 'admin' }),
      ])
      expect((await list(workspace[by])).body).toEqual({
        data: expect.arrayContaining(body.data),
        total_count: 2,
      })
    })

    test('E6 adding again updates: counted, same membership, no second row', async () => {
      const { id } = await create()
      const first = await add(id, people.slice(0, 2))
      const again = await add(id, people.slice(0, 3))
      expect(again.body.added_count).toBe(3)
      expect(again.body.data.slice(0, 2)).toEqual(first.body.data)
      expect(await usersOf(id)).toHaveLength(3)
    })

    test('E6 an id sent twice counts once', async () => {
      const { id } = await create()
      const { body } = await add(id, [people[0], people[1], people[0]])
      expect(body.added_count).toBe(2)
      expect(body.data.map((member: { user_id: string }) => member.user_id)).toEqual(people.slice(0, 2))
    })

    test('E6 an unknown or foreign id is 404 naming it, and no member is added', async () => {
      const { id } = await create()
      const foreign = server().foreign.owner.id
      const response = await add(id, [people[0], 'user_nobody', foreign])
      expect(response.status).toBe(404)
      expect(response.body.error.message).toContain('user_nobody')
      expect(response.body.error.message).toContain(foreign)
      expect(response.body.error.message).not.toContain(people[0]!)
      expect(await usersOf(id)).toBeEmpty()
    })

    test('E6 100 are accepted; 0 and 101 are 400', async () => {
      const { id } = await create()
      const ids = await Promise.all(Array.from({ length: 100 }, () => person()))
      expect((await add(id, [])).status).toBe(400)
      expect((await add(id, [...ids, people[0]])).status).toBe(400)
      expect((await add(id, ids)).body.added_count).toBe(100)
      const { body } = await list(id, '?limit=100')
      expect(body.total_count).toBe(100)
      expect(new Set(body.data.map((member: { user_id: string }) => member.user_id))).toEqual(new Set(ids))
      expect((await add(id, [people[0]])).body.added_count).toBe(1)
    })

    test.each([
      [{}, 'user_ids'],
      [{ user_ids: 'user_1' }, 'user_ids'],
      [{ user_ids: [1] }, 'user_ids.0'],
      [{ user_ids: [''] }, 'user_ids.0'],
      [{ user_ids: null }, 'user_ids'],
      [{ user_ids: ['user_1'], role: 'admin' }, 'role'],
    ])('E6 R12 400 naming the field: %j', async (body, field) => {
      const { id } = await create()
      for (const verb of ['add', 'remove']) {
        const response = await server().call('POST', `/workspaces/${id}/members/${verb}`, { body })
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(`${field}:`)
      }
    })

    test('E6 404 for an unknown workspace and for one of another organization', async () => {
      const { foreign } = server()
      for (const ref of ['nothing-here', foreign.workspace.id]) {
        expect((await add(ref, [people[0]])).status).toBe(404)
        expect((await remove(ref, [people[0]])).status).toBe(404)
        expect((await list(ref)).status).toBe(404)
      }
      const { id } = await create()
      expect((await add(id, [foreign.owner.id], foreign.managementKey)).status).toBe(404)
    })

    test('E6 403 for an inference key, 401 for none', async () => {
      const { id } = await create()
      expect((await add(id, [people[0]], server().own.inferenceKey)).status).toBe(403)
      const body = { user_ids: people }
      const anonymous = await server().call('POST', `/workspaces/${id}/members/add`, { key: null, body })
      expect(anonymous.status).toBe(401)
    })

    test('E6 R22 overlapping lists in opposite orders: no deadlock, one membership each', async () => {
      const workspaces = [await create(), await create(), await create()]
      const responses = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          add(workspaces[i % 3]!.id, i % 2 ? people : people.toReversed()),
        ),
      )
      for (const response of responses) expect(response.body.added_count).toBe(5)
      for (const workspace of workspaces) {
        expect(((await usersOf(workspace.id)) as string[]).sort()).toEqual(people.toSorted())
      }
    })

    test('E6 R22 adding a member who is being removed from the organization: 200 or 404, never an orphaned row', async () => {
      const { id } = await create()
      const leaving = await Promise.all(Array.from({ length: 10 }, () => person()))
      const responses = await Promise.all(
        leaving.flatMap((user) => [
          add(id, [user]),
          server().call('DELETE', `/organization/members/${user}`),
          add(id, [user]),
        ]),
      )
      for (const response of responses) expect([200, 404]).toContain(response.status)
      expect(await usersOf(id)).toBeEmpty()
    })
  })

  describe('GET /workspaces/{id}/members', () => {
    test('the default workspace has every member of the organization', async () => {
      const { body } = await server().call('GET', '/organization/members')
      const listed = await list('default')
      expect(listed.body.total_count).toBe(body.total_count)
      const newcomer = await person('org:admin')
      const after = await list('default', `?offset=${body.total_count}`)
      expect(after.body.data).toEqual([expect.objectContaining({ user_id: newcomer, role: 'admin' })])
    })

    test('pages in a stable order; the end and beyond', async () => {
      const { slug } = await create()
      await add(slug, people)
      const whole = await usersOf(slug)
      const paged: string[] = []
      for (const offset of [0, 2, 4, 6]) {
        const { body } = await list(slug, `?offset=${offset}&limit=2`)
        expect(body.total_count).toBe(5)
        paged.push(...body.data.map((member: { user_id: string }) => member.user_id))
      }
      expect(paged).toEqual(whole)
    })

    test.each(['limit=0', 'limit=101', 'offset=-1'])('400 for %s', async (query) => {
      expect((await list('default', `?${query}`)).status).toBe(400)
    })
  })

  describe('POST /workspaces/{id}/members/remove', () => {
    test.each(['id', 'slug'] as const)('by %s: counts who was removed, ignores the rest', async (by) => {
      const workspace = await create()
      await add(workspace.id, people.slice(0, 3))
      const response = await remove(workspace[by], [
        people[0],
        people[0],
        people[1],
        people[4],
        'user_nobody',
      ])
      expect(response.body).toEqual({ removed_count: 2 })
      expect(await usersOf(workspace.id)).toEqual([people[2]])
      expect((await remove(workspace[by], [people[0]])).body).toEqual({ removed_count: 0 })
    })

    test('100 ids are accepted; 0 and 101 are 400', async () => {
      const { id } = await create()
      const ids = Array.from({ length: 101 }, (_, i) => `user_${i}`)
      expect((await remove(id, ids.slice(0, 100))).body).toEqual({ removed_count: 0 })
      expect((await remove(id, ids)).status).toBe(400)
      expect((await remove(id, [])).status).toBe(400)
    })

    test('400 for the default workspace, by slug and by UUID', async () => {
      for (const ref of ['default', server().own.workspace.id]) {
        expect((await remove(ref, [people[0]])).status).toBe(400)
      }
      expect(await usersOf('default')).toContain(people[0]!)
    })

    test('400 naming the members with active keys; no member is removed', async () => {
      const { id } = await create()
      await add(id, people)
      const key = { name: 'k', workspace_id: id, creator_user_id: people[1] }
      const { body } = await server().call('POST', '/keys', { body: key })
      const rejected = await remove(id, [people[0], people[1]])
      expect(rejected.status).toBe(400)
      expect(rejected.body.error.message).toContain(people[1]!)
      expect(rejected.body.error.message).not.toContain(people[0]!)
      expect(await usersOf(id)).toHaveLength(5)
      expect((await remove(id, [people[0]])).body.removed_count).toBe(1)
      await server().call('PATCH', `/keys/${body.data.hash}`, { body: { disabled: true } })
      expect((await remove(id, [people[1]])).body.removed_count).toBe(1)
    })

    test('keys in another workspace do not matter', async () => {
      const [here, there] = [await create(), await create()]
      await add(here.id, [people[3]])
      const body = { name: 'k', workspace_id: there.id, creator_user_id: people[3] }
      await server().call('POST', '/keys', { body })
      expect((await remove(here.id, [people[3]])).body.removed_count).toBe(1)
    })

    test('R22 of 20 that remove the same member, one does', async () => {
      const { id } = await create()
      await add(id, [people[0]])
      const responses = await Promise.all(Array.from({ length: 20 }, () => remove(id, [people[0]])))
      const counts = responses.map((response) => response.body.removed_count as number)
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1)
    })
  })

  test('I9 another organization’s members stay unchanged', async () => {
    const other = await createTenant(server().gateway, 'Other')
    const { body } = await server().call('GET', '/workspaces/default/members', { key: other.managementKey })
    expect(body).toMatchObject({ data: [{ user_id: other.owner.id, role: 'admin' }], total_count: 1 })
  })
})
