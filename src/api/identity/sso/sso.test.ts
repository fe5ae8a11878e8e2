import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { startOidcProvider, type TestProvider } from '../../../../test/support/oidc-provider.ts'
import { connectProvider, resetSso, verifyDomain } from '../../../../test/support/sso.ts'

describeOnEachDatabase('Settings of single sign-on', (server) => {
  let provider: TestProvider
  beforeAll(async () => {
    provider = await startOidcProvider(server().url)
  })
  afterAll(() => provider.stop())
  afterEach(async () => {
    Object.assign(server().gateway.identity, { resolveTxt: async () => [] })
    await resetSso(server())
  })

  const connection = {
    name: 'Company',
    issuer: 'https://idp.example.com',
    client_id: 'headgate',
    client_secret: 'canary-secret-of-a-client-0815',
  }
  const create = (body: Record<string, unknown> = {}) =>
    server().call('POST', '/organization/sso/connections', { body: { ...connection, ...body } })

  test('a connection has defaults, and its secret is masked', async () => {
    const { status, body } = await create()
    expect(status).toBe(201)
    expect(body.data).toMatchObject({
      client_secret: '********',
      client_auth: 'client_secret_basic',
      scopes: ['openid', 'profile', 'email'],
      claims: { email: 'email', email_verified: 'email_verified' },
      mappings: [],
      default_role: 'org:member',
      jit: false,
    })
    const path = `/organization/sso/connections/${body.data.id}`
    const { client_secret, name } = body.data
    const changed = await server().call('PATCH', path, { body: { name: `${name} 2`, client_secret } })
    expect(changed.body.data).toMatchObject({ name: 'Company 2', issuer: connection.issuer })
    const entries = await server().gateway.db.selectFrom('audit_entries').selectAll().execute()
    const actions = entries.map(({ action }) => action)
    expect(actions).toContain('sso_connection.create')
    expect(actions).toContain('sso_connection.update')
    expect(JSON.stringify(entries)).not.toContain(connection.client_secret)
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['issuer http', { issuer: 'http://idp.example.com' }, 'issuer'],
    ['issuer private', { issuer: 'https://10.0.0.1' }, 'issuer'],
    ['issuer localhost', { issuer: 'https://localhost' }, 'issuer'],
    ['issuer not a URL', { issuer: 'idp' }, 'issuer'],
    ['issuer with a query', { issuer: 'https://idp.example.com/?x=1' }, 'issuer'],
    [
      'issuer as a discovery document',
      { issuer: 'https://a.example.com/.well-known/openid-configuration' },
      'issuer',
    ],
    ['client_secret masked', { client_secret: '********' }, 'client_secret'],
    ['scopes without openid', { scopes: ['email'] }, 'scopes'],
    ['a scope with a space', { scopes: ['openid', 'a b'] }, 'scopes.1'],
    ['default_role org:admin', { default_role: 'org:admin' }, 'default_role'],
    ['default_role unknown', { default_role: 'king' }, 'default_role'],
    ['client_auth unknown', { client_auth: 'none' }, 'client_auth'],
    ['R12 an unknown field', { enforced: true }, 'enforced'],
    [
      'a mapping to an unknown role',
      { mappings: [{ claim: 'g', value: 'v', workspace_id: null, role: 'org:admin' }] },
      'mappings.0.role',
    ],
    [
      'a membership without a workspace',
      { mappings: [{ claim: 'g', value: 'v', workspace_id: null, role: 'admin' }] },
      'mappings.0.workspace_id',
    ],
  ])('400 naming the field: %s', async (_, body, field) => {
    const response = await create(body)
    expect(response.status).toBe(400)
    expect(response.body.error.message).toStartWith(`${field}:`)
  })

  test('R37 a workspace or a connection of another organization cannot be named', async () => {
    const workspace_id = server().foreign.workspace.id
    const mappings = [{ claim: 'g', value: 'v', workspace_id, role: 'member' }]
    expect((await create({ mappings })).status).toBe(400)
    const key = server().foreign.managementKey
    const foreign = await server().call('POST', '/organization/sso/connections', { key, body: connection })
    const body = { domain: 'own.example', connection_id: foreign.body.data.id }
    expect((await server().call('POST', '/organization/sso/domains', { body })).status).toBe(404)
  })

  test('S6 a new issuer needs a new secret', async () => {
    const { id } = (await create()).body.data
    const path = `/organization/sso/connections/${id}`
    const issuer = 'https://other.example.com'
    for (const body of [{ issuer }, { issuer, client_secret: '********' }]) {
      const response = await server().call('PATCH', path, { body })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith('client_secret:')
    }
    expect((await server().call('PATCH', path, { body: { issuer, client_secret: 'new' } })).status).toBe(200)
  })

  test('a caller who has not all permissions decides not who signs in as whom', async () => {
    const body = { name: 'sso', permissions: ['sso:write'] }
    const { key } = (await server().call('POST', '/management-keys', { body })).body
    const path = '/organization/sso/connections'
    expect((await server().call('POST', path, { key, body: connection })).status).toBe(403)
    const { id } = (await server().call('POST', path, { body: connection })).body.data
    const change = { key, body: { default_role: 'auditor' } }
    expect((await server().call('PATCH', `${path}/${id}`, change)).status).toBe(403)
  })

  test('sso:write is required: an inference key is refused', async () => {
    const key = server().own.inferenceKey
    expect((await server().call('GET', '/organization/sso', { key })).status).toBe(403)
    expect(
      (await server().call('POST', '/organization/sso/connections', { key, body: connection })).status,
    ).toBe(403)
  })

  test('a domain is verified by its record, and belongs to the first organization that does', async () => {
    const body = { domain: 'Company.Example' }
    const add = (key: string) => server().call('POST', '/organization/sso/domains', { key, body })
    const own = (await add(server().own.managementKey)).body.data
    const foreign = (await add(server().foreign.managementKey)).body.data
    expect(own).toMatchObject({ domain: 'company.example', verified: false })
    expect(own.txt_record.name).toBe('_headgate.company.example')
    const lookups: string[] = []
    const publish = (records: string[]) =>
      Object.assign(server().gateway.identity, {
        resolveTxt: async (name: string) => {
          lookups.push(name)
          return records
        },
      })
    const verify = (id: string, key = server().own.managementKey) =>
      server().call('POST', `/organization/sso/domains/${id}/verify`, { key })
    publish(['v=spf1', foreign.txt_record.value])
    const missing = await verify(own.id)
    expect(missing.status).toBe(400)
    expect(missing.body.error.message).toContain(own.txt_record.value)
    publish([own.txt_record.value, foreign.txt_record.value])
    expect((await verify(own.id)).body.data).toMatchObject({ verified: true, verified_by: 'dns' })
    expect((await verify(foreign.id, server().foreign.managementKey)).status).toBe(409)
    expect(new Set(lookups)).toEqual(new Set(['_headgate.company.example']))
    expect((await add(server().own.managementKey)).status).toBe(409)
    Object.assign(server().gateway.identity, { resolveTxt: () => Promise.reject(new Error('ETIMEOUT')) })
    const other = await server().call('POST', '/organization/sso/domains', { body: { domain: 'b.example' } })
    expect((await verify(other.body.data.id)).status).toBe(503)
  })

  test.each(['example', '*.example.com', 'a b.example', 'https://example.com', '127.0.0.1', ''])(
    'the domain %s is 400',
    async (domain) => {
      const response = await server().call('POST', '/organization/sso/domains', { body: { domain } })
      expect(response.status).toBe(400)
    },
  )

  test('test reports that everything is right, and where to register', async () => {
    const { connectionId } = await connectProvider(server(), provider)
    const { body } = await server().call('POST', `/organization/sso/connections/${connectionId}/test`)
    expect(body.data).toMatchObject({
      ok: true,
      problems: [],
      redirect_uri: `${server().url}/signin/oidc/callback`,
      backchannel_logout_uri: `${server().url}/signin/oidc/backchannel-logout`,
      metadata: { token_endpoint: `${provider.issuer}/token` },
    })
  })

  test('test reports what is wrong', async () => {
    const wrong = { issuer: `${provider.issuer}/`, scopes: ['openid', 'nothing'] }
    const { connectionId } = await connectProvider(server(), provider, { domain: null, connection: wrong })
    const report = async () =>
      (await server().call('POST', `/organization/sso/connections/${connectionId}/test`)).body.data
    const first = await report()
    expect(first.ok).toBe(false)
    expect(first.problems[0]).toContain(`names itself ${provider.issuer}`)
    const body = { issuer: provider.issuer, client_secret: provider.clientSecret }
    await server().call('PATCH', `/organization/sso/connections/${connectionId}`, { body })
    const { problems } = await report()
    expect(problems).toEqual([
      'scopes: the provider does not list nothing.',
      'The organization has no verified domain: add one and verify it.',
    ])
    await verifyDomain(server(), server().own, 'example.com')
    Object.assign(server().gateway.settings.egress, { allow_private: [] })
    expect((await report()).problems[0]).toContain('egress.allow_private')
  })
})
