import { beforeEach, describe, expect, test } from 'bun:test'
import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import {
  clearGenerations,
  describeWithUpstreamsOnSqlite,
  listGenerations,
  waitForGenerations,
} from '../inference/two-upstreams.ts'

/** A PNG of any size by its header; its pixels do not matter here. */
function png(width: number, height: number): string {
  const bytes = Buffer.from(greyPixelPng, 'base64')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes.toString('base64')
}

const square = png(1024, 1024)
const usage = {
  input_tokens: 50,
  input_tokens_details: { image_tokens: 40, text_tokens: 10 },
  output_tokens: 1056,
  total_tokens: 1106,
}
const reply = {
  json: { created: 1, data: [{ b64_json: square }], usage, quality: 'high', size: '1024x1024' },
}
/** 10 tokens of text, 40 and 1056 of images. */
const cost = 0.04269

const buildSettings = (first: string, second: string) => `
egress: { allow_private: ["${first.replace('http://', '')}"] }
providers:
  - { slug: one, name: One, base_url: "${first}", dialects: [images], api_key: vendor-secret-0123456789 }
  - { slug: two, name: Two, base_url: "${second}", dialects: [images], api_key: vendor-secret-0123456789 }
models:
  - id: test/image
    name: Image
    output_modalities: [image]
    input_modalities: [text, image]
    image: &image
      supported_parameters:
        n: { type: range, min: 1, max: 4 }
        size: { type: enum, values: [1024x1024, 1536x1024] }
        quality: { type: enum, values: [low, high] }
        output_format: { type: enum, values: [png, jpeg] }
        input_references: { type: range, min: 0, max: 2 }
      allowed_passthrough_parameters: [style_preset]
      supports_streaming: true
      pricing:
        - { billable: output_image, unit: token, cost_usd: "0.00004" }
        - { billable: input_image, unit: token, cost_usd: "0.00001" }
        - { billable: input_text, unit: token, cost_usd: "0.000005" }
    endpoints: [{ provider: one, upstream_model: vendor-image }]
  - id: test/both
    name: Both
    output_modalities: [image]
    image: *image
    endpoints:
      - { provider: one, upstream_model: vendor-image }
      - { provider: two, upstream_model: vendor-image }
  - id: test/sized
    name: Sized
    output_modalities: [image]
    image:
      supported_parameters:
        quality: { type: enum, values: [low, high] }
        size: { type: enum, values: [1024x1024] }
      pricing:
        - { billable: output_image, unit: image, cost_usd: "0.01", variant: low 1024x1024 }
        - { billable: output_image, unit: image, cost_usd: "0.04", variant: 1K }
        - { billable: output_image, unit: image, cost_usd: "0.09", variant: high }
    endpoints: [{ provider: one, upstream_model: vendor-image }]
  - id: test/area
    name: Area
    output_modalities: [image]
    image:
      pricing:
        - { billable: output_image, unit: megapixel, cost_usd: "0.03" }
        - { billable: output_image, unit: request, cost_usd: "0.001" }
        - { billable: input_reference, unit: image, cost_usd: "0.002" }
    endpoints: [{ provider: one, upstream_model: vendor-image }]
  - id: test/text
    name: Text
    endpoints: [{ provider: one, upstream_model: vendor-text, dialects: [images] }]
`

describeWithUpstreamsOnSqlite(
  'images',
  (bench) => {
    const { server, first, second } = {
      server: () => bench().server,
      first: () => bench().first,
      second: () => bench().second,
    }
    const post = (body: object, options: { key?: string; headers?: Record<string, string> } = {}) =>
      server().call('POST', '/images/generations', {
        key: server().own.inferenceKey,
        body: { model: 'test/image', prompt: 'A red kite', ...body },
        ...options,
      })
    const stream = async (body: object, path = '/images', init: RequestInit = {}) => {
      const response = await fetch(`${server().url}/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server().own.inferenceKey}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model: 'test/image', prompt: 'A red kite', stream: true, ...body }),
        ...init,
      })
      return response
    }
    beforeEach(() => clearGenerations(bench()))

    describe('requests', () => {
      test('a generation is JSON with what was requested, and nothing else', async () => {
        first().enqueue(reply)
        const { status, body } = await post({
          size: '1536x1024',
          quality: 'high',
          output_format: 'jpeg',
          background: 'auto',
          user: 'kate',
          session_id: 's1',
          moderation: 'low',
          response_format: 'b64_json',
        })
        expect(status).toBe(200)
        expect(first().requests[0]?.path).toBe('/images/generations')
        expect(first().requests[0]?.json).toEqual({
          model: 'vendor-image',
          prompt: 'A red kite',
          size: '1536x1024',
          quality: 'high',
          output_format: 'jpeg',
          user: 'kate',
          moderation: 'low',
        })
        expect(body).toMatchObject({
          data: [{ b64_json: square, media_type: 'image/png' }],
          output_format: 'png',
          size: '1024x1024',
          model: 'test/image',
          provider: 'One',
          usage: { ...usage, prompt_tokens: 50, completion_tokens: 1056, cost, is_byok: false },
        })
      })

      test('an aspect ratio is sent as the size that the endpoint supports', async () => {
        first().enqueue(reply)
        expect((await post({ aspect_ratio: '3:2' })).status).toBe(200)
        expect(first().requests[0]?.json).toMatchObject({ size: '1536x1024' })
        expect(first().requests[0]?.json).not.toHaveProperty('aspect_ratio')
      })

      test('references are sent as a form, downloaded first if they are URLs', async () => {
        first().enqueueFor('/kite.png', { text: '', headers: {} })
        first().enqueueFor('/edits', reply)
        const data = { type: 'image_url', image_url: { url: `data:image/png;base64,${square}` } }
        const empty = await post({
          input_references: [data, { type: 'image_url', image_url: { url: `${first().url}/kite.png` } }],
        })
        expect(empty.status).toBe(400)
        expect(empty.body.error.message).toStartWith('input_references.1: is not an image')
        const { status } = await post({ input_references: [data] })
        expect(status).toBe(200)
        const sent = first().requests.at(-1)
        expect(sent?.path).toBe('/images/edits')
        expect(sent?.headers['content-type']).toStartWith('multipart/form-data; boundary=')
        expect(sent?.text).toContain('name="image"; filename="image-1.png"')
        expect(sent?.text).toContain('name="prompt"\r\n\r\nA red kite')
      })

      test('S5 a reference at a private address is rejected, and the request is not sent', async () => {
        const url = 'https://127.0.0.1:9/kite.png'
        const { status, body } = await post({ input_references: [{ type: 'image_url', image_url: { url } }] })
        expect([status, body.error.param]).toEqual([400, 'input_references.0'])
        expect(first().requests).toEqual([])
      })

      test('a form with several images and a mask is passed on as one', async () => {
        first().enqueue(reply)
        const form = new FormData()
        const file = (name: string) => new File([Buffer.from(square, 'base64')], name, { type: 'image/png' })
        form.append('image[]', file('a.png'))
        form.append('image[]', file('b.png'))
        form.append('mask', file('mask.png'))
        for (const [name, value] of Object.entries({
          model: 'test/image',
          prompt: 'Bluer',
          n: '1',
          quality: 'low',
        }))
          form.append(name, value)
        form.append('input_fidelity', 'high')
        const { status, body } = await server().call('POST', '/images/edits', {
          key: server().own.inferenceKey,
          body: form,
        })
        expect([status, body.usage?.cost]).toEqual([200, cost])
        const text = first().requests[0]?.text ?? ''
        expect(text.match(/name="image\[\]"/g)).toHaveLength(2)
        expect(text).toContain('name="mask"; filename="mask.png"')
        expect(text).toContain('name="input_fidelity"\r\n\r\nhigh')
      })

      test('max_price.image is that of the most expensive image', async () => {
        const request = { model: 'test/sized', quality: 'high' }
        const send = (image: number) => post({ ...request, provider: { max_price: { image } } })
        expect((await send(0.08)).status).toBe(503)
        first().enqueue(reply)
        expect((await send(0.09)).status).toBe(200)
      })

      test('options for the provider are forwarded if the endpoint allows them, and others are named', async () => {
        first().enqueue(reply)
        const options = { one: { style_preset: 'anime', steps: 4 }, two: { style_preset: 'other' } }
        const { headers } = await post({ provider: { options }, color: 'red', trace: { trace_id: 't' } })
        expect(first().requests[0]?.json).toMatchObject({ style_preset: 'anime' })
        expect(first().requests[0]?.json).not.toHaveProperty('steps')
        expect(headers.get('x-headgate-dropped')).toBe('color, provider.options.one.steps')
        const strict = await post({ color: 'red' }, { headers: { 'x-headgate-strict': 'true' } })
        expect(strict.status).toBe(400)
      })
    })

    describe('bad input', () => {
      test.each([
        [{ n: 5 }, 'n: must be from 1 to 4 for this model'],
        [{ n: 11 }, 'n:'],
        [{ quality: 'medium' }, 'quality: must be one of low, high for this model'],
        [{ seed: 1 }, 'seed: is not supported by this model, which supports n, size, quality'],
        [{ size: '2048x2048' }, 'size: must be one of 1024x1024, 1536x1024 for this model'],
        [{ aspect_ratio: '9:16' }, 'aspect_ratio: is not supported by this model; send size, one of'],
        [
          { size: '1024x1024', aspect_ratio: '3:2' },
          'size: is 1024x1024, which is not an aspect_ratio of 3:2',
        ],
        [{ size: '1024x1024', resolution: '2K' }, 'size: is 1024x1024, which is not a resolution of 2K'],
        [{ size: '1K', resolution: '2K' }, 'size: is 1K, but resolution is 2K'],
        [{ background: 'transparent', output_format: 'jpeg' }, 'background: can be transparent only'],
        [{ response_format: 'url' }, 'response_format: must be b64_json'],
        [{ prompt: '' }, 'prompt:'],
        [
          { input_references: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } }] },
          'input_references.0.image_url.url: must be an image',
        ],
        [
          {
            input_references: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${square}*` } }],
          },
          'input_references.0: is not valid base64',
        ],
        [{ provider: { zdrr: true } }, 'provider'],
      ])('400 for %j', async (change, message) => {
        const { status, body } = await post(change)
        expect([status, body.error.message.slice(0, message.length)]).toEqual([400, message])
        expect(first().requests).toEqual([])
      })

      test('400 for an unknown model, and for one that generates no images', async () => {
        expect((await post({ model: 'test/nothing' })).status).toBe(400)
        for (const model of ['test/text', 'sandbox/echo', 'sandbox/filmmaker']) {
          const { status, body } = await post({ model })
          expect([status, body.error.message]).toEqual([400, expect.stringContaining('not image')])
        }
      })
    })

    describe('money', () => {
      test.each([
        ['the exact variant', 'test/sized', { quality: 'low' }, [square], 0.01],
        ['the tier of the size', 'test/sized', { quality: 'low' }, [png(1024, 1008)], 0.04],
        ['the quality alone', 'test/sized', { quality: 'high' }, [png(2048, 2048)], 0.09],
        ['the highest price if none applies', 'test/sized', {}, [png(2048, 2048)], 0.09],
        ['pixels, and the request', 'test/area', { n: 2 }, [square, png(512, 512)], 0.0403216],
      ])('R9 an image costs what its real size costs: %s', async (_, model, change, images, expected) => {
        first().enqueue({ json: { created: 1, data: images.map((b64_json) => ({ b64_json })) } })
        const { status, body } = await post({ model, ...change })
        expect([status, body.usage?.cost]).toEqual([200, expected])
        expect((await listGenerations(bench()))[0]?.cost_nanos).toBe(BigInt(Math.round(expected * 1e9)))
      })

      test('R3 402 without a request to the provider when the worst case does not fit the limit of the key', async () => {
        const made = await server().call('POST', '/keys', { body: { name: 'limited', limit: 0.05 } })
        const rejected = await post({ model: 'test/sized' }, { key: made.body.key })
        expect([rejected.status, rejected.body.error.metadata.needed]).toEqual([402, 0.09])
        expect(first().requests).toEqual([])
        first().enqueue({ json: { created: 1, data: [{ b64_json: square }] } })
        const fits = await post(
          { model: 'test/sized', quality: 'low', size: '1024x1024' },
          { key: made.body.key },
        )
        expect([fits.status, fits.body.usage?.cost]).toEqual([200, 0.01])
      })

      test('with a BYOK key the fee is charged', async () => {
        const made = await server().call('POST', '/byok', {
          body: { provider: 'one', key: 'own-key-0123456789' },
        })
        try {
          first().enqueue(reply)
          const { body } = await post({})
          expect(body.usage).toMatchObject({ is_byok: true, cost: 0.0021345 })
          expect(first().requests[0]?.headers.authorization).toBe('Bearer own-key-0123456789')
        } finally {
          await server().call('DELETE', `/byok/${made.body.data.id}`)
        }
      })
    })

    describe('providers that fail', () => {
      test.each([
        ['an error', { status: 500, json: { error: { message: 'no' } } }],
        ['no image', { json: { created: 1, data: [] } }],
        ['an empty image', { json: { created: 1, data: [{ b64_json: '' }] } }],
        ['what is no image', { json: { created: 1, data: [{ b64_json: 'aGVsbG8=' }] } }],
        [
          'what is not base64',
          { json: { created: 1, data: [{ b64_json: `${square.slice(0, 40)}"}],"x":"${square}` }] } },
        ],
        ['another format', { json: { hello: 1 } }],
        ['a URL that cannot be downloaded', { json: { data: [{ url: 'https://127.0.0.1:9/x.png' }] } }],
      ])('after %s the next provider is tried, and only its images are charged', async (_, failed) => {
        first().enqueue(failed)
        second().enqueue(reply)
        const { status, body } = await post({ model: 'test/both' })
        expect([status, body.provider, body.usage?.cost]).toEqual([200, 'Two', cost])
      })

      test('fewer images than requested are 502 and free', async () => {
        first().setDefault({ json: { created: 1, data: [{ b64_json: square }], usage } })
        const { status, body } = await post({ n: 2 })
        first().setDefault(null)
        expect([status, body.error.message]).toEqual([502, expect.stringContaining('1 of 2 images')])
        expect(await listGenerations(bench())).toMatchObject([{ status: 'failed', cost_nanos: 0n }])
      })

      test('R40 the error of a provider is mapped, without its key', async () => {
        first().enqueue({
          status: 400,
          json: {
            error: {
              message: 'Rejected by the safety system (vendor-secret-0123456789)',
              code: 'moderation_blocked',
            },
          },
        })
        const { status, body } = await post({})
        expect(status).toBe(400)
        expect(body.error.metadata.error_type).toBe('content_policy_violation')
        expect(JSON.stringify(body)).not.toContain('vendor-secret')
      })

      test('images at URLs are downloaded', async () => {
        const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'
        first().enqueueFor('/generations', {
          json: { data: [{ url: `${first().url}/i.svg`, revised_prompt: 'Red' }] },
        })
        first().enqueueFor('/i.svg', { text: svg })
        const { body } = await post({})
        expect(body.data).toEqual([
          {
            b64_json: Buffer.from(svg).toString('base64'),
            media_type: 'image/svg+xml',
            revised_prompt: 'Red',
          },
        ])
        expect(first().requests.at(-1)?.headers.authorization).toBeUndefined()
      })
    })

    describe('streams', () => {
      const frame = (data: object) => `data: ${JSON.stringify(data)}\n\n`
      const partial = frame({
        type: 'image_generation.partial_image',
        partial_image_index: 0,
        b64_json: square,
      })
      const completed = frame({ type: 'image_generation.completed', b64_json: square, usage })

      test('previews as they arrive, then the image with its cost, and the end', async () => {
        first().enqueue({ sse: [partial, completed] })
        const response = await stream({ partial_images: 1 })
        expect(response.headers.get('content-type')).toStartWith('text/event-stream')
        const events = (await response.text()).split('\n\n').filter(Boolean)
        expect(first().requests[0]?.json).toMatchObject({ stream: true, partial_images: 1 })
        expect(events).toHaveLength(3)
        const read = (text = '') => JSON.parse(text.slice(text.indexOf('data: ') + 6))
        expect(read(events[0])).toMatchObject({
          type: 'image_generation.partial_image',
          b64_json: square,
          partial_image_index: 0,
        })
        expect(read(events[1])).toMatchObject({
          type: 'image_generation.completed',
          b64_json: square,
          media_type: 'image/png',
          created: expect.any(Number),
          usage: { prompt_tokens: 50, cost },
        })
        expect(events[2]).toBe('data: [DONE]')
        expect(await listGenerations(bench())).toMatchObject([{ status: 'completed', streamed: 1 }])
      })

      test('an endpoint that does not stream sends one completed event', async () => {
        first().enqueue({ json: { created: 1, data: [{ b64_json: square }] } })
        const text = await (await stream({ model: 'test/sized' })).text()
        expect(first().requests[0]?.json).not.toHaveProperty('stream')
        expect(text.match(/^event: .*$/gm)).toEqual(['event: image_generation.completed'])
        expect(text).toEndWith('data: [DONE]\n\n')
      })

      test.each([
        ['is cut off', [partial]],
        ['fails', [partial, frame({ type: 'error', error: { message: 'no', code: 'server_error' } })]],
      ])('R33 a stream that %s ends with an error event, and is free', async (_, sse) => {
        first().enqueue({ sse })
        const text = await (await stream({})).text()
        const last = text.trimEnd().split('\n\n').at(-1) ?? ''
        expect(last).toStartWith('event: error\ndata: {"type":"error","error":{"code":"502"')
        expect(text).not.toContain('[DONE]')
        expect(await waitForGenerations(bench(), 1)).toMatchObject([{ status: 'failed', cost_nanos: 0n }])
      })

      test('R30 a failure before the first preview is not seen: the next provider is tried', async () => {
        first().enqueue({ sse: [frame({ type: 'error', error: { message: 'no', code: 'server_error' } })] })
        second().enqueue({ sse: [partial, completed] })
        const text = await (await stream({ model: 'test/both' })).text()
        expect(text).toContain('"provider":"Two"')
      })

      test('R4 a client that disconnects after a preview pays nothing', async () => {
        first().enqueue({ sse: [partial], hang: true })
        const controller = new AbortController()
        const response = await stream({}, '/images', { signal: controller.signal })
        await response.body?.getReader().read()
        controller.abort()
        expect(await waitForGenerations(bench(), 1)).toMatchObject([{ status: 'cancelled', cost_nanos: 0n }])
        expect((await first().requests[0]?.done)?.closedByPeerAt).toBeNumber()
      })
    })

    describe('records', () => {
      test('the generation has its kind, tokens and cost', async () => {
        first().enqueue(reply)
        const { headers } = await post({ session_id: 's1', user: 'kate' })
        const id = headers.get('x-generation-id')
        const { body } = await server().call('GET', `/generation?id=${id}`, {
          key: server().own.inferenceKey,
        })
        expect(body.data).toMatchObject({
          api_type: 'image',
          model: 'test/image',
          provider_name: 'One',
          total_cost: cost,
          native_tokens_prompt: 50,
          native_tokens_completion: 1056,
          native_tokens_completion_images: 1056,
          streamed: false,
          session_id: 's1',
          external_user: 'kate',
        })
      })

      test('the routing metadata is part of the reply if it is requested', async () => {
        first().enqueue(reply)
        const { body } = await post({}, { headers: { 'x-service-metadata': 'enabled' } })
        expect(body.service_metadata).toMatchObject({ requested: 'test/image' })
      })

      test('403 for a model that a guardrail does not allow', async () => {
        const made = await server().call('POST', '/guardrails', {
          body: { name: 'no images', allowed_models: ['sandbox/echo'] },
        })
        const key = await server().call('POST', '/keys', { body: { name: 'guarded' } })
        await server().call('POST', `/guardrails/${made.body.data.id}/assignments/keys`, {
          body: { key_hashes: [key.body.data.hash] },
        })
        expect((await post({}, { key: key.body.key })).status).toBe(403)
        expect(first().requests).toEqual([])
      })
    })
  },
  buildSettings,
)
