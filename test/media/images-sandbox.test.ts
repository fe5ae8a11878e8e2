import { describe, expect, test } from 'bun:test'
import { readBase64Image } from '../../src/lib/base64-image.ts'
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
  })
})
