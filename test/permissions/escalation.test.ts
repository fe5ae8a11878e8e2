import { expect, test } from 'bun:test'
import { keyPermissions } from '../../src/identity/permissions/permissions.ts'
import { organizationRoles, workspaceRoles } from '../../src/identity/permissions/roles.ts'
import { newId } from '../../src/platform/crypto/ids.ts'
import { createSessionCaller, describeOnEachDatabase, type TestServer } from '../support/harness.ts'
import { expectRefused } from '../support/refusals.ts'

/**
 * Requests by which a caller could gain permissions for themselves, or for an accomplice, with one permission alone.
 */
const escalations: [permission: string, method: string, path: string, body: object][] = [
  ['members:write', 'POST', '/organization/invitations', { email: 'eve@example.com', role: 'org:admin' }],
  ['members:write', 'POST', '/organization/members', { email: 'eve@example.com', role: 'org:admin' }],
  ['members:write', 'POST', '/organization/invitations', { email: 'eve@example.com' }],
  ['members:write', 'POST', '/organization/members', { email: 'eve@example.com' }],
  ['sso:write', 'POST', '/organization/sso/domains', { domain: 'eve.example' }],
  ['sso:write', 'PATCH', '/organization/sso', { enforced: false }],
  ['scim:write', 'POST', '/scim/tokens', { name: 'mine' }],
  [
    'sso:write',
    'POST',
    '/organization/sso/connections',
    { name: 'mine', issuer: 'https://eve.example.com', client_id: 'eve', client_secret: 'eve-secret' },
  ],
  [
    'workload_identity:write',
    'POST',
    '/workload-identity/policies',
    {
      name: 'mine',
      issuer_id: crypto.randomUUID(),
      audience: 'eve',
      subject: 'eve',
      key_hash: 'a'.repeat(64),
    },
  ],
  ['roles:write', 'POST', '/roles', { name: 'mine', permissions: ['credits:read'] }],
  ['management_keys:write', 'POST', '/management-keys', { name: 'mine' }],
]

describeOnEachDatabase('one permission does not lead to others', (server) => {
  test.each(escalations)('%s: %s %s', async (permission, method, path, body) => {
    const key = await createLimitedKey(server(), permission)
    const response = await server().call(method, path, { key, body })
    expect(response.status).toBe(403)
    expect(response.body.error.metadata.reason).toBe('permission_missing')
    expect(response.body.error.metadata.permission).not.toBe(permission)
  })

  test('members:write: no one is added to a workspace where the caller could do less', async () => {
    const slug = newId('w').replace('_', '-')
    const { id } = (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
    const role = { name: newId('role'), permissions: ['members:read', 'members:write'] }
    const roleId = (await server().call('POST', '/roles', { body: role })).body.data.id
    const manager = await createSessionCaller(server(), { roles: [{ roleId }] })
    const key = await createLimitedKey(server(), 'members:write')
    const email = `${newId('eve')}@example.com`
    for (const caller of [
      manager,
      { call: (m: string, p: string, o = {}) => server().call(m, p, { key, ...o }) },
    ]) {
      const add = { body: { user_ids: [manager.member.id] } }
      expectRefused(await caller.call('POST', `/workspaces/${id}/members/add`, add), 'inference:write')
      const invite = { body: { email, workspace_ids: [id] } }
      expectRefused(await caller.call('POST', '/organization/invitations', invite), /./)
    }
    const lead = await createSessionCaller(server(), {
      workspaces: { [id]: 'member' },
      roles: [{ roleId, workspaceId: id }],
    })
    const body = { user_ids: [manager.member.id] }
    expect((await lead.call('POST', `/workspaces/${id}/members/add`, { body })).status).toBe(200)
    const admin = { user_ids: [server().own.owner.id] }
    expectRefused(await lead.call('POST', `/workspaces/${id}/members/add`, { body: admin }), /./)
  })

  test('a key that lacks what a new member could do invites no one, and one that has it does', async () => {
    const needed = [
      ...organizationRoles['org:member'].permissions,
      ...workspaceRoles.member.permissions,
      ...workspaceRoles.member.ownPermissions,
    ].filter((name) => keyPermissions.management.has(name))
    const permissions = ['members:write', ...needed]
    const invite = async (granted: string[]) => {
      const { key } = (
        await server().call('POST', '/management-keys', { body: { name: 'k', permissions: granted } })
      ).body
      const body = { email: `${newId('guest')}@example.com` }
      return server().call('POST', '/organization/invitations', { key, body })
    }
    expect((await invite(permissions)).status).toBe(201)
    for (const missing of needed)
      expectRefused(await invite(permissions.filter((name) => name !== missing)), /./)
  })

  test('a member with members:write invites members who may do as much', async () => {
    const role = { name: newId('role'), permissions: ['members:write'] }
    const roleId = (await server().call('POST', '/roles', { body: role })).body.data.id
    const inside = await createSessionCaller(server(), { roles: [{ roleId }] })
    const outside = await createSessionCaller(server(), { roles: [{ roleId }], workspaces: {} })
    const invite = (caller: typeof inside) =>
      caller.call('POST', '/organization/invitations', { body: { email: `${newId('guest')}@example.com` } })
    expect((await invite(inside)).status).toBe(201)
    expectRefused(await invite(outside), 'inference:write')
  })

  test('an admin of a workspace invites no one to the organization', async () => {
    const { workspace } = server().own
    const admin = await createSessionCaller(server(), { workspaces: { [workspace.id]: 'admin' } })
    const body = { email: 'eve@example.com' }
    expect((await admin.call('POST', '/organization/invitations', { body })).status).toBe(403)
    expect((await admin.call('GET', '/organization/invitations')).status).toBe(403)
  })
})

async function createLimitedKey(server: TestServer, permission: string): Promise<string> {
  const body = { name: permission, permissions: [permission] }
  return (await server.call('POST', '/management-keys', { body })).body.key
}
