import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'

const settings = `
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9001/v1", dialects: [video] }
models:
  - id: acme/film-1
    name: Acme Film
    output_modalities: [video]
    endpoints: [{ provider: local, upstream_model: film }]
`

describeOnEachDatabase(
  'Video models',
  (server) => {
    const list = async () => (await server().call('GET', '/videos/models')).body.data as { id: string }[]

    test('GET /videos/models lists the parameters and prices of a model', async () => {
      expect((await list()).find((model) => model.id === 'sandbox/filmmaker')).toMatchObject({
        canonical_slug: 'sandbox/filmmaker',
        supported_durations: [4, 8],
        supported_frame_images: [],
        generate_audio: true,
        creativity: null,
        pricing_skus: { per_second_720p: '0.05', per_second_1080p: '0.1' },
      } as never)
    })

    test('GET /videos/models: what a model does not declare is null', async () => {
      expect((await list()).find((model) => model.id === 'acme/film-1')).toMatchObject({
        supported_aspect_ratios: null,
        supported_sizes: null,
        upscale_factor: null,
        pricing_skus: null,
        allowed_passthrough_parameters: [],
      } as never)
    })

    test('GET /videos/models has no other models, and needs a key', async () => {
      expect((await list()).map((model) => model.id)).not.toContain('sandbox/painter')
      expect((await server().call('GET', '/videos/models', { key: null })).status).toBe(401)
    })
  },
  { settings },
)
