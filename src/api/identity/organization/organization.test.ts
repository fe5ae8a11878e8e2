import { describe, expect, test } from 'bun:test'
import {
  createSessionCaller,
  createTenant,
  describeOnEachDatabase,
  type Tenant,
} from '../../../../test/support/harness.ts'
import { useSignInLink } from '../../../../test/support/sessions.ts'
import { createSignInToken, findSession } from '../../../identity/sessions.ts'
import { newId } from '../../../platform/crypto/ids.ts'

const path = '/organization/members'

describeOnEachDatabase('Organization members', (server) => {
  const tenant = () => createTenant(server().gateway, 'Tenant')
  const email = () => `${newId('p')}@example.com`

  const add = async (key: string, body: Record<string, unknown> = {}) => {
    const response = await server().call('POST', path, { key, body: { email: email(), ...body } })
    expect(response.status).toBe(201)
    return response.body.data as { id: string; email: string; role: string }
  }
  const patch = (key: string, id: string, body: unknown) =>
    server().call('PATCH', `${path}/${id}`, { key, body })
  const remove = (key: string, id: string) => server().call('DELETE', `${path}/${id}`, { key })
  const adminsOf = async (own: Tenant): Promise<string[]> => {
    const { body } = await server().call('GET', `${path}?limit=100`, { key: own.managementKey })
    const admins = body.data.filter((member: { role: string }) => member.role === 'org:admin')
    return admins.map((member: { id: string }) => member.id)
  }

  describe('GET /organization/members', () => {
    test('the fields of a member, and no others', async () => {
      const own = await tenant()
      const { body } = await server().call('GET', path, { key: own.managementKey })
      const { id, email } = own.owner
      const owner = { id, email, first_name: null, last_name: null, role: 'org:admin' }
      expect(body).toEqual({ data: [owner], total_count: 1 })
    })

    test('include_activity: the workspaces of each member, and when they were last seen', async () => {
      const own = await tenant()
      const { id } = own.owner
      const read = async () => {
        const query = `?ids=${id}&include_activity=true`
        return (await server().call('GET', `${path}${query}`, { key: own.managementKey })).body.data[0]
      }
      const workspaces = [{ id: own.workspace.id, name: own.workspace.name }]
      expect(await read()).toMatchObject({ workspaces, last_seen_at: null })
      const { gateway, clock } = server()
      await useSignInLink(server(), await createSignInToken(gateway.db, clock, id))
      expect(await read()).toMatchObject({ workspaces, last_seen_at: expect.any(String) })
      const body = { name: 'Reads members', permissions: ['members:read'] }
      const created = await server().call('POST', '/management-keys', { key: own.managementKey, body })
      const limited = await server().call('GET', `${path}?include_activity=true`, { key: created.body.key })
      expect(limited.body.data).toMatchObject([{ workspaces, last_seen_at: null }])
    })

    test('R37 one member by id; that of another organization does not exist', async () => {
      const [own, other] = [await tenant(), await tenant()]
      const { id } = await add(own.managementKey, { first_name: 'Ada' })
      const read = (key: string) => server().call('GET', `${path}/${id}`, { key })
      const { status, body } = await read(own.managementKey)
      expect([status, body.data]).toEqual([200, expect.objectContaining({ id, first_name: 'Ada' })])
      expect((await read(other.managementKey)).status).toBe(404)
    })

    test('pages do not overlap, cover everything and count it', async () => {
      const { managementKey: key } = await tenant()
      server().clock.freeze('2030-01-01T00:00:00.000Z')
      await Promise.all(Array.from({ length: 24 }, () => add(key)))
      server().clock.release()
      const ids: string[] = []
      for (const offset of [0, 10, 20, 30]) {
        const { body } = await server().call('GET', `${path}?offset=${offset}&limit=10`, { key })
        expect(body.total_count).toBe(25)
        ids.push(...body.data.map((member: { id: string }) => member.id))
      }
      expect(new Set(ids).size).toBe(25)
      expect((await server().call('GET', `${path}?limit=1`, { key })).body.data).toHaveLength(1)
    })

    test('by role, and of one workspace', async () => {
      const slug = `w-${crypto.randomUUID().slice(0, 8)}`
      const workspace = (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
      const member = await createSessionCaller(server(), { workspaces: { [workspace.id]: 'member' } })
      const emails = async (query: string) =>
        (await server().call('GET', `/organization/members?${query}`)).body.data.map(
          ({ email }: { email: string }) => email,
        )
      expect(await emails(`workspace_id=${workspace.id}&role=org:member`)).toEqual([member.member.email])
      expect(await emails('role=org:admin')).not.toContain(member.member.email)
      expect(await emails('role=org:member&limit=100')).toContain(member.member.email)
      expect((await server().call('GET', '/organization/members?role=king')).status).toBe(400)
      const admin = await createSessionCaller(server(), { workspaces: { [workspace.id]: 'admin' } })
      const own = server().own.workspace.id
      expect((await admin.call('GET', `/organization/members?workspace_id=${own}`)).status).toBe(403)
      const foreign = { key: server().foreign.managementKey }
      const path = `/organization/members?workspace_id=${workspace.id}`
      expect((await server().call('GET', path, foreign)).body.data).toEqual([])
    })

    test('I9 by ids: those that exist in the own organization', async () => {
      const { managementKey: key } = await tenant()
      const [first, , third] = [await add(key), await add(key), await add(key)]
      const ids = [third?.id, first?.id, server().own.owner.id, 'unknown', ''].join()
      const { body } = await server().call('GET', `${path}?ids=${ids}`, { key })
      expect(body.data.map(({ id }: { id: string }) => id)).toEqual([first?.id, third?.id])
      expect(body.total_count).toBe(2)
    })

    const tooManyIds = `ids=${Array(101).fill('x')}`
    test.each(['limit=0', 'limit=101', 'offset=-1', 'limit=ten', tooManyIds])('400 for %s', async (query) => {
      expect((await server().call('GET', `${path}?${query}`)).status).toBe(400)
    })

    test('403 for an inference key, 401 for none', async () => {
      expect((await server().call('GET', path, { key: server().own.inferenceKey })).status).toBe(403)
      expect((await server().call('GET', path, { key: null })).status).toBe(401)
    })
  })

  describe('POST /organization/members', () => {
    test('an ordinary member by default, in lower case, and in the default workspace', async () => {
      const { managementKey: key } = await tenant()
      const name = email()
      const member = await add(key, { email: `  ${name.toUpperCase()} `, first_name: 'Ada', last_name: null })
      expect(member).toEqual({
        id: expect.stringMatching(/^user_/),
        email: name,
        first_name: 'Ada',
        last_name: null,
        role: 'org:member',
        limit: null,
        limit_remaining: null,
        limit_reset: null,
      } as never)
      const { body } = await server().call('GET', '/workspaces/default/members', { key })
      expect(body.data).toContainEqual(expect.objectContaining({ user_id: member.id, role: 'member' }))
    })

    test.each([
      [{}, 'email'],
      [{ email: 'nobody' }, 'email'],
      [{ email: 'a b@example.com' }, 'email'],
      [{ email: 'a@example.com\nbcc: b@example.com' }, 'email'],
      [{ email: `${'a'.repeat(243)}@example.com` }, 'email'],
      [{ email: 7 }, 'email'],
      [{ email: 'a@example.com', role: 'admin' }, 'role'],
      [{ email: 'a@example.com', first_name: ' ' }, 'first_name'],
      [{ email: 'a@example.com', last_name: 'n'.repeat(101) }, 'last_name'],
      [{ email: 'a@example.com', id: 'user_mine' }, 'id'],
      [{ email: 'a@example.com', organization_id: 'org_theirs' }, 'organization_id'],
    ])('R12 400 naming the field: %j', async (body, field) => {
      const response = await server().call('POST', path, { body })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(`${field}:`)
    })

    test('409 for an address in use, in any case; another organization may have it', async () => {
      const { managementKey: key } = await tenant()
      const first = await add(key)
      const again = await server().call('POST', path, { key, body: { email: first.email.toUpperCase() } })
      expect(again.status).toBe(409)
      await add((await tenant()).managementKey, { email: first.email })
    })

    test('R22 of 30 with one address at the same moment, one is added', async () => {
      const { managementKey: key } = await tenant()
      const body = { email: email() }
      const responses = await Promise.all(
        Array.from({ length: 30 }, () => server().call('POST', path, { key, body })),
      )
      expect(responses.map((response) => response.status).sort()).toEqual([201, ...Array(29).fill(409)])
      const { body: members } = await server().call('GET', '/workspaces/default/members', { key })
      expect(members.total_count).toBe(2)
    })
  })

  describe('PATCH /organization/members/{id}', () => {
    test('only the fields sent change; null clears; an empty body changes nothing', async () => {
      const { managementKey: key } = await tenant()
      const member = await add(key, { first_name: 'Ada', last_name: 'King' })
      expect((await patch(key, member.id, {})).body.data).toEqual(member)
      const renamed = await patch(key, member.id, { last_name: 'Lovelace' })
      expect(renamed.body.data).toEqual({ ...member, last_name: 'Lovelace' })
      const cleared = await patch(key, member.id, { first_name: null })
      expect(cleared.body.data).toMatchObject({ first_name: null, last_name: 'Lovelace' })
    })

    test('a role changes in every workspace too, and only for that member', async () => {
      const own = await tenant()
      const key = own.managementKey
      const [member, bystander] = [await add(key), await add(key)]
      await server().call('POST', '/workspaces', { key, body: { name: 'Team', slug: 'team' } })
      const body = { user_ids: [member.id, bystander.id] }
      await server().call('POST', '/workspaces/team/members/add', { key, body })
      const roles = async (id: string) => {
        const found: string[] = []
        for (const ref of ['default', 'team']) {
          const { body } = await server().call('GET', `/workspaces/${ref}/members`, { key })
          found.push(body.data.find((row: { user_id: string }) => row.user_id === id).role)
        }
        return found
      }
      await patch(key, member.id, { role: 'org:admin' })
      expect(await roles(member.id)).toEqual(['admin', 'admin'])
      expect(await roles(bystander.id)).toEqual(['member', 'member'])
      await patch(key, member.id, { role: 'org:member' })
      expect(await roles(member.id)).toEqual(['member', 'member'])
    })

    test('the last admin cannot be demoted, but may be renamed and stay admin', async () => {
      const own = await tenant()
      const key = own.managementKey
      await add(key)
      const rejected = await patch(key, own.owner.id, { role: 'org:member', first_name: 'Nobody' })
      expect(rejected.status).toBe(409)
      const kept = await patch(key, own.owner.id, { role: 'org:admin', first_name: 'Ada' })
      expect(kept.body.data).toMatchObject({ role: 'org:admin', first_name: 'Ada' })
      await add(key, { role: 'org:admin' })
      expect((await patch(key, own.owner.id, { role: 'org:member' })).status).toBe(200)
    })

    test.each([
      [{ email: 'b@example.com' }, 'email'],
      [{ role: 'owner' }, 'role'],
      [{ role: null }, 'role'],
    ])('R12 400 naming the field: %j', async (body, field) => {
      const response = await patch(server().own.managementKey, server().own.owner.id, body)
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(`${field}:`)
    })

    test('I9 404 for an unknown member and for one of another organization', async () => {
      const key = server().own.managementKey
      for (const id of ['user_nobody', server().foreign.owner.id]) {
        expect((await patch(key, id, { first_name: 'Mallory' })).status).toBe(404)
        expect((await remove(key, id)).status).toBe(404)
      }
    })
  })

  describe('DELETE /organization/members/{id}', () => {
    test('their inference keys stop working, their sessions and memberships are gone', async () => {
      const own = await tenant()
      const { db, clock } = server().gateway
      const key = own.managementKey
      const member = await add(key)
      const made = await server().call('POST', '/keys', {
        key,
        body: { name: 'theirs', creator_user_id: member.id },
      })
      const session = (await useSignInLink(server(), await createSignInToken(db, clock, member.id))) ?? ''
      const unusedLink = await createSignInToken(db, clock, member.id)
      expect((await remove(key, member.id)).body).toEqual({ deleted: true })
      const rejected = await server().call('GET', '/key', { key: made.body.key })
      expect(rejected.body.error.metadata.reason).toBe('key_disabled')
      expect((await server().call('GET', '/key', { key: own.inferenceKey })).status).toBe(200)
      expect(await findSession(server().gateway, session)).toBeUndefined()
      expect(await useSignInLink(server(), unusedLink)).toBeUndefined()
      const { body } = await server().call('GET', '/workspaces/default/members', { key })
      expect(body.total_count).toBe(1)
      expect((await remove(key, member.id)).status).toBe(404)
      const record = await server().call('GET', `/keys/${made.body.data.hash}`, { key })
      expect(record.body.data.creator_user_id).toBe(member.id)
    })

    test('the management key of a member who left still works, and makes keys without a creator', async () => {
      const own = await tenant()
      const key = own.managementKey
      await add(key, { role: 'org:admin' })
      await remove(key, own.owner.id)
      expect((await server().call('GET', '/key', { key: own.inferenceKey })).status).toBe(401)
      const { status, body } = await server().call('POST', '/keys', { key, body: { name: 'x' } })
      expect(status).toBe(201)
      expect(body.data.creator_user_id).toBeNull()
    })

    test('an address is free again', async () => {
      const { managementKey: key } = await tenant()
      const member = await add(key)
      await remove(key, member.id)
      expect((await add(key, { email: member.email })).id).not.toBe(member.id)
    })

    test('409 for the last admin', async () => {
      const own = await tenant()
      await add(own.managementKey)
      expect((await remove(own.managementKey, own.owner.id)).status).toBe(409)
    })

    test('R22 when every admin is removed or demoted at the same moment, one stays', async () => {
      for (let round = 0; round < 5; round++) {
        const own = await tenant()
        const key = own.managementKey
        const others = await Promise.all(Array.from({ length: 9 }, () => add(key, { role: 'org:admin' })))
        const admins = [own.owner.id, ...others.map((member) => member.id)]
        const responses = await Promise.all(
          admins.map((id, i) => (i % 2 ? remove(key, id) : patch(key, id, { role: 'org:member' }))),
        )
        expect(responses.map((response) => response.status).sort()).toEqual([...Array(9).fill(200), 409])
        expect(await adminsOf(own)).toHaveLength(1)
      }
    })

    test('R22 a key created during the removal of its creator is rejected or disabled', async () => {
      const { managementKey: key } = await tenant()
      for (let round = 0; round < 10; round++) {
        const member = await add(key)
        const body = { name: 'race', creator_user_id: member.id }
        const calls = Array.from({ length: 8 }, () => server().call('POST', '/keys', { key, body }))
        calls.splice(round % 8, 0, remove(key, member.id))
        for (const response of await Promise.all(calls))
          expect([200, 201, 400, 409]).toContain(response.status)
        const active = await server()
          .gateway.db.selectFrom('api_keys')
          .select('id')
          .where('creator_user_id', '=', member.id)
          .where('disabled', '=', 0)
          .execute()
        expect(active).toBeEmpty()
      }
    })
  })

  test('R22 signing in during removal: the session ends with the member, or is not created', async () => {
    const { db, clock } = server().gateway
    const { managementKey: key } = await tenant()
    for (let round = 0; round < 10; round++) {
      const { id } = await add(key)
      const links = await Promise.all(Array.from({ length: 4 }, () => createSignInToken(db, clock, id)))
      const [removal, ...sessions] = await Promise.all([
        remove(key, id),
        ...links.map((link) => useSignInLink(server(), link)),
      ])
      expect(removal.status).toBe(200)
      for (const session of sessions)
        expect(await findSession(server().gateway, session ?? '')).toBeUndefined()
    }
  })

  test('R22 a storm of changes to members, workspaces and keys ends without a deadlock', async () => {
    const own = await tenant()
    const key = own.managementKey
    const call = (method: string, target: string, body?: unknown) =>
      server().call(method, target, { key, ...(body !== undefined && { body }) })
    await call('POST', '/workspaces', { name: 'Storm', slug: 'storm' })
    const members = await Promise.all(Array.from({ length: 10 }, () => add(key)))
    const user_ids = members.map((member) => member.id)
    const responses = await Promise.all(
      user_ids.flatMap((id, i) => [
        call('POST', '/workspaces/storm/members/add', { user_ids: i % 2 ? user_ids : user_ids.toReversed() }),
        call('POST', '/keys', { name: 'k', creator_user_id: id }),
        call('PATCH', `${path}/${id}`, { role: 'org:admin' }),
        call('PUT', '/workspaces/storm/budgets/daily', { limit_usd: i + 1 }),
        call('POST', '/workspaces/storm/members/remove', { user_ids: [id] }),
        ...(i > 4 ? [call('DELETE', `${path}/${id}`)] : []),
        ...(i === 9 ? [call('DELETE', '/workspaces/storm')] : []),
      ]),
    )
    for (const response of responses) expect(response.status).toBeLessThan(500)
  })
})
