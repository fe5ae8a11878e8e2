import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import snapshot from '../../src/catalog/snapshot.json'
import { type Bench, openBench } from '../inference/two-upstreams.ts'

const providers = ['openai', 'google-ai-studio', 'xai']

const buildSettings = (url: string) =>
  JSON.stringify({
    providers: providers.map((slug) => ({ slug, base_url: url, api_key: 'vendor-secret-0123456789' })),
  })

interface SnapshotModel {
  id: string
  input_modalities?: string[]
  output_modalities?: string[]
  endpoints: { provider: string }[]
}

/** The models of the snapshot that take images and generate them, at a provider that needs no more than a key. */
const models = (snapshot.models as SnapshotModel[]).filter(
  ({ input_modalities = [], output_modalities = [], endpoints }) =>
    input_modalities.includes('image') &&
    output_modalities.includes('image') &&
    endpoints.some(({ provider }) => providers.includes(provider)),
)

const image = { mimeType: 'image/png', data: greyPixelPng }
const generated = { candidates: [{ content: { parts: [{ inlineData: image }] }, finishReason: 'STOP' }] }

describe('an edit of an image', () => {
  let bench: Bench
  beforeAll(async () => {
    bench = await openBench('sqlite', buildSettings)
  })
  afterAll(async () => {
    await bench.server.stop()
    await Promise.all([bench.first.stop(), bench.second.stop()])
  })

  test('every model of the snapshot that takes images is in the table', () => {
    expect(models.length).toBeGreaterThan(15)
    const sellers = new Set(models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)))
    expect([...sellers].sort()).toEqual(['azure', 'google-ai-studio', 'google-vertex', 'openai', 'xai'])
  })

  test.each(models.map(({ id }) => id))('with %s sends the image to its provider', async (model) => {
    const { first, server } = bench
    first.enqueueFor('/images/edits', { json: { data: [{ b64_json: greyPixelPng }] } })
    first.enqueueFor(':generateContent', { json: generated })
    const form = new FormData()
    form.append('model', model)
    form.append('prompt', 'Bluer')
    form.append('image', new File([Buffer.from(greyPixelPng, 'base64')], 'kite.png', { type: 'image/png' }))
    const count = first.requests.length
    const { status, body } = await server.call('POST', '/images/edits', {
      key: server.own.inferenceKey,
      body: form,
    })
    expect([status, body.error?.message]).toEqual([200, undefined])
    expect(body.data).toHaveLength(1)
    const { path, text, headers } = first.requests[count] ?? {}
    if (path?.endsWith('/images/edits') && headers?.['content-type']?.startsWith('multipart/form-data'))
      expect(text).toContain('name="image"; filename="image-1.png"')
    else expect(text).toContain(greyPixelPng)
  })

  test('R12 a second mask is 400: only one can be applied', async () => {
    const file = () => new File([Buffer.from(greyPixelPng, 'base64')], 'a.png', { type: 'image/png' })
    const form = new FormData()
    form.append('model', 'openai/gpt-image-1')
    form.append('prompt', 'Bluer')
    for (const name of ['image', 'mask', 'mask']) form.append(name, file())
    const { server } = bench
    const { status, body } = await server.call('POST', '/images/edits', {
      key: server.own.inferenceKey,
      body: form,
    })
    expect([status, body.error?.message]).toEqual([400, 'mask: must be sent once'])
  })
})
