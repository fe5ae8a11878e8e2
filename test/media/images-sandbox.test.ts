import { describe, expect, test } from 'bun:test'
import { readBase64Image } from '../../src/platform/media/base64-image.ts'
import { describeOnEachDatabase } from '../support/harness.ts'

describeOnEachDatabase('images of the sandbox', (server) => {
  const post = (body: object, headers = {}) =>
    server().call('POST', '/images', {
      key: server().own.inferenceKey,
      body: { model: 'sandbox/painter', prompt: 'A red kite', ...body },
      headers,
    })

  describe('POST /images', () => {
    test('makes pictures of the requested size, priced by their number and size (R9)', async () => {
      const { status, body } = await post({ n: 2, resolution: '2K', aspect_ratio: '16:9' })
      expect(status).toBe(200)
      expect(body.data).toHaveLength(2)
      for (const image of body.data) {
        expect(image.media_type).toBe('image/png')
        expect(readBase64Image(image.b64_json)?.size).toEqual({ width: 2736, height: 1536 })
      }
      expect(body.data[0].b64_json).not.toBe(body.data[1].b64_json)
      // Two pictures of 2K, and three tokens of text.
      expect(body.usage).toMatchObject({
        prompt_tokens: 3,
        completion_tokens: 512,
        cost: 0.080003,
        input_tokens: 3,
        output_tokens: 512,
      })
    })

    test.each([
      ['png', 'transparent'],
      ['jpeg', 'opaque'],
      ['webp', 'transparent'],
    ])('draws a %s with a background that is %s', async (output_format, background) => {
      const { status, body } = await post({ output_format, background, output_compression: 60, seed: 7 })
      expect([status, body.data?.[0]?.media_type]).toEqual([200, `image/${output_format}`])
      const again = await post({ output_format, background, output_compression: 60, seed: 7 })
      expect(again.body.data[0].b64_json === body.data[0].b64_json).toBe(true)
    })

    test.each([
      ['sandbox:error=429', 429],
      ['sandbox:error=500', 502],
      ['sandbox:empty', 502],
      ['sandbox:refuse', 400],
    ])('%s is %i and free', async (directive, status) => {
      const before = await server().call('GET', '/key', { key: server().own.inferenceKey })
      const response = await post({ prompt: `${directive} A red kite` })
      expect(response.status).toBe(status)
      const after = await server().call('GET', '/key', { key: server().own.inferenceKey })
      expect(after.body.data.usage).toBe(before.body.data.usage)
    })

    test('the generation has its kind and cost', async () => {
      const { headers } = await post({})
      const id = headers.get('x-generation-id')
      const { body } = await server().call('GET', `/generation?id=${id}`)
      expect(body.data).toMatchObject({ api_type: 'image', total_cost: 0.020003 })
    })
  })
})
