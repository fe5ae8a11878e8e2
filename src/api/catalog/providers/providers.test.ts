import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'

const settings = `
providers:
  - { slug: local, name: Local vLLM, base_url: "http://127.0.0.1:9001/v1", api_key: sk-planted-canary,
      dialects: [chat], headquarters: DE, datacenters: [DE, FR], privacy_policy_url: "https://acme.example/privacy" }
  - { slug: openai, name: Our OpenAI }
`

describeOnEachDatabase(
  'Providers',
  (server) => {
    const list = async () => (await server().call('GET', '/providers')).body.data as { slug: string }[]

    test('GET /providers lists built-in and declared ones, each once', async () => {
      const slugs = (await list()).map((provider) => provider.slug)
      expect(new Set(slugs).size).toBe(slugs.length)
      for (const slug of ['anthropic', 'google-ai-studio', 'amazon-bedrock', 'groq', 'sandbox', 'local']) {
        expect(slugs).toContain(slug)
      }
    })

    test('GET /providers/health says which endpoints are left out, and why', async () => {
      const { gateway, clock } = server()
      clock.freeze('2027-07-01T10:02:00.000Z')
      const health = gateway.routing.health.getOrCreate('sandbox/echo sandbox')
      health.recordFailure(clock.now(), { kind: 'provider_overloaded', status: 529, retryAfterMs: 30_000 })
      const { data } = (await server().call('GET', '/providers/health')).body
      const find = (slug: string) => data.find(({ provider }: { provider: string }) => provider === slug)
      expect(find('sandbox')).toMatchObject({
        state: 'unavailable',
        problems: [{ model_id: 'sandbox/echo', unavailable_until: '2027-07-01T10:02:30.000Z' }],
        last_error: { error_type: 'provider_overloaded', status: 529 },
        uptime_last_1d: 0,
      })
      expect(find('sandbox').hours.at(-1)).toEqual({
        until: '2027-07-01T11:00:00.000Z',
        uptime: 0,
        attempts: 1,
        failures: 1,
      })
      expect(find('groq')).toMatchObject({ state: 'no_credential', hours: [] })
      expect(find('local')).toMatchObject({ state: 'unused' })
      gateway.routing.health.forget('sandbox/echo sandbox')
      clock.release()
    })

    test('GET /providers shows a provider’s metadata and the overrides of headgate.yaml', async () => {
      const providers = await list()
      expect(providers.find((provider) => provider.slug === 'local')).toEqual({
        slug: 'local',
        name: 'Local vLLM',
        headquarters: 'DE',
        datacenters: ['DE', 'FR'],
        privacy_policy_url: 'https://acme.example/privacy',
        terms_of_service_url: null,
        status_page_url: null,
      } as never)
      expect(providers.find((provider) => provider.slug === 'openai')).toMatchObject({
        name: 'Our OpenAI',
        headquarters: 'US',
        status_page_url: 'https://status.openai.com',
      })
    })

    test('R40 provider keys are never in the catalog', async () => {
      for (const path of ['/providers', '/models', '/endpoints/zdr', '/images/models']) {
        const { body } = await server().call('GET', path)
        expect(JSON.stringify(body)).not.toContain('planted-canary')
      }
    })

    test('requires a key', async () => {
      expect((await server().call('GET', '/providers', { key: null })).status).toBe(401)
    })
  },
  { settings },
)
