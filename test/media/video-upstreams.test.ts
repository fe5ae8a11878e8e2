import { beforeEach, describe, expect, test } from 'bun:test'
import { checkLedger } from '../../src/ledger/check.ts'
import { type Bench, describeWithUpstreams } from '../inference/two-upstreams.ts'
import { requestHolds } from '../support/holds.ts'
import type { Upstream } from '../support/upstream.ts'
import { createVideo, runToEnd } from './video-jobs.ts'

/** The head of an MP4 file. */
const mp4 = '\0\0\0\u0010ftypisom\0\0\0\0'
const png = 'data:image/png;base64,iVBORw0KGgo='

function buildSettings(first: string, second: string): string {
  const skus = 'pricing_skus: { per_second_720p: "0.1", per_second_1080p: "0.3" }'
  const sizes =
    'supported_durations: [4, 8], supported_resolutions: [720p, 1080p], supported_aspect_ratios: ["16:9", "9:16"]'
  const model = (id: string, endpoints: string[], extra = '') => `
  - id: test/${id}
    name: ${id}
    output_modalities: [video]
    video: { ${sizes}, ${skus}${extra} }
    endpoints: [${endpoints.map((slug) => `{ provider: ${slug}, upstream_model: film-1 }`).join(', ')}]`
  return `
egress: { allow_private: ["${new URL(second).host}"] }
providers:
  - { slug: one, name: One, base_url: "${first}/v1", dialects: [video], api_key: vendor-secret }
  - { slug: two, name: Two, base_url: "${second}/v1", dialects: [video], api_key: second-secret }
  - { slug: veo, name: Veo, base_url: "${first}/v1beta", dialects: [gemini-video], api_key: vendor-secret }
  - { slug: jobs, name: Jobs, like: xai, base_url: "${first}/v1", api_key: vendor-secret }
models:${model('one', ['one'], ', seed: true')}${model('both', ['one', 'two'])}${model('veo', ['veo'])}${model('jobs', ['jobs'])}
`
}

describeWithUpstreams(
  'video jobs at providers',
  (bench) => {
    const server = () => bench().server
    beforeEach(() => {
      server().clock.release()
      for (const upstream of [bench().first, bench().second]) {
        upstream.requests.length = 0
        upstream.setDefault(null)
      }
    })
    const holds = () => requestHolds(server().gateway.db).selectAll().execute()
    const isSound = async () => (await checkLedger(server().gateway.db)).sound
    const calls = ({ requests }: Upstream) => requests.map(({ method, path }) => `${method} ${path}`)

    test('R39 the videos API of OpenAI: submit, poll, download, charge', async () => {
      const { first } = bench()
      first.enqueue(
        { json: { id: 'v-1', object: 'video', status: 'queued', progress: 0 } },
        { json: { id: 'v-1', status: 'in_progress', progress: 40, seconds: '8' } },
        { json: { id: 'v-1', status: 'completed', progress: 100, seconds: '8' } },
        { text: mp4, headers: { 'content-type': 'video/mp4' } },
      )
      const created = await createVideo(server(), {
        model: 'test/one',
        duration: 8,
        size: '1920x1080',
        seed: 7,
        frame_images: [{ type: 'image_url', image_url: { url: png }, frame_type: 'first_frame' }],
      })
      expect(created.headers.get('x-headgate-dropped')).toBe('seed')
      const ended = await runToEnd(server(), created.body.id)
      expect(ended).toMatchObject({ status: 'completed', usage: { cost: 2.4, is_byok: false } })
      expect(calls(first)).toEqual([
        'POST /v1/videos',
        'GET /v1/videos/v-1',
        'GET /v1/videos/v-1',
        'GET /v1/videos/v-1/content',
      ])
      expect(first.requests[0]?.json).toEqual({
        model: 'film-1',
        prompt: 'A fox',
        seconds: '8',
        size: '1920x1080',
        input_reference: { image_url: png },
      })
      for (const { headers } of first.requests) expect(headers.authorization).toBe('Bearer vendor-secret')
      expect([await holds(), await isSound()]).toEqual([[], true])
    })

    test('Google: an operation, and a file on its server, which redirects elsewhere without the key', async () => {
      const { first, second } = bench()
      const name = 'models/film-1/operations/op1'
      const uri = `${first.url}/v1beta/files/f1:download?alt=media`
      const response = { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } }
      first.enqueue(
        { json: { name } },
        { json: { name, metadata: {} } },
        { json: { name, done: true, response } },
        { status: 302, headers: { location: `${second.url}/store/f1` } },
      )
      second.enqueue({ text: mp4 })
      const created = await createVideo(server(), {
        model: 'test/veo',
        resolution: '1080p',
        aspect_ratio: '9:16',
        input_references: [{ type: 'image_url', image_url: { url: png } }],
      })
      const ended = await runToEnd(server(), created.body.id)
      expect(ended).toMatchObject({ status: 'completed', usage: { cost: 1.2 } })
      expect(first.requests[0]).toMatchObject({
        path: '/v1beta/models/film-1:predictLongRunning',
        json: {
          instances: [
            {
              prompt: 'A fox',
              referenceImages: [
                {
                  image: { bytesBase64Encoded: 'iVBORw0KGgo=', mimeType: 'image/png' },
                  referenceType: 'asset',
                },
              ],
            },
          ],
          parameters: { aspectRatio: '9:16', resolution: '1080p', durationSeconds: 4 },
        },
      })
      expect(calls(first).slice(1)).toEqual([
        `GET /v1beta/${name}`,
        `GET /v1beta/${name}`,
        'GET /v1beta/files/f1:download',
      ])
      expect(first.requests.at(-1)).toMatchObject({
        query: 'alt=media',
        headers: { 'x-goog-api-key': 'vendor-secret' },
      })
      expect(JSON.stringify(second.requests[0]?.headers)).not.toContain('vendor-secret')
    })

    test('Google: images must be data URLs, and a filtered video has failed', async () => {
      const { first } = bench()
      const frame = {
        type: 'image_url',
        image_url: { url: 'https://example.com/a.png' },
        frame_type: 'first_frame',
      }
      const rejected = await createVideo(server(), { model: 'test/veo', frame_images: [frame] })
      expect(rejected.body.error.message).toStartWith('frame_images: must be images as data URLs')
      const name = 'models/film-1/operations/op2'
      const filtered = { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['A person is shown.'] }
      first.enqueue(
        { json: { name } },
        { json: { name, done: true, response: { generateVideoResponse: filtered } } },
      )
      const created = await createVideo(server(), { model: 'test/veo' })
      const ended = await runToEnd(server(), created.body.id)
      expect(ended).toMatchObject({ status: 'failed', error: 'A person is shown.' })
      expect(await holds()).toEqual([])
    })

    test('a provider that declares its names: submit, poll, and download from another server', async () => {
      const { first, second } = bench()
      const url = `${second.url}/films/1.mp4`
      first.enqueue(
        { json: { request_id: 'r-1' } },
        { json: { status: 'pending' } },
        { json: { status: 'done', video: { url, duration: 6 }, model: 'film-1' } },
      )
      second.enqueue({ text: mp4 })
      const created = await createVideo(server(), { model: 'test/jobs', duration: 8, resolution: '720p' })
      expect(created.headers.get('x-headgate-dropped')).toBeNull()
      const ended = await runToEnd(server(), created.body.id)
      // The provider made less than was requested.
      expect(ended).toMatchObject({ status: 'completed', usage: { cost: 0.6 } })
      expect(calls(first)).toEqual([
        'POST /v1/videos/generations',
        'GET /v1/videos/r-1',
        'GET /v1/videos/r-1',
      ])
      expect(first.requests[0]?.json).toEqual({
        model: 'film-1',
        prompt: 'A fox',
        duration: 8,
        resolution: '720p',
        aspect_ratio: '16:9',
      })
      expect(second.requests[0]?.headers).not.toHaveProperty('authorization')
      first.enqueue(
        { json: { request_id: 'r-2' } },
        { json: { status: 'failed', error: { message: 'Not today.' } } },
      )
      const failed = await runToEnd(server(), (await createVideo(server(), { model: 'test/jobs' })).body.id)
      expect(failed).toMatchObject({ status: 'failed', error: 'Not today.' })
    })

    test('previous_job_id is sent to the endpoint that made the video', async () => {
      const { first, second } = bench()
      first.enqueue(
        { json: { request_id: 'r-1' } },
        { json: { status: 'done', video: { url: `${second.url}/1.mp4` } } },
      )
      second.enqueue({ text: mp4 })
      const previous = await runToEnd(server(), (await createVideo(server(), { model: 'test/jobs' })).body.id)
      first.enqueue({ json: { request_id: 'r-2' } }, { json: { status: 'expired' } })
      const next = await createVideo(server(), { model: 'test/jobs', previous_job_id: previous.id })
      expect(first.requests.at(-1)).toMatchObject({
        path: '/v1/videos/edits',
        json: { video: { url: `${second.url}/1.mp4` } },
      })
      expect((await runToEnd(server(), next.body.id)).status).toBe('expired')
      const other = await createVideo(server(), { model: 'test/one', previous_job_id: previous.id })
      expect(other.body.error.message).toStartWith('previous_job_id: must be a job of the requested model')
    })

    describe('a submission', () => {
      test('fails over when a provider rejects it, and records both', async () => {
        const { first, second } = bench()
        first.enqueue({ status: 503, json: { error: { message: 'busy' } } })
        second.enqueue({ json: { id: 'v-2' } }, { json: { id: 'v-2', status: 'completed' } }, { text: mp4 })
        const created = await createVideo(server(), { model: 'test/both' })
        expect(created.status).toBe(202)
        const ended = await runToEnd(server(), created.body.id)
        const { data } = (await server().call('GET', `/generation?id=${ended.generation_id}`)).body
        expect(data.provider_name).toBe('Two')
        expect(data.provider_responses.map(({ status }: { status: number }) => status)).toEqual([503, 200])
      })

      test('I2 is not sent elsewhere when a provider may have accepted it; nothing is charged', async () => {
        const { first, second } = bench()
        first.enqueue({ breakBeforeHead: true })
        const created = await createVideo(server(), { model: 'test/both' })
        expect([created.status, created.body.error.message]).toEqual([
          502,
          expect.stringContaining('did not confirm'),
        ])
        expect([calls(first), calls(second)]).toEqual([['POST /v1/videos'], []])
        expect([await holds(), await isSound()]).toEqual([[], true])
      })

      test('I2 is not sent elsewhere when the reply of a provider has no id', async () => {
        const { first, second } = bench()
        first.enqueue({ json: { object: 'video' } })
        expect((await createVideo(server(), { model: 'test/both' })).status).toBe(502)
        expect(calls(second)).toEqual([])
      })

      test.each([
        [400, { error: { message: 'No foxes.', type: 'invalid_request_error' } }, 400, 'No foxes.'],
        [401, { error: { message: 'Incorrect key vendor-secret' } }, 502, 'The provider failed.'],
      ])('an error of the provider with status %d', async (status, json, expected, message) => {
        bench().first.enqueue({ status, json })
        const failed = await createVideo(server(), { model: 'test/one' })
        expect([failed.status, failed.body.error.message]).toEqual([expected, message])
        expect(JSON.stringify(failed.body)).not.toContain('vendor-secret')
        expect([await holds(), await isSound()]).toEqual([[], true])
      })

      test('R39 that fails while the ledger is unavailable keeps its job, which is ended later', async () => {
        bench().first.enqueue({ status: 400, json: { error: { message: 'No foxes.' } } })
        const ledger = server().gateway.ledger as { settle: unknown }
        ledger.settle = () => Promise.reject(new Error('unavailable'))
        expect((await createVideo(server(), { model: 'test/one' })).status).toBe(400)
        Reflect.deleteProperty(ledger, 'settle')
        expect(await holds()).toHaveLength(1)
        const [job] = (await server().call('GET', '/videos?limit=1')).body.data
        expect(job.status).toBe('pending')
        expect(await runToEnd(server(), job.id, 70_000)).toMatchObject({ status: 'failed' })
        expect([await holds(), await isSound()]).toEqual([[], true])
      })

      test('continues when its client disconnects', async () => {
        const { first } = bench()
        first.enqueue({ json: { id: 'v-3' }, waitMs: 200 })
        const abort = new AbortController()
        const creating = fetch(`${server().url}/api/v1/videos`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${server().own.inferenceKey}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify({ model: 'test/one', prompt: 'A fox' }),
          signal: abort.signal,
        }).catch(() => null)
        await first.waitForRequests(1)
        abort.abort()
        await creating
        const { db } = server().gateway
        const findStep = async () =>
          (await db.selectFrom('video_jobs').select('step').orderBy('id', 'desc').executeTakeFirst())?.step
        for (const deadline = Date.now() + 5000; (await findStep()) !== 'sent' && Date.now() < deadline; )
          await Bun.sleep(5)
        expect(await findStep()).toBe('sent')
        first.enqueue({ json: { id: 'v-3', status: 'failed', error: { message: 'no' } } })
        const [job] = (await server().call('GET', '/videos?limit=1')).body.data
        expect((await runToEnd(server(), job.id)).status).toBe('failed')
      })
    })

    describe('a poll', () => {
      const submit = async (bench: Bench) => {
        bench.first.enqueue({ json: { id: 'v-9' } })
        return (await createVideo(server(), { model: 'test/one' })).body.id as string
      }

      test('that fails is repeated; a video that is no video is not charged', async () => {
        const { first } = bench()
        const id = await submit(bench())
        const done = { json: { id: 'v-9', status: 'completed', seconds: '4' } }
        first.enqueue(
          { status: 500, json: {} },
          { status: 429, json: {} },
          { breakBeforeHead: true },
          { text: '<html>' },
          done,
          { text: 'this is no video at all' },
          done,
          { text: mp4 },
        )
        const ended = await runToEnd(server(), id, 60_000)
        expect(ended).toMatchObject({ status: 'completed', usage: { cost: 0.4 } })
        expect(calls(first).filter((call) => call.startsWith('POST'))).toHaveLength(1)
        expect(await isSound()).toBe(true)
      })

      test('of a job that the provider does not have ends it', async () => {
        const id = await submit(bench())
        bench().first.enqueue({ status: 404, json: { error: { message: 'no such video' } } })
        expect(await runToEnd(server(), id)).toMatchObject({ status: 'failed' })
        expect(await holds()).toEqual([])
      })
    })

    test('R39 R15 a job uses the BYOK key it was created with, for a fee; if that is deleted, it fails', async () => {
      const { first } = bench()
      const made = await server().call('POST', '/byok', {
        body: { provider: 'one', key: 'own-secret-0123456789' },
      })
      first.enqueue({ json: { id: 'v-1' } }, { json: { id: 'v-1', status: 'completed' } }, { text: mp4 })
      const created = await createVideo(server(), { model: 'test/one' })
      const ended = await runToEnd(server(), created.body.id)
      expect(ended.usage).toEqual({ cost: 0.02, is_byok: true })
      for (const { headers } of first.requests)
        expect(headers.authorization).toBe('Bearer own-secret-0123456789')
      first.enqueue({ json: { id: 'v-2' } })
      const second = await createVideo(server(), { model: 'test/one' })
      await server().call('DELETE', `/byok/${made.body.data.id}`)
      expect(await runToEnd(server(), second.body.id)).toMatchObject({
        status: 'failed',
        error: 'The BYOK key of the job was deleted.',
      })
      expect([await holds(), await isSound()]).toEqual([[], true])
    })

    test('S4 the prompt and the secrets are nowhere in the row of a job', async () => {
      const { first } = bench()
      first.enqueue({ json: { id: 'v-1' } }, { json: { id: 'v-1', status: 'completed' } }, { text: mp4 })
      const created = await createVideo(server(), { model: 'test/one', prompt: 'canary-7f3a' })
      await runToEnd(server(), created.body.id)
      const rows = JSON.stringify(await server().gateway.db.selectFrom('video_jobs').selectAll().execute())
      expect(rows).not.toContain('canary-7f3a')
      expect(rows).not.toContain('vendor-secret')
    })
  },
  buildSettings,
)
