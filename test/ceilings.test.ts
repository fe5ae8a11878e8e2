import { beforeAll, expect, test } from 'bun:test'
import { type RecordKind, recordCeilings } from '../src/identity/ceilings.ts'
import { createSignInToken, findSession } from '../src/identity/sessions.ts'
import { sha256 } from '../src/platform/crypto/crypto.ts'
import { newId } from '../src/platform/crypto/ids.ts'
import { insertGeneration } from './support/generations.ts'
import { describeOnEachDatabase, type TestResponse } from './support/harness.ts'
import { buildUserBody, connectIdentityProvider, type IdentityProvider } from './support/scim.ts'
import { useSignInLink } from './support/sessions.ts'

const most = 6
const settings = `ceilings: { ${Object.keys(recordCeilings)
  .map((kind) => `${kind}: ${most}`)
  .join(', ')} }`

describeOnEachDatabase(
  'S13 the ceiling of',
  (server) => {
    let provider: IdentityProvider
    let generation: string
    let groups: string[] = []
    beforeAll(async () => {
      provider = await connectIdentityProvider(server())
      generation = await insertGeneration(server().gateway, server().own)
    })
    const post = (path: string, body: unknown) => server().call('POST', path, { body })
    const preset = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
    const config = { url: 'https://hooks.example.com/events' }
    const connection = { name: 'C', issuer: 'https://idp.example.com', client_id: 'id', client_secret: 's' }
    const types = ['webhook', 'webhook', 'webhook', 'webhook', 'webhook', 'otel-collector', 'otel-collector']
    const slug = newId('versions')

    const makers: [RecordKind, (index: number) => Promise<TestResponse>][] = [
      ['keys', () => post('/keys', { name: 'key' })],
      ['workspaces', () => post('/workspaces', { name: 'New', slug: newId('w').replace('_', '-') })],
      ['roles', () => post('/roles', { name: newId('role'), permissions: [] })],
      ['role_assignments', (index) => assignRole(index)],
      ['preset_versions', () => post(`/presets/${slug}/messages`, preset)],
      ['presets', () => post(`/presets/${newId('preset')}/messages`, preset)],
      ['guardrails', () => post('/guardrails', { name: newId('guardrail') })],
      ['destinations', (index) => post('/observability/destinations', destination(index))],
      ['notification_rules', () => post('/notifications/rules', { kind: 'budget' })],
      ['byok_keys', () => post('/byok', { provider: 'openai', key: newId('sk') })],
      ['files', () => post('/files', upload())],
      ['conversations', () => server().call('POST', '/conversations', { key: server().own.inferenceKey })],
      ['apps', (index) => post('/auth/keys/code', { callback_url: `https://app-${index}.example.com/` })],
      ['auth_codes', () => post('/auth/keys/code', { callback_url: 'https://app-0.example.com/' })],
      ['sso_connections', () => post('/organization/sso/connections', connection)],
      ['sso_domains', (index) => post('/organization/sso/domains', { domain: `d${index}.example.com` })],
      ['scim_tokens', () => post('/scim/tokens', { name: 'token' })],
      ['workload_issuers', () => postIssuer()],
      ['workload_policies', () => postPolicy()],
      ['feedback', () => post('/generation/feedback', { generation_id: generation, category: 'latency' })],
      ['catalogue_edits', () => edit()],
      ['scim_groups', () => provider.send('POST', '/Groups', { displayName: newId('group') })],
      ['scim_mappings', (index) => mapping(index)],
      ['members', () => provider.send('POST', '/Users', buildUserBody(`${newId('person')}@example.com`))],
      [
        'members',
        () => post('/organization/members', { email: `${newId('person')}@example.com`, role: 'org:member' }),
      ],
    ]

    /** Assigns a built-in role in a place: there are more such combinations than the ceiling. */
    async function assignRole(index: number): Promise<TestResponse> {
      const { owner, workspace } = server().own
      const role_id = ['viewer', 'billing', 'auditor', 'developer'][index % 4]
      const body = { role_id, workspace_id: index < 4 ? null : workspace.id }
      return post(`/organization/members/${owner.id}/roles`, body)
    }
    function postIssuer() {
      return post('/workload-identity/issuers', { name: 'CI', issuer: `https://${newId('i')}.example.com` })
    }
    async function postPolicy() {
      const { data } = (await server().call('GET', '/workload-identity/issuers')).body
      const [issuer_id, key_hash] = [data[0].id, sha256(server().own.inferenceKey)]
      return post('/workload-identity/policies', {
        name: 'CI',
        issuer_id,
        audience: 'gate',
        subject: 'main',
        key_hash,
      })
    }
    function destination(index: number) {
      const type = types[index] ?? 'webhook'
      return { type, name: newId('d'), config: type === 'webhook' ? config : { endpoint: config.url } }
    }
    function upload(): FormData {
      const form = new FormData()
      form.append('file', new File(['some text'], 'notes.txt', { type: 'text/plain' }))
      return form
    }
    function edit(): Promise<TestResponse> {
      const body = { name: 'Own', base_url: 'https://models.example.com/v1', dialects: ['chat'] }
      return server().call('PUT', `/catalogue/providers/${newId('own').replace('_', '-')}`, { body })
    }
    async function mapping(index: number): Promise<TestResponse> {
      if (groups.length === 0) groups = (await groupRows()).map(({ id }) => id)
      const workspaces = await server()
        .gateway.db.selectFrom('workspaces')
        .select('id')
        .where('organization_id', '=', server().own.organization.id)
        .orderBy('id')
        .execute()
      const workspace_id = workspaces[Math.floor(index / groups.length)]?.id
      return post('/scim/group-mappings', {
        scim_group_id: groups[index % groups.length],
        workspace_id,
        role: 'member',
      })
    }
    const groupRows = () => server().gateway.db.selectFrom('scim_groups').select('id').execute()

    test.each(makers)('%s is enforced, and named in the error', async (kind, make) => {
      let rejected: TestResponse | null = null
      for (let index = 0; index <= most && !rejected; index++) {
        const response = await make(index)
        if (response.status >= 400) rejected = response
      }
      expect(rejected?.status).toBe(409)
      expect(JSON.stringify(rejected?.body)).toContain(`${most} ${recordCeilings[kind].noun}`)
      expect(JSON.stringify(rejected?.body)).toContain(`ceilings.${kind}`)
    })

    test('keys also limits the exchange of a code', async () => {
      await server().gateway.db.deleteFrom('auth_codes').execute()
      const { body } = await post('/auth/keys/code', { callback_url: 'https://app-0.example.com/' })
      const response = await server().call('POST', '/auth/keys', { key: null, body: { code: body.data.id } })
      expect([response.status, response.body.error.metadata.reason]).toEqual([409, 'ceiling_reached'])
    })

    test('another organization is not affected', async () => {
      const key = server().foreign.managementKey
      expect((await server().call('POST', '/keys', { key, body: { name: 'key' } })).status).toBe(201)
    })

    test('sessions ends the oldest ones', async () => {
      const { gateway, own, clock } = server()
      const sessions: string[] = []
      for (let index = 0; index <= most; index++) {
        const link = await createSignInToken(gateway.db, clock, own.owner.id)
        sessions.push((await useSignInLink(server(), link)) ?? '')
        clock.advance(1000)
      }
      const open = await Promise.all(sessions.map((token) => findSession(gateway, token)))
      expect(open.map((member) => member !== undefined)).toEqual([
        false,
        ...sessions.slice(1).map(() => true),
      ])
    })

    test('sync jobs deletes the oldest ones', async () => {
      for (let index = 0; index < most + 2; index++) {
        expect((await post('/scim/sync-jobs', undefined)).status).toBe(202)
        server().clock.advance(1000)
      }
      expect(await server().gateway.db.selectFrom('scim_sync_jobs').select('id').execute()).toHaveLength(most)
    })
  },
  { settings },
)
