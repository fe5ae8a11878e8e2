import { beforeAll, describe, expect, test } from 'bun:test'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type SessionCaller,
} from '../../../../test/support/harness.ts'
import { expectRefused } from '../../../../test/support/refusals.ts'
import { builtInRoles } from '../../../identity/permissions/roles.ts'
import { newId } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('Roles', (server) => {
  let workspace: string
  beforeAll(async () => {
    const slug = newId('w').replace('_', '-')
    workspace = (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id
  })
  const createRole = async (body: Record<string, unknown>) =>
    (await server().call('POST', '/roles', { body: { name: newId('role'), ...body } })).body.data
  const rolesPath = ({ member }: SessionCaller) => `/organization/members/${member.id}/roles`
  const assign = (caller: Pick<SessionCaller, 'call'>, to: SessionCaller, body: Record<string, unknown>) =>
    caller.call('POST', rolesPath(to), { body })

  describe('custom roles', () => {
    test('are created, listed after the built-in ones, changed and deleted', async () => {
      const permissions = ['budgets:read', 'budgets:write', 'budgets:read']
      const role = await createRole({ name: 'Controller', permissions, own_permissions: ['keys:read'] })
      expect(role).toMatchObject({
        name: 'Controller',
        description: null,
        permissions: ['budgets:read', 'budgets:write'],
        own_permissions: ['keys:read'],
        is_built_in: false,
        is_assignable: true,
      })
      const list = (await server().call('GET', '/roles')).body
      const ids = list.data.map(({ id }: { id: string }) => id)
      expect(ids.slice(0, builtInRoles.length)).toEqual(builtInRoles.map(({ id }) => id))
      expect(ids).toContain(role.id)
      const body = { description: 'Money', permissions: ['budgets:read'] }
      const changed = (await server().call('PATCH', `/roles/${role.id}`, { body })).body.data
      expect(changed).toMatchObject({ name: 'Controller', ...body, own_permissions: ['keys:read'] })
      expect((await server().call('GET', `/roles/${role.id}`)).body.data).toEqual(changed)
      expect((await server().call('DELETE', `/roles/${role.id}`)).body).toEqual({ deleted: true })
      expect((await server().call('GET', `/roles/${role.id}`)).status).toBe(404)
    })

    test.each([
      [{ permissions: ['keys:read', 'keys:fly'] }, 'permissions.1: "keys:fly" is not a permission'],
      [{ permissions: [], own_permissions: ['credits:read'] }, 'own_permissions.0: "credits:read"'],
      [{ permissions: [7] }, 'permissions.0: "7"'],
      [{}, 'permissions'],
      [{ permissions: [], name: ' ' }, 'name'],
    ])('R12 400 naming the field and the value: %j', async (body, message) => {
      const response = await server().call('POST', '/roles', { body: { name: 'x', ...body } })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(message)
    })

    test('409 for a name that is used, and for a change of a built-in role', async () => {
      const { name } = await createRole({ permissions: [] })
      const twice = await server().call('POST', '/roles', { body: { name, permissions: [] } })
      expect(twice.status).toBe(409)
      for (const id of ['viewer', 'org:admin']) {
        const body = { permissions: [] }
        expect((await server().call('PATCH', `/roles/${id}`, { body })).status).toBe(409)
        expect((await server().call('DELETE', `/roles/${id}`)).status).toBe(409)
        expect((await server().call('GET', `/roles/${id}`)).body.data.is_built_in).toBe(true)
      }
    })

    test('a change takes effect at once, and a role in use cannot be deleted', async () => {
      const role = await createRole({ permissions: ['budgets:read'] })
      const caller = await createSessionCaller(server(), { workspaces: {} })
      const { id } = (await assign(server(), caller, { role_id: role.id })).body.data
      expect((await caller.call('GET', `/workspaces/${workspace}/budgets`)).status).toBe(200)
      expect((await server().call('DELETE', `/roles/${role.id}`)).status).toBe(409)
      await server().call('PATCH', `/roles/${role.id}`, { body: { permissions: ['credits:read'] } })
      expect((await caller.call('GET', `/workspaces/${workspace}/budgets`)).status).toBe(403)
      expect((await caller.call('GET', '/credits')).status).toBe(200)
      expect((await server().call('DELETE', `${rolesPath(caller)}/${id}`)).status).toBe(200)
      expect((await caller.call('GET', '/credits')).status).toBe(403)
      expect((await server().call('DELETE', `/roles/${role.id}`)).status).toBe(200)
    })
  })

  test('a viewer reads no stored responses and conversations, an auditor does', async () => {
    const place = { workspaces: {}, roles: [{ roleId: 'viewer', workspaceId: workspace }] }
    const viewer = await createSessionCaller(server(), place)
    const auditor = await createSessionCaller(server(), { roles: [{ roleId: 'auditor' }] })
    const headers = { 'x-headgate-workspace': workspace }
    for (const path of ['/responses/resp_unknown', '/conversations/conv_unknown/items']) {
      expectRefused(await viewer.call('GET', path, { headers }), 'conversations:read')
      expect((await auditor.call('GET', path, { headers })).status).toBe(404)
    }
  })

  describe('assignments', () => {
    test('a role applies in the workspace it is assigned in', async () => {
      const caller = await createSessionCaller(server(), { workspaces: {} })
      const { status, body } = await assign(server(), caller, { role_id: 'billing', workspace_id: workspace })
      expect(status).toBe(201)
      expect(body.data).toMatchObject({ role_id: 'billing', workspace_id: workspace, source: 'manual' })
      expect((await caller.call('GET', `/workspaces/${workspace}/budgets`)).status).toBe(200)
      const elsewhere = `/workspaces/${server().own.workspace.id}/budgets`
      expect((await caller.call('GET', elsewhere)).status).toBe(403)
      expect((await caller.call('GET', '/credits')).status).toBe(403)
      expect((await server().call('GET', rolesPath(caller))).body.data).toEqual([body.data])
    })

    test('400 for a role that cannot be assigned, 409 for one that is assigned, 404 for nobody', async () => {
      const caller = await createSessionCaller(server(), { workspaces: {} })
      for (const role_id of ['org:admin', 'admin', 'nothing']) {
        const response = await assign(server(), caller, { role_id })
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith('role_id')
      }
      expect((await assign(server(), caller, { role_id: 'viewer' })).status).toBe(201)
      expect((await assign(server(), caller, { role_id: 'viewer' })).status).toBe(409)
      const nobody = await server().call('POST', '/organization/members/user_x/roles', {
        body: { role_id: 'viewer' },
      })
      expect(nobody.status).toBe(404)
    })

    test('S3 R37 roles, members and workspaces of another organization do not exist', async () => {
      const { foreign } = server()
      const key = foreign.managementKey
      const role = (await server().call('POST', '/roles', { key, body: { name: 'Theirs', permissions: [] } }))
        .body.data
      const caller = await createSessionCaller(server(), { workspaces: {} })
      expect((await assign(server(), caller, { role_id: role.id })).status).toBe(400)
      const place = { role_id: 'viewer', workspace_id: foreign.workspace.id }
      expect((await assign(server(), caller, place)).status).toBe(403)
      expect((await server().call('GET', rolesPath(caller), { key })).status).toBe(404)
      const { id } = (await assign(server(), caller, { role_id: 'viewer' })).body.data
      const theirs = `/organization/members/${foreign.owner.id}/roles/${id}`
      expect((await server().call('DELETE', theirs, { key })).status).toBe(404)
    })

    test('I9 an assignment of another organization grants nothing', async () => {
      const { gateway, foreign } = server()
      const caller = await createSessionCaller(server(), { workspaces: {} })
      const created = await createSessionCaller(server(), { roles: [{ roleId: 'viewer' }] })
      await gateway.db
        .updateTable('role_assignments')
        .set({ organization_id: foreign.organization.id, user_id: caller.member.id })
        .where('user_id', '=', created.member.id)
        .execute()
      expect((await caller.call('GET', '/credits')).status).toBe(403)
    })

    test('what an identity provider assigned is removed there', async () => {
      const caller = await createSessionCaller(server(), { roles: [{ roleId: 'viewer' }] })
      const { db } = server().gateway
      await db
        .updateTable('role_assignments')
        .set({ source: 'oidc' })
        .where('user_id', '=', caller.member.id)
        .execute()
      const [{ id, source }] = (await server().call('GET', rolesPath(caller))).body.data
      expect(source).toBe('oidc')
      expect((await server().call('DELETE', `${rolesPath(caller)}/${id}`)).status).toBe(409)
    })

    test('removing a member or a workspace removes the assignments', async () => {
      const caller = await createSessionCaller(server(), { roles: [{ roleId: 'viewer' }] })
      const slug = newId('w').replace('_', '-')
      const { id } = (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
      const other = await createSessionCaller(server(), { roles: [{ roleId: 'billing', workspaceId: id }] })
      await server().call('DELETE', `/organization/members/${caller.member.id}`)
      await server().call('DELETE', `/workspaces/${id}`)
      const rows = await server()
        .gateway.db.selectFrom('role_assignments')
        .select('id')
        .where('user_id', 'in', [caller.member.id, other.member.id])
        .execute()
      expect(rows).toEqual([])
    })
  })

  describe('nobody grants more than they have', () => {
    test('a role manager cannot make, widen, assign or remove a role with other permissions', async () => {
      const manager = await createRole({ permissions: ['roles:read', 'roles:write', 'budgets:read'] })
      const caller = await createSessionCaller(server(), { roles: [{ roleId: manager.id }] })
      const within = { name: newId('role'), permissions: ['budgets:read'] }
      const made = await caller.call('POST', '/roles', { body: within })
      expect(made.status).toBe(201)
      const wide = { name: newId('role'), permissions: ['budgets:read', 'credits:read'] }
      expectRefused(await caller.call('POST', '/roles', { body: wide }), 'credits:read')
      const own = { name: newId('role'), permissions: [], own_permissions: ['keys:write'] }
      expectRefused(await caller.call('POST', '/roles', { body: own }), 'keys:write')
      const widen = { permissions: ['members:write'] }
      for (const id of [made.body.data.id, manager.id])
        expectRefused(await caller.call('PATCH', `/roles/${id}`, { body: widen }), 'members:write')
      const wider = await createRole({ permissions: ['roles:read', 'credits:read'] })
      for (const body of [{ permissions: [] }, { permissions: ['roles:read'] }, { name: newId('role') }])
        expectRefused(await caller.call('PATCH', `/roles/${wider.id}`, { body }), 'credits:read')
      expectRefused(await caller.call('DELETE', `/roles/${wider.id}`), 'credits:read')
      expect((await assign(caller, caller, { role_id: made.body.data.id })).status).toBe(201)
      expectRefused(await assign(caller, caller, { role_id: 'auditor' }), /:read$/)
      const viewer = await createSessionCaller(server(), { roles: [{ roleId: 'viewer' }] })
      const [{ id }] = (await caller.call('GET', rolesPath(viewer))).body.data
      expectRefused(await caller.call('DELETE', `${rolesPath(viewer)}/${id}`), /:read$/)
    })

    test('a workspace admin assigns roles in the workspace only', async () => {
      const admin = await createSessionCaller(server(), { workspaces: { [workspace]: 'admin' } })
      const member = await createSessionCaller(server(), { workspaces: {} })
      const place = { role_id: 'auditor', workspace_id: workspace }
      const { id } = (await assign(admin, member, place)).body.data
      expectRefused(await assign(admin, member, { role_id: 'viewer' }), 'roles:write')
      const elsewhere = { role_id: 'viewer', workspace_id: server().own.workspace.id }
      expectRefused(await assign(admin, member, elsewhere), 'roles:write')
      expectRefused(
        await admin.call('POST', '/roles', { body: { name: newId('role'), permissions: [] } }),
        'roles:write',
      )
      const everywhere = (await assign(server(), member, { role_id: 'viewer' })).body.data
      expect((await admin.call('GET', rolesPath(member))).body.total_count).toBe(1)
      expectRefused(await admin.call('DELETE', `${rolesPath(member)}/${everywhere.id}`), 'roles:write')
      expect((await admin.call('DELETE', `${rolesPath(member)}/${id}`)).status).toBe(200)
    })

    test('who may change members cannot make, demote or remove an admin without all permissions', async () => {
      const manager = await createRole({ permissions: ['members:read', 'members:write'] })
      const caller = await createSessionCaller(server(), { roles: [{ roleId: manager.id }] })
      const admin = await createSessionCaller(server(), { role: 'org:admin' })
      const path = (of: SessionCaller) => `/organization/members/${of.member.id}`
      const body = { email: `${newId('new')}@example.com`, role: 'org:admin' }
      expectRefused(await caller.call('POST', '/organization/members', { body }), /./)
      expectRefused(await caller.call('PATCH', path(caller), { body: { role: 'org:admin' } }), /./)
      expectRefused(await caller.call('PATCH', path(admin), { body: { role: 'org:member' } }), /./)
      expectRefused(await caller.call('DELETE', path(admin)), /./)
      const plain = await caller.call('POST', '/organization/members', {
        body: { ...body, role: 'org:member' },
      })
      expect(plain.status).toBe(201)
      expect((await admin.call('PATCH', path(caller), { body: { role: 'org:admin' } })).status).toBe(200)
    })

    test('the last admin stays, whoever asks', async () => {
      const { foreign } = server()
      const admin = await createSessionCaller(server(), { tenant: foreign, role: 'org:admin' })
      expect((await admin.call('DELETE', `/organization/members/${foreign.owner.id}`)).status).toBe(200)
      const self = `/organization/members/${admin.member.id}`
      expect((await admin.call('DELETE', self)).status).toBe(409)
      expect((await admin.call('PATCH', self, { body: { role: 'org:member' } })).status).toBe(409)
    })
  })

  test('every change is in the audit log', async () => {
    const role = await createRole({ permissions: ['models:read'] })
    await server().call('PATCH', `/roles/${role.id}`, { body: { permissions: [] } })
    const caller = await createSessionCaller(server())
    const { id } = (await assign(server(), caller, { role_id: role.id })).body.data
    await server().call('DELETE', `${rolesPath(caller)}/${id}`)
    await server().call('DELETE', `/roles/${role.id}`)
    const entries = await server()
      .gateway.db.selectFrom('audit_entries')
      .selectAll()
      .where('target_id', 'in', [role.id, id])
      .orderBy('seq')
      .execute()
    expect(entries.map(({ action }) => action)).toEqual([
      'role.create',
      'role.update',
      'role_assignment.create',
      'role_assignment.delete',
      'role.delete',
    ])
    expect(JSON.parse(entries[2]?.changes ?? '').after).toMatchObject({
      user_id: caller.member.id,
      role_id: role.id,
    })
  })
})
