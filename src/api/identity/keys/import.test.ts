import { expect, test } from 'bun:test'
import { createSessionCaller, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { findKeyByHash } from '../../../identity/keys.ts'
import { checkLedger } from '../../../ledger/check.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'

const strong = (name: string) => `sk-${sha256(name).slice(0, 24)}`

describeOnEachDatabase('POST /keys/import', (server) => {
  const send = (keys: object[], options: object = {}) =>
    server().call('POST', '/keys/import', { body: { keys, ...options } })
  const importOne = async (key: object, options: object = {}) => (await send([key], options)).body.data[0]
  const chat = (key: string, maxTokens = 16) =>
    server().call('POST', '/chat/completions', {
      key,
      body: {
        model: 'sandbox/echo',
        max_tokens: maxTokens,
        messages: [{ role: 'user', content: 'Hello' }],
      },
    })
  const assertSound = async () =>
    expect((await checkLedger(server().gateway.db)).findings.flatMap(({ violations }) => violations)).toEqual(
      [],
    )

  test('a key by its secret, and one by its hash, serve requests with what was imported', async () => {
    const [secret, hashed] = [strong('one'), strong('two')]
    const email = 'imported@example.com'
    const member = await server().call('POST', '/organization/members', { body: { email } })
    const { status, body } = await send([
      { secret, name: 'By secret', owner: email, limit: 5, spend: 1.25, tags: { set: { team: 'search' } } },
      { hash: sha256(hashed).toUpperCase(), name: 'By hash', label: 'sk-...9f', limit: 2 },
    ])
    expect(status).toBe(200)
    expect(body).toMatchObject({ created: 2, existing: 0, rejected: 0, dry_run: false })
    expect(JSON.stringify(body)).not.toContain(secret)
    expect((await server().call('GET', '/key', { key: secret })).body.data).toMatchObject({
      label: 'sk-...',
      limit: 5,
      limit_remaining: 3.75,
      usage: 1.25,
      creator_user_id: member.body.data.id,
    })
    const { data } = (await server().call('GET', `/keys/${sha256(hashed)}`)).body
    expect(data).toMatchObject({ name: 'By hash', label: 'sk-...9f', limit: 2, usage: 0 })
    expect([(await chat(secret)).status, (await chat(hashed)).status]).toEqual([200, 200])
    const { usage } = (await server().call('GET', '/key', { key: secret })).body.data
    expect(usage).toBeGreaterThan(1.25)
    await assertSound()
  })

  test('an import can be repeated: a key that exists is left as it is', async () => {
    const line = { secret: strong('again'), name: 'Again', limit: 3, spend: 1 }
    expect((await importOne(line)).outcome).toBe('created')
    const again = await send([
      { ...line, limit: 9, spend: 2 },
      { ...line, name: 'Twice' },
    ])
    expect(again.body).toMatchObject({ created: 0, existing: 2, rejected: 0 })
    const { data } = (await server().call('GET', `/keys/${sha256(line.secret)}`)).body
    expect(data).toMatchObject({ name: 'Again', limit: 3, usage: 1 })
  })

  test('what was spent counts in the window of the limit, and no more after it', async () => {
    const { clock } = server()
    clock.freeze('2099-03-18T12:00:00.000Z')
    const secret = strong('windows')
    const limit = { limit: 2, limit_reset: 'monthly' }
    await importOne({ secret, name: 'Monthly', ...limit, spend: 70.000000001, spend_in_window: 2 })
    const read = async () => (await server().call('GET', '/key', { key: secret })).body.data
    expect(await read()).toMatchObject({
      ...{ usage: 70.000000001, usage_monthly: 2, usage_weekly: 0, usage_daily: 0, limit_remaining: 0 },
    })
    expect((await chat(secret)).status).toBe(402)
    await assertSound()
    clock.freeze('2099-04-01T00:00:00.000Z')
    expect(await read()).toMatchObject({ usage: 70.000000001, usage_monthly: 0, limit_remaining: 2 })
    expect((await chat(secret)).status).toBe(200)
    await assertSound()
    clock.release()
  })

  test('spend is rounded to the nearest nano-dollar', async () => {
    const secret = strong('float')
    await importOne({ secret, name: 'Float', spend: 0.1 + 0.2 + 1e-10 })
    expect((await server().call('GET', '/key', { key: secret })).body.data.usage).toBe(0.3)
    const { db } = server().gateway
    const key = await findKeyByHash(db, sha256(secret))
    const { amount_nanos } = await db
      .selectFrom('opening_spend')
      .select('amount_nanos')
      .where('subject', '=', `key:${key?.id}`)
      .executeTakeFirstOrThrow()
    expect(amount_nanos).toBe(300_000_000n)
  })

  test('weak secrets are rejected unless they are allowed', async () => {
    const weak = { secret: 'sk-1234', name: 'Weak' }
    expect(await importOne(weak)).toMatchObject({
      outcome: 'rejected',
      message: expect.stringContaining('secret: is weak'),
    })
    expect((await chat('sk-1234')).status).toBe(401)
    expect((await importOne(weak, { allow_weak: true })).outcome).toBe('created')
    expect((await chat('sk-1234')).status).toBe(200)
  })

  test('a rejected key says why, and the others are imported', async () => {
    const { body } = await send([
      { secret: strong('a'), name: 'Fine' },
      { secret: strong('b'), name: 'No workspace', workspace: 'nowhere' },
      { secret: strong('c'), name: 'No owner', owner: 'nobody@example.com' },
      { secret: strong('d'), name: 'No tier', tier: 'platinum' },
      { secret: server().foreign.inferenceKey, name: 'Of another organization' },
      { secret: server().own.managementKey, name: 'A management key' },
    ])
    expect(body).toMatchObject({ created: 1, rejected: 5 })
    expect(body.data.map(({ message }: { message: string | null }) => message)).toEqual([
      null,
      'workspace: the caller cannot access that workspace.',
      'owner: is not a member of the organization',
      expect.stringContaining('tier'),
      ...Array(2).fill('hash: is already used by another credential of this installation'),
    ])
  })

  test('a dry run reports the same, and changes nothing', async () => {
    const line = { secret: strong('dry'), name: 'Dry', spend: 4 }
    const planned = await send([line, line], { dry_run: true })
    expect(planned.body).toMatchObject({ created: 1, existing: 1, dry_run: true })
    expect((await chat(line.secret)).status).toBe(401)
    expect((await importOne(line)).outcome).toBe('created')
  })

  test('the fields of a key are named when they are not valid', async () => {
    const problem = async (key: object) => (await send([key])).body.error.param
    expect(await problem({ name: 'Neither' })).toBe('keys.0.hash')
    expect(await problem({ name: 'Both', secret: 's', hash: sha256('s') })).toBe('keys.0.hash')
    expect(await problem({ name: 'Space', secret: 'a b' })).toBe('keys.0.secret')
    expect(await problem({ name: 'Window', secret: 's', spend: 1, spend_in_window: 1 })).toBe(
      'keys.0.spend_in_window',
    )
  })

  test('a member who may manage only the keys they created cannot import', async () => {
    const member = await createSessionCaller(server(), { role: 'org:member' })
    const { status } = await member.call('POST', '/keys/import', {
      body: { keys: [{ secret: strong('member'), name: 'Mine' }] },
    })
    expect(status).toBe(403)
  })

  test('the audit log has each key and its spend, without the secret', async () => {
    const secret = strong('audited')
    await importOne({ secret, name: 'Audited', spend: 1.5 })
    const { data } = (await server().call('GET', '/audit?action=key.import&limit=100')).body
    const entry = data.find(({ target }: { target: { id: string } }) => target.id === sha256(secret))
    expect(entry).toMatchObject({ target: { name: 'Audited' } })
    expect(JSON.stringify(entry)).toContain('1500000000')
    expect(JSON.stringify(entry)).not.toContain(secret)
  })
})
