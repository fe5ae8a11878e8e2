import { expect, test } from 'bun:test'
import { createSessionCaller, describeOnEachDatabase, type TestServer } from '../support/harness.ts'

/** What a caller could give to themselves, or to an accomplice, with one permission alone. */
const escalations: [permission: string, method: string, path: string, body: object][] = [
  ['members:write', 'POST', '/organization/invitations', { email: 'eve@example.com', role: 'org:admin' }],
  ['members:write', 'POST', '/organization/members', { email: 'eve@example.com', role: 'org:admin' }],
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
