import { beforeEach, expect, test } from 'bun:test'
import { checkLedger } from '../../src/ledger/check.ts'
import { describeOnEachDatabase } from '../support/harness.ts'
import { createVideo, runDue, runToEnd } from './video-jobs.ts'

describeOnEachDatabase('video jobs on the sandbox', (server) => {
  beforeEach(() => server().clock.release())
  const key = () => server().own.inferenceKey
  const holds = () => server().gateway.db.selectFrom('holds').selectAll().execute()

  test('E13 R39 a job passes through its states and is charged once, exactly', async () => {
    const created = await createVideo(server(), { duration: 4, size: '1280x720' })
    expect(created.status).toBe(202)
    const { id } = created.body
    expect(created.body).toEqual({ id, polling_url: `/api/v1/videos/${id}`, status: 'pending' })
    expect(created.headers.get('x-generation-id')).toStartWith('gen-vid-')
    const [hold] = await holds()
    expect([hold?.owner, hold?.amount_nanos]).toEqual(['jobs', 200_000_000n])
    server().clock.advance(1100)
    await runDue(server())
    expect((await server().call('GET', `/videos/${id}`)).body.status).toBe('in_progress')
    const early = await server().call('GET', `/videos/${id}/content`, { key: key() })
    expect(early.status).toBe(409)
    const ended = await runToEnd(server(), id)
    expect(ended).toMatchObject({
      status: 'completed',
      generation_id: created.headers.get('x-generation-id'),
      usage: { cost: 0.2, is_byok: false },
    })
    expect(ended.unsigned_urls).toEqual([`${server().url}/api/v1/videos/${id}/content?index=0`])
    expect(await holds()).toEqual([])
    await runDue(server())
    const generation = await server().call('GET', `/generation?id=${ended.generation_id}`)
    expect(generation.body.data).toMatchObject({ api_type: 'video', usage: 0.2, model: 'sandbox/filmmaker' })
    expect((await checkLedger(server().gateway.db)).sound).toBe(true)
    const content = await fetch(ended.unsigned_urls[0], { headers: { authorization: `Bearer ${key()}` } })
    const bytes = Buffer.from(await content.arrayBuffer())
    expect(content.headers.get('content-type')).toBe('video/mp4')
    expect(bytes.toString('latin1', 4, 8)).toBe('ftyp')
    expect((await fetch(ended.unsigned_urls[0])).status).toBe(401)
  })
})
