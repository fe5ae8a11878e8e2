import { describe, expect, test } from 'bun:test'
import { describeOnSqlite } from '../../../../test/support/harness.ts'

const settings = `
regions: { hosts: { "eu.example.com": europe } }
providers:
  - { slug: keeps, name: Keeps, base_url: "http://127.0.0.1:9001/v1", dialects: [chat] }
  - { slug: careful, name: Careful, base_url: "http://127.0.0.1:9002/v1", dialects: [chat], regions: [europe],
      data_policy: { training: false, retains: false } }
models:
  - { id: acme/kept-1, name: Kept, endpoints: [{ provider: keeps, upstream_model: kept }] }
  - { id: acme/careful-1, name: Careful, endpoints: [{ provider: careful, upstream_model: careful }] }
  - { id: acme/locked-1, name: Locked, endpoints: [{ provider: groq, upstream_model: locked }] }
  - { id: acme/lane-1, name: Lane, endpoints: [{ provider: keeps, upstream_model: lane, service_tier: flex }] }
  - { id: acme/vectors-1, name: Vectors, output_modalities: [embeddings],
      endpoints: [{ provider: careful, upstream_model: vectors, dialects: [embeddings] }] }
`

describeOnSqlite(
  'GET /models/user',
  (server) => {
    const list = async (key: string, query = '', headers: Record<string, string> = {}): Promise<string[]> => {
      const { body } = await server().call('GET', `/models/user${query}`, { key, headers })
      return body.data.map(({ id }: { id: string }) => id).filter((id: string) => id.startsWith('acme/'))
    }
    /** A key in a new workspace with this guardrail. */
    const keyUnder = async (guardrail: Record<string, unknown>) => {
      const slug = `w-${crypto.randomUUID().slice(0, 8)}`
      const workspace = (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
      const path = `/guardrails/${workspace.default_guardrail_id}`
      expect((await server().call('PATCH', path, { body: guardrail })).status).toBe(200)
      const made = await server().call('POST', '/keys', { body: { name: 'k', workspace_id: workspace.id } })
      return { key: made.body.key as string, workspaceId: workspace.id as string }
    }

    test('those whose provider has a key, lanes included', async () => {
      expect(await list(server().own.inferenceKey)).toEqual(['acme/kept-1', 'acme/careful-1', 'acme/lane-1'])
      expect(await list(server().own.managementKey, '?output_modalities=embeddings')).toEqual([
        'acme/vectors-1',
      ])
    })

    test.each([
      [{ allowed_models: ['acme/careful-1'] }, ['acme/careful-1']],
      [{ ignored_models: ['acme/careful-1'] }, ['acme/kept-1', 'acme/lane-1']],
      [{ allowed_providers: ['careful'] }, ['acme/careful-1']],
      [{ ignored_providers: ['careful'] }, ['acme/kept-1', 'acme/lane-1']],
      [{ enforce_zdr_other: true }, ['acme/careful-1']],
      [{ enable_paid_model_training: false }, ['acme/careful-1']],
      [{ allowed_data_regions: ['europe'] }, []],
    ] as const)('that no guardrail is in the way of: %j', async (guardrail, expected) => {
      const { key } = await keyUnder(guardrail)
      expect(await list(key)).toEqual([...expected])
    })

    describe('BYOK keys', () => {
      const ownKey = (workspaceId: string, more: Record<string, unknown> = {}) =>
        server().call('POST', '/byok', {
          body: { provider: 'groq', key: 'gsk-1234567890', workspace_id: workspaceId, ...more },
        })

      test('open what the installation has no key for, to who has them', async () => {
        const { key, workspaceId } = await keyUnder({})
        expect((await ownKey(workspaceId)).status).toBe(201)
        expect(await list(key)).toContain('acme/locked-1')
        expect(await list(server().own.inferenceKey)).not.toContain('acme/locked-1')
        expect(await list(server().foreign.inferenceKey)).not.toContain('acme/locked-1')
      })

      test('are held to the guardrails, and to the models they are for', async () => {
        const blocked = await keyUnder({ ignored_providers: ['groq'] })
        await ownKey(blocked.workspaceId)
        expect(await list(blocked.key)).not.toContain('acme/locked-1')
        const narrow = await keyUnder({})
        await ownKey(narrow.workspaceId, { allowed_models: ['acme/kept-1'] })
        expect(await list(narrow.key)).not.toContain('acme/locked-1')
      })
    })

    test('in the region of the host name', async () => {
      const headers = { host: 'eu.example.com' }
      expect(await list(server().own.inferenceKey, '', headers)).toEqual(['acme/careful-1'])
      const { key } = await keyUnder({ allowed_data_regions: ['europe'] })
      expect(await list(key, '', headers)).toEqual(['acme/careful-1'])
    })
  },
  { settings },
)
