import { beforeEach, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createKey } from '../../src/identity/keys.ts'
import { createWorkspace } from '../../src/identity/workspaces.ts'
import { sweepVideos } from '../../src/inference/video/sweep.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { describeOnEachDatabase } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { startUpstream } from '../support/upstream.ts'
import { createVideo, runDue, runToEnd } from './video-jobs.ts'

describeOnEachDatabase('video jobs on the sandbox', (server) => {
  beforeEach(() => server().clock.release())
  const db = () => server().gateway.db
  const key = () => server().own.inferenceKey
  const holds = () => requestHolds(db()).selectAll().execute()
  const authorization = () => ({ authorization: `Bearer ${key()}` })
  const isSound = async () => (await checkLedger(db())).sound
  /** A job that has ended. */
  const finish = async (body: Record<string, unknown> = {}) =>
    runToEnd(server(), (await createVideo(server(), { size: '1280x720', ...body })).body.id)

  test('E13 R39 a job passes through its states and is charged once, exactly', async () => {
    const created = await createVideo(server(), { duration: 4, size: '1280x720' })
    expect(created.status).toBe(202)
    const { id } = created.body
    expect(created.body).toEqual({
      id,
      polling_url: `/api/v1/videos/${id}`,
      status: 'pending',
      model: 'sandbox/filmmaker',
      progress: 0,
      workspace_id: server().own.workspace.id,
      created_at: expect.any(String),
      ended_at: null,
      expires_at: null,
    })
    expect(created.headers.get('x-generation-id')).toStartWith('gen-vid-')
    const [hold] = await holds()
    expect([hold?.owner, hold?.amount_nanos]).toEqual(['jobs', 200_000_000n])
    server().clock.advance(1100)
    await runDue(server())
    expect((await server().call('GET', `/videos/${id}`)).body.status).toBe('in_progress')
    expect((await server().call('GET', `/videos/${id}/content`, { key: key() })).status).toBe(409)
    expect((await server().call('DELETE', `/videos/${id}`)).status).toBe(409)
    const ended = await runToEnd(server(), id)
    expect(ended).toMatchObject({
      status: 'completed',
      generation_id: created.headers.get('x-generation-id'),
      usage: { cost: 0.2, is_byok: false },
      progress: 100,
      ended_at: expect.any(String),
      expires_at: expect.any(String),
    })
    expect(ended.unsigned_urls).toEqual([`${server().url}/api/v1/videos/${id}/content?index=0`])
    expect(await holds()).toEqual([])
    await runDue(server())
    const generation = await server().call('GET', `/generation?id=${ended.generation_id}`)
    expect(generation.body.data).toMatchObject({ api_type: 'video', usage: 0.2, model: 'sandbox/filmmaker' })
    expect(await isSound()).toBe(true)
    const content = await fetch(ended.unsigned_urls[0], { headers: authorization() })
    const bytes = Buffer.from(await content.arrayBuffer())
    expect(content.headers.get('content-type')).toBe('video/mp4')
    expect(bytes.toString('latin1', 4, 8)).toBe('ftyp')
    expect((await fetch(ended.unsigned_urls[0])).status).toBe(401)
  })

  test.each([
    [{ duration: 8, resolution: '720p' }, 0.4],
    [{ duration: 4, resolution: '1080p', aspect_ratio: '16:9' }, 0.4],
    [{ seconds: '8', size: '1920x1080' }, 0.8],
    [{}, 0.2],
  ])('R9 the price depends on the seconds and the resolution: %j', async (body, cost) => {
    const created = await createVideo(server(), body)
    const [hold] = await holds()
    expect(Number(hold?.amount_nanos) / 1e9).toBe(cost)
    expect((await runToEnd(server(), created.body.id)).usage).toEqual({ cost, is_byok: false })
  })

  test.each(['failed', 'cancelled', 'expired'])(
    'R39 a job that ends as %s costs nothing',
    async (outcome) => {
      const before = (await server().call('GET', '/credits')).body.data.total_usage
      const ended = await finish({ provider: { options: { sandbox: { outcome } } } })
      expect(ended).toMatchObject({ status: outcome, error: expect.stringContaining('directed') })
      expect(ended).not.toHaveProperty('usage')
      const { data } = (await server().call('GET', `/generation?id=${ended.generation_id}`)).body
      expect(data).toMatchObject({ usage: 0, cancelled: outcome === 'cancelled' })
      expect((await server().call('GET', '/credits')).body.data.total_usage).toBe(before)
      expect([await holds(), await isSound()]).toEqual([[], true])
      const content = await server().call('GET', `/videos/${ended.id}/content`)
      expect(content.status).toBe(409)
    },
  )

  test('the directives of the sandbox: a slow job, and a submission that fails', async () => {
    const slow = await createVideo(server(), { prompt: 'sandbox:slow=60000 A fox' })
    server().clock.advance(30_000)
    await runDue(server())
    expect((await server().call('GET', `/videos/${slow.body.id}`)).body.status).toBe('pending')
    server().clock.advance(60_000)
    await runDue(server())
    expect((await server().call('GET', `/videos/${slow.body.id}`)).body.status).toBe('in_progress')
    await runToEnd(server(), slow.body.id, 30_000)
    const count = async () => (await db().selectFrom('video_jobs').select('id').execute()).length
    const before = await count()
    const failed = await createVideo(server(), { prompt: 'sandbox:error=429 A fox' })
    expect(failed.status).toBe(429)
    expect([await count(), await holds(), await isSound()]).toEqual([before, [], true])
  })

  test('R39 a job that no provider finishes expires, and its hold is released', async () => {
    const { id } = (await createVideo(server(), { prompt: 'sandbox:slow=600000 A fox' })).body
    await db().updateTable('video_jobs').set({ deadline_at: '2020-01-01' }).where('id', '=', id).execute()
    const ended = await runToEnd(server(), id)
    expect(ended).toMatchObject({ status: 'expired', error: expect.stringContaining('in time') })
    expect([await holds(), await isSound()]).toEqual([[], true])
  })

  describe.each([
    ['draft of its hold', 'unrecovered_draft', 'completed'],
    ['record of its submission', 'unrecovered_checkpoint', 'failed'],
    ['request', null, 'expired'],
  ] as const)('R2 R39 a job with a damaged %s', (part, failure, status) => {
    test('ends once, with a record, and is not polled any more', async () => {
      const { body, headers } = await createVideo(server(), { duration: 4, size: '1280x720' })
      const generationId = headers.get('x-generation-id') ?? ''
      await server().gateway.ledger.flush()
      if (part === 'draft of its hold')
        await db().updateTable('holds').set({ draft: '[1,"' }).where('id', '=', generationId).execute()
      const damage = part === 'request' ? { request: 'damaged' } : { sent: '{"target"' }
      if (part !== 'draft of its hold')
        await db().updateTable('video_jobs').set(damage).where('id', '=', body.id).execute()
      for (let polls = 0; polls < 4; polls++) {
        server().clock.advance(polls < 3 ? 40_000 : server().gateway.settings.videos.timeout)
        await runDue(server())
      }
      const job = await db()
        .selectFrom('video_jobs')
        .selectAll()
        .where('id', '=', body.id)
        .executeTakeFirstOrThrow()
      expect([job.status, job.due_at]).toEqual([status, null])
      const record = await db()
        .selectFrom('generations')
        .selectAll()
        .where('id', '=', generationId)
        .executeTakeFirstOrThrow()
      const charged = failure ? { flag: 'unrecovered', error_code: failure, cost_nanos: 0n } : { flag: null }
      expect(record).toMatchObject({ ...charged, hold_nanos: 200_000_000n, workspace_id: job.workspace_id })
      expect([await holds(), await isSound()]).toEqual([[], true])
    })
  })

  test('a range of a video, and the whole for what is no range', async () => {
    const { id } = await finish()
    const read = async (headers: Record<string, string>) => {
      const response = await fetch(`${server().url}/api/v1/videos/${id}/content`, {
        headers: { ...authorization(), ...headers },
      })
      return { response, bytes: Buffer.from(await response.arrayBuffer()) }
    }
    const { bytes: whole } = await read({})
    const part = await read({ range: 'bytes=4-7' })
    expect([part.response.status, part.bytes.toString()]).toEqual([206, 'ftyp'])
    expect(part.response.headers.get('content-range')).toBe(`bytes 4-7/${whole.length}`)
    const tail = await read({ range: 'bytes=-10' })
    expect(tail.bytes.equals(whole.subarray(-10))).toBe(true)
    const rest = await read({ range: `bytes=${whole.length - 5}-` })
    expect(rest.bytes.equals(whole.subarray(-5))).toBe(true)
    expect((await read({ range: 'lines=1-2' })).bytes.length).toBe(whole.length)
    const beyond = await read({ range: `bytes=${whole.length}-` })
    expect([beyond.response.status, beyond.response.headers.get('content-range')]).toEqual([
      416,
      `bytes */${whole.length}`,
    ])
    expect((await server().call('GET', `/videos/${id}/content?index=1`)).status).toBe(404)
    expect((await server().call('GET', `/videos/${id}/content?variant=thumbnail`)).status).toBe(400)
  })

  test('a video expires: 410, and its file is deleted; its job is deleted with old records', async () => {
    const { id } = await finish()
    const folder = join(server().gateway.config.dataDir, 'videos')
    expect(existsSync(join(folder, `${id}-0.mp4`))).toBe(true)
    server().clock.advance(73 * 3_600_000)
    expect((await server().call('GET', `/videos/${id}/content`)).status).toBe(410)
    await sweepVideos(server().gateway)
    expect(readdirSync(folder).filter((name) => name.startsWith(id))).toEqual([])
    expect((await server().call('GET', `/videos/${id}`)).body.status).toBe('completed')
    server().clock.advance(100 * 86_400_000)
    await sweepVideos(server().gateway)
    expect((await server().call('GET', `/videos/${id}`)).status).toBe(404)
  })

  test('a node without the file makes it again', async () => {
    const { id } = await finish()
    const path = join(server().gateway.config.dataDir, 'videos', `${id}-0.mp4`)
    const before = await Bun.file(path).bytes()
    await Bun.file(path).delete()
    const response = await fetch(`${server().url}/v1/videos/${id}/content`, { headers: authorization() })
    expect(Buffer.from(await response.arrayBuffer()).equals(before)).toBe(true)
  })

  test('R37 E13 a job of another tenant or workspace is 404, and 401 without a key', async () => {
    const { id } = await finish()
    const workspace = await createWorkspace(
      db(),
      server().clock,
      { organizationId: server().own.organization.id, createdBy: null },
      { slug: `videos-${id.slice(-8)}`, name: 'Other' },
    )
    const other = await createKey(db(), server().clock, {
      organizationId: server().own.organization.id,
      workspaceId: workspace.id,
      name: 'other',
      kind: 'inference',
      creatorUserId: server().own.owner.id,
    })
    for (const path of [`/videos/${id}`, `/videos/${id}/content`]) {
      for (const [caller, status] of [
        [server().foreign.inferenceKey, 404],
        [server().foreign.managementKey, 404],
        [other.secret, 404],
        [null, 401],
      ] as const)
        expect((await server().call('GET', path, { key: caller })).status).toBe(status)
    }
    expect((await server().call('DELETE', `/videos/${id}`, { key: other.secret })).status).toBe(404)
    const previous = await createVideo(server(), { previous_job_id: id }, { key: other.secret })
    expect([previous.status, previous.body.error.param]).toEqual([400, 'previous_job_id'])
    const listed = await server().call('GET', '/videos', { key: other.secret })
    expect(listed.body.data).toEqual([])
    const foreign = `/videos?workspace_id=${server().own.workspace.id}`
    expect((await server().call('GET', foreign, { key: server().foreign.managementKey })).status).toBe(403)
    expect((await server().call('GET', `/videos/${id}`, { key: key() })).status).toBe(200)
  })

  test('jobs are listed newest first, in pages, and deleted once they have ended', async () => {
    const [first, second] = [await finish(), await finish()]
    const page = (await server().call('GET', '/videos?limit=1')).body
    expect(page).toMatchObject({ data: [{ id: second.id }], has_more: true, last_id: second.id })
    const next = (await server().call('GET', `/videos?limit=1&after=${second.id}`)).body
    expect(next.data[0].id).toBe(first.id)
    const own = await server().call('GET', `/videos?limit=1&workspace_id=${server().own.workspace.id}`)
    expect(own.body.last_id).toBe(second.id)
    const deleted = await server().call('DELETE', `/videos/${first.id}`)
    expect(deleted.body).toEqual({ id: first.id, object: 'video.deleted', deleted: true })
    expect((await server().call('GET', `/videos/${first.id}`)).status).toBe(404)
    const path = join(server().gateway.config.dataDir, 'videos', `${first.id}-0.mp4`)
    expect([existsSync(path), await isSound()]).toEqual([false, true])
  })

  test.each([
    [{ duration: 5 }, 'duration: must be one of 4, 8'],
    [{ resolution: '480p' }, 'resolution: must be one of 720p, 1080p'],
    [{ aspect_ratio: '21:9' }, 'aspect_ratio: must be one of 16:9, 9:16, 1:1'],
    [{ size: '640x480' }, 'size: must be one of 1280x720, 720x1280, 1920x1080'],
    [{ size: '1280x720', resolution: '720p' }, 'size: cannot be combined'],
    [{ duration: 4, seconds: 4 }, 'seconds: cannot be combined'],
    [{ prompt: ' ' }, 'prompt: is required'],
    [{ creativity: 3 }, 'creativity: is not supported'],
    [{ upscale_factor: 2 }, 'upscale_factor: is not supported'],
    [{ resolution: '9000p' }, 'resolution: '],
    [{ callback_url: 'http://example.com/hook' }, 'callback_url: must be an https URL'],
    [{ callback_url: 'https://127.0.0.1/hook' }, 'callback_url: must be an https URL'],
    [{ previous_job_id: 'video_none' }, 'previous_job_id: is not a job'],
    [
      {
        frame_images: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aa' }, frame_type: 'first_frame' },
        ],
      },
      'frame_images: is not supported',
    ],
  ])('R12 400 naming the field and its values: %j', async (body, message) => {
    const response = await createVideo(server(), body)
    expect(response.status).toBe(400)
    expect(response.body.error.message).toStartWith(message)
    expect(await holds()).toEqual([])
  })

  test('a model of another modality, an unknown model, and an unknown field', async () => {
    expect((await createVideo(server(), { model: 'sandbox/echo' })).body.error.metadata.reason).toBe(
      'model_wrong_endpoint',
    )
    expect((await createVideo(server(), { model: 'sandbox/none' })).status).toBe(400)
    const created = await createVideo(server(), { color: 'red' })
    expect(created.headers.get('x-headgate-dropped')).toBe('color')
    await runToEnd(server(), created.body.id)
    const headers = { 'x-headgate-strict': 'true' }
    expect((await createVideo(server(), { color: 'red' }, { headers })).status).toBe(400)
  })

  test('R39 with zero data retention a video is not routed', async () => {
    const zdr = await createVideo(server(), { provider: { zdr: true } })
    expect([zdr.status, zdr.body.error.availability.excluded_by]).toEqual([503, ['data_policy:zdr']])
    expect(await holds()).toEqual([])
  })

  test('R1 402 for a key whose limit the job would exceed, which leaves no job', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'poor', limit: 0.1 } })
    const rejected = await createVideo(server(), {}, { key: made.body.key })
    expect([rejected.status, rejected.body.error.metadata.reason]).toEqual([402, 'key_limit_reached'])
    const keyId = (
      await db().selectFrom('api_keys').select('id').where('name', '=', 'poor').executeTakeFirst()
    )?.id
    const jobs = await db()
      .selectFrom('video_jobs')
      .select('id')
      .where('key_id', '=', keyId ?? 0)
      .execute()
    expect([jobs, await holds()]).toEqual([[], []])
  })

  test('previous_job_id continues a completed job of the same model', async () => {
    const first = await finish()
    const second = await finish({ previous_job_id: first.id, prompt: 'and runs' })
    expect(second.status).toBe('completed')
    const failed = await finish({ prompt: 'sandbox:fail=1 A fox' })
    const rejected = await createVideo(server(), { previous_job_id: failed.id })
    expect(rejected.body.error.message).toStartWith('previous_job_id: must be a completed job')
  })

  test('429 beyond the jobs that a workspace may have in progress', async () => {
    const { settings } = server().gateway
    const { active } = settings.videos
    settings.videos.active = 1
    const { id } = (await createVideo(server(), {})).body
    expect((await createVideo(server(), {})).status).toBe(429)
    settings.videos.active = active
    await runToEnd(server(), id)
  })

  test('the prompt is logged in a workspace that logs content, and only there', async () => {
    const path = `/workspaces/${server().own.workspace.id}`
    const silent = await finish({ prompt: 'A silent fox' })
    await server().call('PATCH', path, { body: { is_observability_io_logging_enabled: true } })
    const logged = await finish({ prompt: 'A logged fox' })
    await server().call('PATCH', path, { body: { is_observability_io_logging_enabled: false } })
    const read = (id: string) => server().call('GET', `/generation/content?id=${id}`)
    expect((await read(logged.generation_id)).body.data.input).toEqual({ prompt: 'A logged fox' })
    expect((await read(silent.generation_id)).status).toBe(404)
  })

  test('403 for a model that a guardrail does not allow', async () => {
    const made = await server().call('POST', '/guardrails', {
      body: { name: 'no films', ignored_models: ['sandbox/filmmaker'] },
    })
    const { key: secret, data } = (await server().call('POST', '/keys', { body: { name: 'guarded' } })).body
    const { id } = made.body.data
    await server().call('POST', `/guardrails/${id}/assignments/keys`, { body: { key_hashes: [data.hash] } })
    expect((await createVideo(server(), {}, { key: secret })).status).toBe(403)
    await server().call('DELETE', `/guardrails/${id}`)
  })

  describe('webhooks', () => {
    const secret = 'a-secret-of-the-receiver'
    const receive = async (work: (receiver: Awaited<ReturnType<typeof startUpstream>>) => Promise<void>) => {
      const receiver = await startUpstream()
      const { egress } = server().gateway.settings
      egress.allow_private.push(new URL(receiver.url).host)
      receiver.setDefault({ json: {} })
      await work(receiver)
      egress.allow_private.length = 0
      await receiver.stop()
    }
    const setWorkspace = (body: Record<string, unknown>) =>
      server().call('PATCH', `/workspaces/${server().own.workspace.id}`, { body })

    test('B16 the end of a job is sent to callback_url, signed with the secret of the workspace', () =>
      receive(async (receiver) => {
        const set = await setWorkspace({ video_callback_secret: secret })
        expect(set.body.data).toMatchObject({ has_video_callback_secret: true, video_callback_url: null })
        const row = await db().selectFrom('workspaces').select('sealed_video_secret').execute()
        expect(JSON.stringify(row)).not.toContain(secret)
        const ended = await finish({ callback_url: `${receiver.url}/hook` })
        await runDue(server())
        const [request, ...others] = receiver.requests
        expect(others).toEqual([])
        expect(request?.headers['x-service-idempotency-key']).toBe(`${ended.id}-completed`)
        expect(request?.json).toEqual({
          type: 'video.generation.completed',
          created_at: expect.stringMatching(/^\d{4}-/),
          data: {
            id: ended.id,
            status: 'completed',
            generation_id: ended.generation_id,
            model: 'sandbox/filmmaker',
            unsigned_urls: ended.unsigned_urls,
            usage: { cost: 0.2, is_byok: false },
          },
        })
        const [, time, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(
          request?.headers['x-service-signature'] ?? '',
        ) ?? ['', '', '']
        const expected = createHmac('sha256', secret).update(`${time},${request?.text}`).digest('hex')
        expect(signature).toBe(expected)
        await setWorkspace({ video_callback_secret: null })
      }))

    test('B16 the workspace has a default; a failed delivery is tried again, and given up in the end', () =>
      receive(async (receiver) => {
        await setWorkspace({ video_callback_url: `${receiver.url}/default` })
        receiver.setDefault({ status: 500, json: {} })
        const ended = await finish({ provider: { options: { sandbox: { outcome: 'failed' } } } })
        for (let round = 0; round < 12; round++) {
          await runDue(server())
          server().clock.advance(3_600_000 * 3)
        }
        expect(receiver.requests.map(({ path }) => path)).toEqual(Array(6).fill('/default'))
        expect(receiver.requests.at(-1)?.json).toMatchObject({
          type: 'video.generation.failed',
          data: { id: ended.id, error: ended.error },
        })
        expect(receiver.requests[0]?.headers).not.toHaveProperty('x-service-signature')
        await setWorkspace({ video_callback_url: null })
        const refused = await setWorkspace({ video_callback_url: 'http://example.com/hook' })
        expect(refused.body.error.message).toStartWith('video_callback_url: must be an https URL')
      }))
  })
})
