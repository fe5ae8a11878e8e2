import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'

const canary = 'canary-5ecret-value-0123456789'
const settings = JSON.stringify({
  providers: [
    { slug: 'azure', credentials: [{ api_key: canary, resource_name: 'ours' }] },
    {
      slug: 'second',
      name: 'Second',
      like: 'amazon-bedrock',
      credentials: { accessKeyId: 'AKIA0123456789EXAMPLE', secretAccessKey: canary, region: 'eu-west-1' },
    },
  ],
})

describeOnEachDatabase(
  'providers with more than a token, changed at run time',
  (server) => {
    const put = (slug: string, body: unknown) =>
      server().call('PUT', `/catalogue/providers/${slug}`, { body })

    test('S6 credentials of headgate.yaml do not follow a provider to another address', async () => {
      for (const slug of ['azure', 'second']) {
        const { status, body } = await put(slug, { base_url: 'https://elsewhere.example/v1' })
        expect([status, body.error.message]).toEqual([400, expect.stringMatching(/^api_key: is required/)])
        expect((await put(slug, { name: 'Renamed' })).status).toBe(200)
      }
    })

    test('S6 a BYOK key is bound to the address it was entered for, until it is entered again', async () => {
      const { own } = server()
      const received: string[] = []
      const vendor = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch: (request) => {
          received.push(request.headers.get('authorization') ?? '')
          return Response.json(vendorReply('chat', 'text').body)
        },
      })
      const { body: made } = await server().call('POST', '/byok', { body: { provider: 'groq', key: canary } })
      const base_url = `http://127.0.0.1:${vendor.port}/v1`
      expect((await put('groq', { base_url, api_key: 'of-the-operator' })).status).toBe(200)
      const send = () => {
        const body = {
          model: 'openai/gpt-oss-20b',
          provider: { only: ['groq'] },
          messages: [{ role: 'user', content: 'Hi' }],
        }
        return server().call('POST', '/chat/completions', { key: own.inferenceKey, body })
      }
      expect((await send()).status).toBe(200)
      expect(received).toEqual(['Bearer of-the-operator'])
      await server().call('PATCH', `/byok/${made.data.id}`, { body: { key: `${canary}-again` } })
      expect((await send()).status).toBe(200)
      expect(received.at(-1)).toBe(`Bearer ${canary}-again`)
      await vendor.stop(true)
    })

    test('S12 they are shown masked, at the address they are for', async () => {
      const { body } = await server().call('GET', '/catalogue/providers/azure')
      expect(body.data.in_force).toMatchObject({
        base_url: 'https://ours.openai.azure.com/openai/v1',
        api_key: 'can********789',
      })
      expect(JSON.stringify((await server().call('GET', '/catalogue/providers')).body)).not.toContain(
        '5ecret',
      )
    })

    test.each([
      ['credentials', [{ api_key: 'k', resource_name: 'theirs' }]],
      ['settings', { resource: 'theirs' }],
      ['like', 'openai'],
      ['token_url', 'https://elsewhere.example/token'],
    ])('S6 %s is for headgate.yaml alone', async (field, value) => {
      const { status, body } = await put('azure', { [field]: value })
      expect([status, body.error.message]).toEqual([400, expect.stringContaining(field)])
    })
  },
  { settings },
)
