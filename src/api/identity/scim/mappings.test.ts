import { beforeAll, describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../../test/support/harness.ts'
import {
  buildPatchBody,
  connectIdentityProvider,
  type IdentityProvider,
} from '../../../../test/support/scim.ts'
import { createSessionHeaders } from '../../../../test/support/sessions.ts'
import { newId, newUuid } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('SCIM group mappings', (server) => {
  let tenant: Tenant
  let provider: IdentityProvider
  beforeAll(async () => {
    tenant = await createTenant(server().gateway, 'Mapped')
    provider = await connectIdentityProvider(server(), tenant)
  })

  const call = (method: string, path: string, body?: unknown) =>
    server().call(method, path, { key: tenant.managementKey, ...(body !== undefined && { body }) })
  const workspace = async () => {
    const slug = newId('w').replace('_', '-')
    return (await call('POST', '/workspaces', { name: slug, slug })).body.data.id as string
  }
  const map = (scim_group_id: string, workspace_id: string, role = 'member') =>
    call('POST', '/scim/group-mappings', { scim_group_id, workspace_id, role })
  const mapped = async (group: string, into: string, role = 'member') =>
    (await map(group, into, role)).body.data.id as string
  const unmap = (id: string, keep: unknown) =>
    call('DELETE', `/scim/group-mappings/${id}?keep_members=${keep}`)
  /** The members of a workspace and their roles. */
  const rolesIn = async (id: string): Promise<Record<string, string>> => {
    const { body } = await call('GET', `/workspaces/${id}/members?limit=100`)
    return Object.fromEntries(
      body.data.map((member: { user_id: string; role: string }) => [member.user_id, member.role]),
    )
  }
  const patchGroup = (id: string, op: string, ...users: string[]) =>
    provider.send(
      'PATCH',
      `/Groups/${id}`,
      buildPatchBody({ op, path: 'members', value: users.map((value) => ({ value })) }),
    )
  const setActive = (id: string, active: boolean) =>
    provider.send('PATCH', `/Users/${id}`, buildPatchBody({ op: 'replace', value: { active } }))
  const byHand = (id: string, ...user_ids: string[]) =>
    call('POST', `/workspaces/${id}/members/add`, { user_ids })

  describe('E11 GET /scim/groups', () => {
    test('E11 lists the groups of this organization, oldest first, in pages', async () => {
      const other = await createTenant(server().gateway, 'Listed')
      const idp = await connectIdentityProvider(server(), other)
      const key = other.managementKey
      const list = (query: string) => server().call('GET', `/scim/groups${query}`, { key })
      expect((await list('')).body).toEqual({ data: [], total_count: 0 })
      const made = await idp.send('POST', '/Groups', { displayName: 'One', externalId: 'x-1' })
      for (const name of ['Two', 'Three']) await idp.createGroup(name)
      const { body } = await list('?offset=0&limit=2')
      expect(body).toMatchObject({ total_count: 3, data: [{ display_name: 'One' }, { display_name: 'Two' }] })
      expect(body.data[0]).toEqual({
        id: made.body.id,
        organization_id: other.organization.id,
        external_id: 'x-1',
        display_name: 'One',
        created_at: made.body.meta.created,
        updated_at: made.body.meta.lastModified,
      })
      expect((await list('?offset=2')).body.data).toMatchObject([
        { display_name: 'Three', external_id: null },
      ])
    })

    test.each(['limit=0', 'limit=101', 'offset=-1', 'offset=x'])('E11 400 for %s', async (query) => {
      expect((await call('GET', `/scim/groups?${query}`)).status).toBe(400)
    })
  })

  describe('POST /scim/group-mappings', () => {
    test('grants those in the group, those who join later, and ends when they leave', async () => {
      const [ada, bob] = [await provider.createUser(newId('ada')), await provider.createUser(newId('bob'))]
      const group = await provider.createGroup(newId('g'), [ada.id])
      const w = await workspace()
      const made = await map(group, w, 'admin')
      expect(made.status).toBe(201)
      expect(made.body.data).toMatchObject({ scim_group_id: group, workspace_id: w, role: 'admin' })
      expect(await rolesIn(w)).toEqual({ [ada.member]: 'admin' })
      await patchGroup(group, 'add', bob.id)
      expect(await rolesIn(w)).toEqual({ [ada.member]: 'admin', [bob.member]: 'admin' })
      await patchGroup(group, 'remove', ada.id)
      expect(await rolesIn(w)).toEqual({ [bob.member]: 'admin' })
      await patchGroup(group, 'replace', ada.id)
      expect(await rolesIn(w)).toEqual({ [ada.member]: 'admin' })
    })

    test('the same again is 201 and applied again; another role is 409', async () => {
      const ada = await provider.createUser(newId('ada'))
      const group = await provider.createGroup(newId('g'), [ada.id])
      const w = await workspace()
      const first = await map(group, w)
      const { db } = server().gateway
      await db.deleteFrom('workspace_members').where('workspace_id', '=', w).execute()
      expect(await map(group, w)).toMatchObject({ status: 201, body: first.body })
      expect(await rolesIn(w)).toEqual({ [ada.member]: 'member' })
      expect((await map(group, w, 'admin')).status).toBe(409)
      expect(await rolesIn(w)).toEqual({ [ada.member]: 'member' })
    })

    test('R37 404 for an unknown or foreign group or workspace, naming it', async () => {
      const [group, w] = [await provider.createGroup(newId('g')), await workspace()]
      const foreign = await (await connectIdentityProvider(server(), server().foreign)).createGroup(
        newId('g'),
      )
      for (const id of [newUuid(), foreign]) {
        const response = await map(id, w)
        expect(response.status).toBe(404)
        expect(response.body.error.message).toStartWith('scim_group_id')
      }
      for (const id of [newUuid(), server().foreign.workspace.id]) {
        const response = await map(group, id)
        expect(response.status).toBe(404)
        expect(response.body.error.message).toStartWith('workspace_id')
      }
    })

    test.each([
      [{ scim_group_id: 'x' }, 'scim_group_id'],
      [{ workspace_id: 'default' }, 'workspace_id'],
      [{ role: 'owner' }, 'role'],
      [{ role: undefined }, 'role'],
      [{ organization_id: 'org_x' }, 'organization_id'],
    ])('R12 400 naming the field: %j', async (change, field) => {
      const body = { scim_group_id: newUuid(), workspace_id: newUuid(), role: 'member', ...change }
      const response = await call('POST', '/scim/group-mappings', body)
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(`${field}:`)
    })

    test('R22 of 10 creates with two roles, one role wins and the others are 409', async () => {
      const [group, w] = [await provider.createGroup(newId('g')), await workspace()]
      const responses = await Promise.all(
        Array.from({ length: 10 }, (_, i) => map(group, w, i % 2 ? 'admin' : 'member')),
      )
      expect(responses.map((response) => response.status).sort()).toEqual([
        ...Array(5).fill(201),
        ...Array(5).fill(409),
      ])
      const ids = responses
        .filter((response) => response.status === 201)
        .map((response) => response.body.data.id)
      expect(new Set(ids).size).toBe(1)
    })
  })

  test('S2 R38 what a mapping granted ends at once, also for a session that is open', async () => {
    const ada = await provider.createUser(newId('ada'))
    const [admins, users] = [
      await provider.createGroup(newId('g'), [ada.id]),
      await provider.createGroup(newId('g'), [ada.id]),
    ]
    const w = await workspace()
    await map(admins, w, 'admin')
    const asMember = await mapped(users, w, 'member')
    const headers = await createSessionHeaders(server(), { id: ada.member })
    const send = async (method: string, path: string, body?: unknown, more = {}) => {
      const options = { key: null, headers: { ...headers, ...more }, ...(body !== undefined && { body }) }
      return (await server().call(method, path, options)).status
    }
    const chat = { model: 'sandbox/echo:free', messages: [{ role: 'user', content: 'Hello' }] }
    const attempt = async () => [
      await send('PATCH', `/workspaces/${w}`, { description: 'x' }),
      await send('GET', `/workspaces/${w}/budgets`),
      await send('GET', `/workspaces/${w}`),
      await send('POST', '/chat/completions', chat, { 'x-headgate-workspace': w }),
    ]
    // A role that an admin assigned there ends with the membership.
    const roles = `/organization/members/${ada.member}/roles`
    expect((await call('POST', roles, { role_id: 'viewer', workspace_id: w })).status).toBe(201)
    expect(await attempt()).toEqual([200, 200, 200, 200])
    await patchGroup(admins, 'remove', ada.id)
    expect(await attempt()).toEqual([403, 200, 200, 200])
    expect(await rolesIn(w)).toEqual({ [ada.member]: 'member' })
    await unmap(asMember, false)
    expect(await attempt()).toEqual([403, 403, 403, 403])
    expect((await call('GET', roles)).body.data).toEqual([])
    expect(await send('GET', '/session')).toBe(200)
  })

  test('several mappings give the highest role, and what remains when one goes', async () => {
    const ada = await provider.createUser(newId('ada'))
    const [low, high] = [
      await provider.createGroup(newId('g'), [ada.id]),
      await provider.createGroup(newId('g'), [ada.id]),
    ]
    const w = await workspace()
    await map(low, w, 'member')
    const top = await mapped(high, w, 'admin')
    expect(await rolesIn(w)).toEqual({ [ada.member]: 'admin' })
    await patchGroup(high, 'remove', ada.id)
    expect(await rolesIn(w)).toEqual({ [ada.member]: 'member' })
    await patchGroup(high, 'add', ada.id)
    await unmap(top, false)
    expect(await rolesIn(w)).toEqual({ [ada.member]: 'member' })
  })

  test('PATCH changes the role and applies it', async () => {
    const ada = await provider.createUser(newId('ada'))
    const w = await workspace()
    const id = await mapped(await provider.createGroup(newId('g'), [ada.id]), w)
    const response = await call('PATCH', `/scim/group-mappings/${id}`, { role: 'admin' })
    expect(response.body.data).toMatchObject({ id, role: 'admin' })
    expect(await rolesIn(w)).toEqual({ [ada.member]: 'admin' })
    expect((await call('GET', `/scim/group-mappings/${id}`)).body).toEqual(response.body)
    const listed = await call('GET', '/scim/group-mappings?limit=100')
    expect(listed.body.data).toContainEqual(response.body.data)
    expect((await call('PATCH', `/scim/group-mappings/${id}`, {})).status).toBe(400)
    expect((await call('PATCH', `/scim/group-mappings/${newUuid()}`, { role: 'admin' })).status).toBe(404)
  })

  describe('E12 DELETE /scim/group-mappings/{id}', () => {
    test.each(['', '?keep_members=', '?keep_members=1', '?keep_members=TRUE', '?keep_member=true'])(
      'E12 400 naming keep_members for the query "%s", and the mapping stays',
      async (query) => {
        const id = await mapped(await provider.createGroup(newId('g')), await workspace())
        const response = await call('DELETE', `/scim/group-mappings/${id}${query}`)
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith('keep_members:')
        expect((await call('GET', `/scim/group-mappings/${id}`)).status).toBe(200)
      },
    )

    test('E12 keep_members=false removes exactly what this mapping alone granted', async () => {
      const [only, hand, twice] = await Promise.all([1, 2, 3].map(() => provider.createUser(newId('u'))))
      const group = await provider.createGroup(newId('g'), [only!.id, hand!.id, twice!.id])
      const second = await provider.createGroup(newId('g'), [twice!.id])
      const [w, elsewhere] = [await workspace(), await workspace()]
      await byHand(w, hand!.member)
      const id = await mapped(group, w, 'admin')
      await map(group, elsewhere)
      await map(second, w, 'member')
      expect(await rolesIn(w)).toEqual({
        [only!.member]: 'admin',
        [hand!.member]: 'admin',
        [twice!.member]: 'admin',
      })
      expect((await unmap(id, false)).body).toEqual({ deleted: true })
      expect(await rolesIn(w)).toEqual({ [hand!.member]: 'member', [twice!.member]: 'member' })
      expect(Object.keys(await rolesIn(elsewhere))).toHaveLength(3)
      expect((await unmap(id, false)).status).toBe(404)
    })

    test('E12 keep_members=true makes the memberships manual', async () => {
      const [ada, asleep] = [
        await provider.createUser(newId('ada')),
        await provider.createUser(newId('off'), { active: false }),
      ]
      const group = await provider.createGroup(newId('g'), [ada.id, asleep.id])
      const w = await workspace()
      const id = await mapped(group, w)
      expect((await unmap(id, true)).body).toEqual({ deleted: true })
      expect(await rolesIn(w)).toEqual({ [ada.member]: 'member' })
      await provider.send('DELETE', `/Groups/${group}`)
      expect(await rolesIn(w)).toEqual({ [ada.member]: 'member' })
      const body = { user_ids: [ada.member] }
      expect((await call('POST', `/workspaces/${w}/members/remove`, body)).body).toEqual({ removed_count: 1 })
    })

    test('E12 R37 404 for one of another organization', async () => {
      const id = await mapped(await provider.createGroup(newId('g')), await workspace())
      const response = await server().call('DELETE', `/scim/group-mappings/${id}?keep_members=true`)
      expect(response.status).toBe(404)
    })
  })

  test('E6 manually adding a member granted by a mapping keeps the higher role, and outlives the mapping', async () => {
    const ada = await provider.createUser(newId('ada'))
    const w = await workspace()
    const id = await mapped(await provider.createGroup(newId('g'), [ada.id]), w, 'admin')
    expect((await byHand(w, ada.member)).body.data).toMatchObject([{ user_id: ada.member, role: 'admin' }])
    await unmap(id, false)
    expect(await rolesIn(w)).toEqual({ [ada.member]: 'member' })
  })

  test('E6 400 for manually removing a member granted by a mapping, naming the member', async () => {
    const [ada, bob] = [await provider.createUser(newId('ada')), await provider.createUser(newId('bob'))]
    const w = await workspace()
    await map(await provider.createGroup(newId('g'), [ada.id]), w)
    await byHand(w, bob.member)
    const body = { user_ids: [ada.member, bob.member] }
    const rejected = await call('POST', `/workspaces/${w}/members/remove`, body)
    expect(rejected.status).toBe(400)
    expect(rejected.body.error.message).toContain(ada.member)
    expect(rejected.body.error.message).not.toContain(bob.member)
    expect(Object.keys(await rolesIn(w))).toHaveLength(2)
  })

  test('deleting a group takes its mappings and what they alone granted', async () => {
    const ada = await provider.createUser(newId('ada'))
    const group = await provider.createGroup(newId('g'), [ada.id])
    const w = await workspace()
    const id = await mapped(group, w)
    await provider.send('DELETE', `/Groups/${group}`)
    expect((await call('GET', `/scim/group-mappings/${id}`)).status).toBe(404)
    expect(await rolesIn(w)).toEqual({})
  })

  test('R38 deactivation removes the grants and reactivation restores them; manual memberships stay', async () => {
    const ada = await provider.createUser(newId('ada'))
    const group = await provider.createGroup(newId('g'), [ada.id])
    const [w, manual] = [await workspace(), await workspace()]
    await map(group, w)
    await map(group, manual, 'admin')
    await byHand(manual, ada.member)
    await setActive(ada.id, false)
    expect(await rolesIn(w)).toEqual({})
    expect(await rolesIn(manual)).toEqual({ [ada.member]: 'member' })
    await setActive(ada.id, true)
    expect(await rolesIn(w)).toEqual({ [ada.member]: 'member' })
    expect(await rolesIn(manual)).toEqual({ [ada.member]: 'admin' })
  })

  test('a mapping to the default workspace changes only the role', async () => {
    const ada = await provider.createUser(newId('ada'))
    const home = tenant.workspace.id
    const id = await mapped(await provider.createGroup(newId('g'), [ada.id]), home, 'admin')
    expect(await rolesIn(home)).toMatchObject({ [ada.member]: 'admin', [tenant.owner.id]: 'admin' })
    await setActive(ada.id, false)
    expect(await rolesIn(home)).toMatchObject({ [ada.member]: 'member' })
    await setActive(ada.id, true)
    await unmap(id, false)
    expect(await rolesIn(home)).toMatchObject({ [ada.member]: 'member' })
  })

  test('an organization role counts too: the higher of the two', async () => {
    const ada = await provider.createUser(newId('ada'))
    const [w, v] = [await workspace(), await workspace()]
    const group = await provider.createGroup(newId('g'), [ada.id])
    await map(group, w, 'admin')
    await map(group, v, 'member')
    const member = `/organization/members/${ada.member}`
    await call('PATCH', member, { role: 'org:admin' })
    expect([await rolesIn(w), await rolesIn(v)]).toEqual([
      { [ada.member]: 'admin' },
      { [ada.member]: 'admin' },
    ])
    await call('PATCH', member, { role: 'org:member' })
    expect([await rolesIn(w), await rolesIn(v)]).toEqual([
      { [ada.member]: 'admin' },
      { [ada.member]: 'member' },
    ])
  })

  test('deleting a workspace takes the mappings to it', async () => {
    const w = await workspace()
    const group = await provider.createGroup(newId('g'))
    const id = await mapped(group, w)
    await call('DELETE', `/workspaces/${w}`)
    expect((await call('GET', `/scim/group-mappings/${id}`)).status).toBe(404)
    expect((await map(group, w)).status).toBe(404)
  })

  describe('sync jobs', () => {
    const finished = async (id: string) => {
      for (;;) {
        const { body } = await call('GET', `/scim/sync-jobs/${id}`)
        if (!['queued', 'running'].includes(body.data.status)) return body.data
      }
    }

    test('a job corrects drifted memberships, and reports how many groups it checked', async () => {
      const { db } = server().gateway
      const [ada, eve] = [await provider.createUser(newId('ada')), await provider.createUser(newId('eve'))]
      const w = await workspace()
      await map(await provider.createGroup(newId('g'), [ada.id]), w, 'admin')
      await db.deleteFrom('workspace_members').where('workspace_id', '=', w).execute()
      await byHand(w, eve.member)
      await db.updateTable('workspace_members').set({ is_manual: 0 }).where('workspace_id', '=', w).execute()
      const started = await call('POST', '/scim/sync-jobs')
      expect(started).toMatchObject({ status: 202, body: { data: { status: 'queued', started_at: null } } })
      const { total_count } = (await call('GET', '/scim/groups')).body
      expect(await finished(started.body.data.id)).toMatchObject({
        status: 'succeeded',
        started_at: expect.any(String),
        finished_at: expect.any(String),
        synced_groups: total_count,
        deleted_groups: 0,
        error_message: null,
      })
      expect(await rolesIn(w)).toEqual({ [ada.member]: 'admin' })
    })

    test('a job whose process crashed is failed when it is next read, not before its timeout', async () => {
      const { db } = server().gateway
      const id = newUuid()
      const now = new Date(server().clock.now()).toISOString()
      const job = { id, organization_id: tenant.organization.id, status: 'running' as const, created_at: now }
      const empty = { finished_at: null, synced_groups: null, deleted_groups: null, error_message: null }
      await db
        .insertInto('scim_sync_jobs')
        .values({ ...job, ...empty, started_at: now })
        .execute()
      expect((await call('GET', `/scim/sync-jobs/${id}`)).body.data.status).toBe('running')
      server().clock.advance(11 * 60_000)
      expect((await call('GET', `/scim/sync-jobs/${id}`)).body.data).toMatchObject({
        status: 'failed',
        error_message: expect.stringContaining('stopped'),
      })
      server().clock.release()
    })

    test('R37 404 for a job of another organization', async () => {
      const { id } = (await call('POST', '/scim/sync-jobs')).body.data
      expect((await server().call('GET', `/scim/sync-jobs/${id}`)).status).toBe(404)
      await finished(id)
    })
  })

  test('R22 concurrent pushes, mappings and manual changes end without a deadlock and in a consistent state', async () => {
    const users = await Promise.all(Array.from({ length: 4 }, () => provider.createUser(newId('s'))))
    const groups = await Promise.all([1, 2].map(() => provider.createGroup(newId('s'))))
    const w = await workspace()
    for (const group of groups) await map(group, w)
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const user = users[i % 4]!
        const group = groups[i % 2]!
        if (i % 5 === 0) return byHand(w, user.member)
        if (i % 5 === 1) return setActive(user.id, i % 10 === 1)
        if (i % 5 === 2) return call('POST', '/scim/sync-jobs')
        return patchGroup(group, i % 5 === 3 ? 'add' : 'remove', user.id)
      }),
    )
    for (const response of responses) expect(response.status).toBeLessThan(300)
    const { id } = (await call('POST', '/scim/sync-jobs')).body.data
    const before = await rolesIn(w)
    for (;;) {
      const { status } = (await call('GET', `/scim/sync-jobs/${id}`)).body.data
      if (status === 'succeeded') break
      expect(status).not.toBe('failed')
    }
    expect(await rolesIn(w)).toEqual(before)
  })
})
