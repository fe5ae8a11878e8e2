import { describe, expect, test } from 'bun:test'
import {
  createSessionCaller,
  describeOnEachDatabase,
  startTestServer,
} from '../../../../test/support/harness.ts'
import { expectRefused } from '../../../../test/support/refusals.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { newId } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('Management keys', (server) => {
  const path = '/management-keys'
  const create = async (body: Record<string, unknown> = {}, key?: string) =>
    server().call('POST', path, { body: { name: 'key', ...body }, ...(key !== undefined && { key }) })
  const createWorkspace = async () => {
    const slug = newId('w').replace('_', '-')
    return (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id
  }

  test('the secret is shown once, and works at once', async () => {
    const { status, body } = await create({ name: 'CI' })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({
      name: 'CI',
      hash: sha256(body.key),
      permissions: null,
      workspace_ids: null,
      disabled: false,
      creator_user_id: server().own.owner.id,
    })
    expect((await server().call('GET', '/credits', { key: body.key })).status).toBe(200)
    const list = await server().call('GET', path)
    expect(list.body.data[0]).toEqual(body.data)
    const read = await server().call('GET', `${path}/${body.data.hash}`)
    expect(read.body.data).toEqual(body.data)
    expect(JSON.stringify([list.body, read.body])).not.toContain(body.key)
    expect(
      list.body.data.some(({ hash }: { hash: string }) => hash === sha256(server().own.inferenceKey)),
    ).toBe(false)
  })

  test('permissions limit what a key does', async () => {
    const { key } = (await create({ permissions: ['credits:read', 'keys:read'] })).body
    expect((await server().call('GET', '/credits', { key })).status).toBe(200)
    expect((await server().call('GET', '/keys', { key })).status).toBe(200)
    expectRefused(await server().call('POST', '/keys', { key, body: { name: 'x' } }), 'keys:write')
  })

  test('workspaces limit where a key acts', async () => {
    const [home, other] = [await createWorkspace(), await createWorkspace()]
    const { key } = (await create({ workspace_ids: [home.toUpperCase()] })).body
    const list = (await server().call('GET', '/workspaces', { key })).body
    expect(list.data.map(({ id }: { id: string }) => id)).toEqual([home])
    expect((await server().call('GET', `/workspaces/${home}/budgets`, { key })).status).toBe(200)
    expectRefused(await server().call('GET', `/workspaces/${other}/budgets`, { key }), 'budgets:read')
    expectRefused(await server().call('GET', '/credits', { key }), 'credits:read')
    expectRefused(await create({}, key), 'management_keys:write')
  })

  test.each([
    [{ permissions: ['keys:read', 'keys:fly'] }, 'permissions.1: "keys:fly"'],
    [{ permissions: ['inference:write'] }, 'permissions.0: "inference:write"'],
    [{ permissions: [] }, 'permissions'],
    [{ workspace_ids: [] }, 'workspace_ids'],
    [{ workspace_ids: ['0190a4a5-0000-7000-8000-000000000000'] }, 'workspace_ids.0'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: '' }, 'name'],
    [{ limit: 5 }, 'limit'],
  ])('R12 400 naming the field: %j', async (body, message) => {
    const response = await create(body)
    expect(response.status).toBe(400)
    expect(response.body.error.message).toStartWith(message)
  })

  test('S3 a workspace of another organization is not accepted', async () => {
    expect((await create({ workspace_ids: [server().foreign.workspace.id] })).status).toBe(400)
  })

  describe('a key never may do more than its creator', () => {
    test('a limited key makes only keys within its permissions', async () => {
      const permissions = ['management_keys:read', 'management_keys:write', 'credits:read']
      const { key, data } = (await create({ permissions })).body
      expectRefused(await create({}, key), /./)
      expectRefused(await create({ permissions: ['credits:read', 'keys:read'] }, key), 'keys:read')
      const made = await create({ permissions: ['credits:read'] }, key)
      expect(made.status).toBe(201)
      for (const [hash, body, permission] of [
        [data.hash, { permissions: null }, /./],
        [made.body.data.hash, { permissions: ['keys:read'] }, 'keys:read'],
        [sha256(server().own.managementKey), { name: 'x' }, /./],
        [sha256(server().own.managementKey), { expires_at: null }, /./],
      ] as const)
        expectRefused(await server().call('PATCH', `${path}/${hash}`, { key, body }), permission)
    })

    test('a limited key can disable another, and not enable it', async () => {
      const { key } = (await create({ permissions: ['management_keys:write'] })).body
      const { data } = (await create()).body
      const patch = (body: unknown) => server().call('PATCH', `${path}/${data.hash}`, { key, body })
      expect((await patch({ disabled: true })).status).toBe(200)
      expectRefused(await patch({ disabled: false }), /./)
      expectRefused(await patch({ disabled: true, name: 'x' }), /./)
    })

    test('a key that expires makes no key that lives longer, and does not prolong itself', async () => {
      const [soon, later] = ['2099-01-01T00:00:00Z', '2099-01-01T00:00:01Z']
      const { key, data } = (await create({ expires_at: soon })).body
      for (const expires_at of [undefined, null, later]) {
        const refused = await create({ ...(expires_at !== undefined && { expires_at }) }, key)
        expect([refused.status, refused.body.error?.message]).toEqual([
          400,
          expect.stringMatching(/^expires_at: /),
        ])
      }
      const within = await create({ expires_at: '2099-01-01T00:00:00.000Z' }, key)
      expect(within.status).toBe(201)
      const everlasting = (await create()).body.data
      for (const hash of [data.hash, within.body.data.hash])
        for (const expires_at of [null, later]) {
          const body = { expires_at }
          expect((await server().call('PATCH', `${path}/${hash}`, { key, body })).status).toBe(400)
        }
      const rename = { body: { name: 'x' }, key }
      expect((await server().call('PATCH', `${path}/${everlasting.hash}`, rename)).status).toBe(200)
    })

    test('a member makes only keys within the permissions of the member', async () => {
      const permissions = ['management_keys:write', 'credits:read']
      const role = (await server().call('POST', '/roles', { body: { name: newId('role'), permissions } }))
        .body.data
      const member = await createSessionCaller(server(), { roles: [{ roleId: role.id }] })
      const make = (body: Record<string, unknown>) =>
        member.call('POST', path, { body: { name: 'key', ...body } })
      expectRefused(await make({}), /./)
      expectRefused(await make({ permissions: ['budgets:read'] }), 'budgets:read')
      const { status, body } = await make({ permissions: ['credits:read'] })
      expect([status, body.data.creator_user_id]).toEqual([201, member.member.id])
      const admin = await createSessionCaller(server(), { role: 'org:admin' })
      expect((await admin.call('POST', path, { body: { name: 'all' } })).status).toBe(201)
    })
  })

  test('disabling, limiting, expiring and deleting a key take effect at once', async () => {
    const { key, data } = (await create()).body
    const patch = (body: unknown) => server().call('PATCH', `${path}/${data.hash}`, { body })
    const status = async () => (await server().call('GET', '/credits', { key })).status
    expect((await patch({ disabled: true })).body.data.disabled).toBe(true)
    expect(await status()).toBe(401)
    await patch({ disabled: false, permissions: ['keys:read'] })
    expect(await status()).toBe(403)
    await patch({ permissions: null, expires_at: '2099-01-01T00:00:00Z' })
    expect(await status()).toBe(200)
    server().clock.freeze('2099-01-01T00:00:00.000Z')
    expect(await status()).toBe(401)
    server().clock.release()
    expect((await server().call('DELETE', `${path}/${data.hash}`)).body).toEqual({ deleted: true })
    expect(await status()).toBe(401)
    expect((await server().call('GET', `${path}/${data.hash}`)).status).toBe(404)
  })

  test('S3 R37 inference keys and keys of other organizations do not exist here', async () => {
    for (const secret of [server().own.inferenceKey, server().foreign.managementKey]) {
      const target = `${path}/${sha256(secret)}`
      expect((await server().call('GET', target)).status).toBe(404)
      expect((await server().call('PATCH', target, { body: { name: 'x' } })).status).toBe(404)
      expect((await server().call('DELETE', target)).status).toBe(404)
    }
    const { body } = await server().call('GET', path, { key: server().foreign.managementKey })
    expect(body.data.map(({ hash }: { hash: string }) => hash)).toEqual([
      sha256(server().foreign.managementKey),
    ])
  })

  test('S12 every change is in the audit log, without the secret', async () => {
    const { key, data } = (await create({ name: 'audited' })).body
    await server().call('PATCH', `${path}/${data.hash}`, { body: { permissions: ['keys:read'] } })
    await server().call('DELETE', `${path}/${data.hash}`)
    const entries = await server()
      .gateway.db.selectFrom('audit_entries')
      .selectAll()
      .where('target_id', '=', data.hash)
      .orderBy('seq')
      .execute()
    expect(entries.map(({ action }) => action)).toEqual([
      'management_key.create',
      'management_key.update',
      'management_key.delete',
    ])
    expect(JSON.parse(entries[1]?.changes ?? '').after.permissions).toBe('["keys:read"]')
    expect(JSON.stringify(entries)).not.toContain(key)
  })
})

test('HEADGATE_MANAGEMENT_KEY is changed in the environment', async () => {
  const server = await startTestServer('sqlite')
  await server.gateway.db
    .updateTable('api_keys')
    .set({ source: 'environment' })
    .where('hash', '=', sha256(server.own.managementKey))
    .execute()
  const { body } = await server.call('GET', '/management-keys')
  const [{ hash }] = body.data
  expect((await server.call('DELETE', `/management-keys/${hash}`)).status).toBe(409)
  expect((await server.call('PATCH', `/management-keys/${hash}`, { body: { name: 'x' } })).status).toBe(409)
  await server.stop()
})
