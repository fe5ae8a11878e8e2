import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'

const settings = `
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9001/v1", dialects: [images] }
models:
  - id: acme/painter-1
    name: Acme Painter
    created: 2026-01-01
    output_modalities: [image]
    image:
      supported_parameters:
        n: { type: range, min: 1, max: 4 }
        seed: { type: boolean }
      allowed_passthrough_parameters: [style_preset]
      pricing:
        - { billable: output_image, unit: image, cost_usd: "0.04" }
    endpoints:
      - { provider: local, upstream_model: painter }
      - provider: local
        variant: turbo
        upstream_model: painter-turbo
        image:
          supports_streaming: true
          supported_parameters:
            n: { type: range, min: 1, max: 1 }
            quality: { type: enum, values: [low, high] }
          pricing:
            - { billable: output_image, unit: megapixel, cost_usd: "0.0301", variant: high }
  - id: acme/bare-1
    name: Acme Bare
    output_modalities: [image, text]
    endpoints: [{ provider: local, upstream_model: bare }]
`

describeOnEachDatabase(
  'Images',
  (server) => {
    const get = async (path: string) => (await server().call('GET', path)).body

    describe('E8 GET /images/models/{author}/{slug}/endpoints', () => {
      test('E8 every endpoint has its parameters and prices', async () => {
        expect(await get('/images/models/acme/painter-1/endpoints')).toEqual({
          id: 'acme/painter-1',
          endpoints: [
            {
              provider_name: 'Local',
              provider_slug: 'local',
              provider_tag: 'local',
              supported_parameters: { n: { type: 'range', min: 1, max: 4 }, seed: { type: 'boolean' } },
              allowed_passthrough_parameters: ['style_preset'],
              supports_streaming: false,
              pricing: [{ billable: 'output_image', unit: 'image', cost_usd: 0.04 }],
            },
            {
              provider_name: 'Local',
              provider_slug: 'local',
              provider_tag: 'local/turbo',
              supported_parameters: {
                n: { type: 'range', min: 1, max: 1 },
                quality: { type: 'enum', values: ['low', 'high'] },
              },
              allowed_passthrough_parameters: [],
              supports_streaming: true,
              pricing: [{ billable: 'output_image', unit: 'megapixel', cost_usd: 0.0301, variant: 'high' }],
            },
          ],
        })
      })

      test('E8 the three kinds of capability: boolean, enum with values, range with inclusive bounds', async () => {
        const { endpoints } = await get('/images/models/sandbox/painter/endpoints')
        expect(endpoints[0].supported_parameters).toMatchObject({
          seed: { type: 'boolean' },
          output_format: { type: 'enum', values: ['png', 'jpeg', 'webp'] },
          output_compression: { type: 'range', min: 0, max: 100 },
        })
        expect(endpoints[0]).toMatchObject({ provider_slug: 'sandbox', supports_streaming: true })
      })

      test('E8 a price has a variant only where there is more than one', async () => {
        const { endpoints } = await get('/images/models/sandbox/painter/endpoints')
        expect(endpoints[0].pricing).toContainEqual({
          billable: 'output_image',
          unit: 'image',
          cost_usd: 0.02,
          variant: '1K',
        })
        expect(endpoints[0].pricing).toContainEqual({
          billable: 'input_reference',
          unit: 'image',
          cost_usd: 0.005,
        })
      })

      test('E8 an image model that declares nothing has empty capabilities, not missing ones', async () => {
        const { endpoints } = await get('/images/models/acme/bare-1/endpoints')
        expect(endpoints[0]).toMatchObject({
          supported_parameters: {},
          allowed_passthrough_parameters: [],
          supports_streaming: false,
          pricing: [],
        })
      })

      test('E8 the id is the model slug, and aliases and variants resolve to it', async () => {
        expect((await get('/images/models/acme/painter-1:nitro/endpoints')).id).toBe('acme/painter-1')
        expect((await get('/images/models/~acme/painter-latest/endpoints')).id).toBe('~acme/painter-latest')
      })

      test('E8 404 for a model that does not exist, and for one that generates no images', async () => {
        for (const slug of ['acme/nothing', 'sandbox/echo', 'openai/gpt-4o', 'sandbox/filmmaker']) {
          expect((await server().call('GET', `/images/models/${slug}/endpoints`)).status).toBe(404)
        }
      })

      test('E8 requires a key of any kind', async () => {
        const path = '/images/models/acme/painter-1/endpoints'
        expect((await server().call('GET', path, { key: null })).status).toBe(401)
        expect((await server().call('GET', path, { key: server().own.inferenceKey })).status).toBe(200)
      })
    })

    describe('GET /images/models', () => {
      test('lists every model that generates images, with the path of its endpoints (E8)', async () => {
        const { data } = await get('/images/models?include_unavailable=true')
        const ids = data.map((model: { id: string }) => model.id)
        expect(ids).toEqual(
          expect.arrayContaining(['acme/painter-1', 'acme/bare-1', 'sandbox/painter', 'openai/gpt-image-1']),
        )
        expect(ids).not.toContain('openai/gpt-4o')
        for (const model of data) {
          const response = await get(model.endpoints.replace('/api/v1', ''))
          expect(response.id).toBe(model.id)
          expect(response.endpoints.length).toBeGreaterThan(0)
        }
      })

      test('a model has the capabilities of all its endpoints; the first one’s values win', async () => {
        const { data } = await get('/images/models')
        expect(data.find((model: { id: string }) => model.id === 'acme/painter-1')).toMatchObject({
          created: Date.parse('2026-01-01') / 1000,
          supports_streaming: true,
          supported_parameters: {
            n: { type: 'range', min: 1, max: 4 },
            seed: { type: 'boolean' },
            quality: { type: 'enum' },
          },
        })
      })
    })
  },
  { settings },
)
