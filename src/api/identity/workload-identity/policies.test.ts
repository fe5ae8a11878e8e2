import { beforeAll, describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { createSessionKey } from '../../../identity/keys.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'

describeOnEachDatabase('workload identity', (server) => {
  let issuerId: string
  const send = (method: string, path: string, body?: unknown) =>
    server().call(method, `/workload-identity${path}`, body === undefined ? {} : { body })
  const issuer = (more: Record<string, unknown> = {}) =>
    send('POST', '/issuers', { name: 'CI', issuer: `https://${crypto.randomUUID()}.example.com`, ...more })
  const buildPolicy = (more: Record<string, unknown> = {}) => ({
    name: 'Deploy',
    issuer_id: issuerId,
    audience: 'https://gate.example.com',
    subject: 'repo:acme/app',
    key_hash: sha256(server().own.inferenceKey),
    ...more,
  })
  const policy = (more: Record<string, unknown> = {}) => send('POST', '/policies', buildPolicy(more))
  const expectRefused = (
    response: { status: number; body: { error: { message: string } } },
    start: string,
  ) => {
    expect(response.status).toBe(400)
    expect(response.body.error.message).toStartWith(start)
  }
  beforeAll(async () => {
    issuerId = (await issuer()).body.data.id
  })

  describe('issuers', () => {
    test('are created, changed, listed and deleted, with audit entries', async () => {
      const { data } = (await issuer({ algorithms: ['RS256'] })).body
      expect(data).toMatchObject({ name: 'CI', jwks_uri: null, algorithms: ['RS256'] })
      const jwks_uri = 'https://keys.example.com/jwks'
      const changed = await send('PATCH', `/issuers/${data.id}`, { jwks_uri, algorithms: ['ES256'] })
      expect(changed.body.data).toMatchObject({ jwks_uri, algorithms: ['ES256'], issuer: data.issuer })
      expect((await send('GET', '/issuers')).body.data.map(({ id }: { id: string }) => id)).toContain(data.id)
      expect((await send('DELETE', `/issuers/${data.id}`)).body).toEqual({ deleted: true })
      expect((await send('GET', `/issuers/${data.id}`)).status).toBe(404)
      const entries = await server()
        .gateway.db.selectFrom('audit_entries')
        .select(['action', 'actor_type'])
        .where('target_id', '=', data.id)
        .orderBy('seq')
        .execute()
      expect(entries).toEqual([
        { action: 'workload_issuer.create', actor_type: 'key' },
        { action: 'workload_issuer.update', actor_type: 'key' },
        { action: 'workload_issuer.delete', actor_type: 'key' },
      ])
    })

    test.each([
      ['issuer', { issuer: 'http://ci.example.com' }],
      ['issuer', { issuer: 'https://127.0.0.1' }],
      ['issuer', { issuer: 'https://localhost:8443' }],
      ['issuer', { issuer: 'https://user:pass@ci.example.com' }],
      ['issuer', { issuer: 'https://ci.example.com?tenant=1' }],
      ['issuer', { issuer: 'file:///etc/passwd' }],
      ['jwks_uri', { jwks_uri: 'http://169.254.169.254/keys' }],
      ['algorithms', { algorithms: [] }],
      ['algorithms', { algorithms: ['HS256'] }],
      ['algorithms', { algorithms: ['none'] }],
    ])('S5 a wrong %s is refused (%#)', async (field, more) => expectRefused(await issuer(more), field))

    test('are unique in an organization, and stay while they have policies', async () => {
      const { data } = (await issuer()).body
      expect((await issuer({ issuer: data.issuer })).status).toBe(409)
      const body = { name: 'CI', issuer: data.issuer }
      const foreign = { key: server().foreign.managementKey, body }
      expect((await server().call('POST', '/workload-identity/issuers', foreign)).status).toBe(201)
      const made = await policy({ issuer_id: data.id })
      expect((await send('DELETE', `/issuers/${data.id}`)).status).toBe(409)
      await send('DELETE', `/policies/${made.body.data.id}`)
      expect((await send('DELETE', `/issuers/${data.id}`)).status).toBe(200)
    })
  })

  describe('policies', () => {
    test('are created, changed, listed and deleted', async () => {
      const { data } = (await policy()).body
      expect(data).toMatchObject({ ...buildPolicy(), condition: null, enabled: true })
      const condition = `subject.startsWith('repo:acme/')`
      const changed = await send('PATCH', `/policies/${data.id}`, {
        subject: null,
        condition,
        enabled: false,
      })
      expect(changed.body.data).toMatchObject({ subject: null, condition, enabled: false, name: 'Deploy' })
      expectRefused(await send('PATCH', `/policies/${data.id}`, { condition: null }), 'subject')
      expect((await send('GET', `/policies/${data.id}`)).body.data).toEqual(changed.body.data)
      expect((await send('DELETE', `/policies/${data.id}`)).status).toBe(200)
      expect((await send('GET', `/policies/${data.id}`)).status).toBe(404)
    })

    test.each([
      ['subject', { subject: null }],
      ['subject', { subject: '' }],
      ['audience', { audience: '' }],
      ['condition', { condition: 'x'.repeat(2001) }],
      ['condition', { condition: 'subject' }],
      ['condition', { condition: 'subject == 1' }],
      ['condition', { condition: `subject.matches('.*')` }],
      ['condition', { condition: `${'('.repeat(900)}true${')'.repeat(900)}` }],
      ['condition', { condition: `claims.email == 'x'` }],
      ['condition', { condition: 'true || ' }],
      ['key_hash', { key_hash: 'abc' }],
      ['key_hash', { key_hash: 'a'.repeat(64) }],
      ['issuer_id', { issuer_id: '00000000-0000-4000-8000-000000000000' }],
    ])('a wrong %s is refused (%#)', async (field, more) => expectRefused(await policy(more), field))

    test('R37 the key must be an inference key of the organization, and not that of a signed-in member', async () => {
      const { own, foreign, gateway } = server()
      const owner = {
        organizationId: own.organization.id,
        workspaceId: own.workspace.id,
        userId: own.owner.id,
      }
      const sessionKey = await createSessionKey(gateway.db, gateway.clock, owner)
      for (const key_hash of [sha256(own.managementKey), sha256(foreign.inferenceKey), sessionKey.hash])
        expectRefused(await policy({ key_hash }), 'key_hash')
      const { data } = (await policy()).body
      const hash = { key_hash: sha256(own.managementKey) }
      expectRefused(await send('PATCH', `/policies/${data.id}`, hash), 'key_hash')
    })

    test('R37 the issuer must be one of the organization', async () => {
      const body = { name: 'CI', issuer: 'https://foreign.example.com' }
      const options = { key: server().foreign.managementKey, body }
      const { data } = (await server().call('POST', '/workload-identity/issuers', options)).body
      expectRefused(await policy({ issuer_id: data.id }), 'issuer_id')
    })
  })
})
