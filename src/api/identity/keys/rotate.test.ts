import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { recordSpend } from '../../../../test/support/spend.ts'

describeOnEachDatabase('POST /keys/{hash}/rotate', (server) => {
  const create = async (body: Record<string, unknown> = {}) => {
    const created = await server().call('POST', '/keys', { body: { name: 'rotated', ...body } })
    return created.body as { data: { hash: string; label: string }; key: string }
  }
  const rotate = (hash: string, body?: unknown) => server().call('POST', `/keys/${hash}/rotate`, { body })
  const statusOf = async (key: string) => (await server().call('GET', '/key', { key })).status

  test('the new secret is the same key, and the old one is refused with the reason', async () => {
    const { data, key } = await create({ limit: 5, limit_reset: 'daily' })
    const row = await server()
      .gateway.db.selectFrom('api_keys')
      .selectAll()
      .where('hash', '=', data.hash)
      .executeTakeFirstOrThrow()
    const today = new Date(server().clock.now()).toISOString().slice(0, 10)
    await recordSpend(server().gateway, row, today, { credits: 2 })
    const { status, body } = await rotate(data.hash)
    expect(status).toBe(200)
    expect(body.key).toMatch(/^sk-hg-v1-[0-9a-f]{64}$/)
    expect(body.data).toMatchObject({
      hash: data.hash,
      name: 'rotated',
      limit: 5,
      limit_remaining: 3,
      usage: 2,
    })
    expect(body.data.label).not.toBe(data.label)
    expect(body.previous_valid_until).toBeNull()
    expect((await server().call('GET', '/key', { key: body.key })).body.data).toMatchObject({
      usage: 2,
      limit: 5,
    })
    const refused = await server().call('GET', '/key', { key })
    expect(refused.status).toBe(401)
    expect(refused.body.error.message).toContain('rotated')
    const chat = await server().call('POST', '/chat/completions', {
      key,
      body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] },
    })
    expect(chat.status).toBe(401)
    expect((await server().call('GET', `/keys/${data.hash}`)).status).toBe(200)
  })

  test('with an overlap both secrets work until its last millisecond', async () => {
    const { data, key } = await create()
    server().clock.freeze('2099-01-01T00:00:00.000Z')
    const { body } = await rotate(data.hash, { overlap_seconds: 60 })
    expect(body.previous_valid_until).toBe('2099-01-01T00:01:00.000Z')
    server().clock.advance(59_999)
    expect([await statusOf(key), await statusOf(body.key)]).toEqual([200, 200])
    server().clock.advance(1)
    expect([await statusOf(key), await statusOf(body.key)]).toEqual([401, 200])
    server().clock.release()
  })

  test('a second rotation ends the secret before the last at once', async () => {
    const { data, key: first } = await create()
    const second = (await rotate(data.hash, { overlap_seconds: 600 })).body.key
    const third = (await rotate(data.hash, { overlap_seconds: 600 })).body.key
    expect([await statusOf(first), await statusOf(second), await statusOf(third)]).toEqual([401, 200, 200])
  })

  test('a secret that a partner chose stays valid', async () => {
    const api_key = `partner-secret-${crypto.randomUUID()}`
    const { data, key } = await create({ external: { user: 'customer', api_key } })
    await rotate(data.hash)
    expect([await statusOf(key), await statusOf(api_key)]).toEqual([401, 200])
  })

  test.each([-1, 604_801, 1.5, '60'])('400 for an overlap of %p', async (overlap_seconds) => {
    const { data } = await create()
    const { status, body } = await rotate(data.hash, { overlap_seconds })
    expect(status).toBe(400)
    expect(body.error.message).toStartWith('overlap_seconds')
  })

  test('R40 the audit log names the key, not its secrets or their hashes', async () => {
    const { data, key } = await create()
    const { body } = await rotate(data.hash, { overlap_seconds: 60 })
    const entries = (await server().call('GET', `/audit?target_id=${data.hash}&action=key.rotate`)).body
    expect(entries.data).toHaveLength(1)
    const { secret_hash } = await server()
      .gateway.db.selectFrom('api_keys')
      .select('secret_hash')
      .where('hash', '=', data.hash)
      .executeTakeFirstOrThrow()
    const text = JSON.stringify(entries)
    for (const secret of [key, body.key, secret_hash]) expect(text).not.toContain(secret)
  })
})
