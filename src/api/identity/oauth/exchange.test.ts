import { afterEach, expect, test } from 'bun:test'
import {
  type CallOptions,
  createSessionCaller,
  describeOnEachDatabase,
} from '../../../../test/support/harness.ts'
import { createKey } from '../../../identity/keys.ts'
import { createMember } from '../../../identity/members.ts'
import { createWorkspace } from '../../../identity/workspaces.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { findCode, redeemCode } from './store.ts'

const callback_url = 'https://app.example.com/done'
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
/** The example pair of RFC 7636, appendix B. */
const word = 'a-plain-verifier.of_43~characters-or-a-few-more'
const s256 = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const minute = 60_000

describeOnEachDatabase('POST /auth/keys', (server) => {
  const send = (body: Record<string, unknown>, options: CallOptions = {}) =>
    server().call('POST', '/auth/keys/code', { body: { callback_url, ...body }, ...options })
  const codeFor = async (body: Record<string, unknown> = {}): Promise<string> => {
    const response = await send(body)
    expect(response.status).toBe(200)
    return response.body.data.id
  }
  const exchange = (body: Record<string, unknown>) => server().call('POST', '/auth/keys', { body, key: null })
  const keyFor = async (body: Record<string, unknown> = {}) => {
    const { body: response } = await exchange({ code: await codeFor(body) })
    return (await server().call('GET', `/keys/${sha256(response.key)}`)).body.data
  }

  afterEach(() => server().clock.release())

  test('requires no key and returns a working key with its user', async () => {
    const { status, body } = await exchange({ code: await codeFor() })
    expect(status).toBe(200)
    expect(body).toEqual({
      key: expect.stringMatching(/^sk-hg-v1-[0-9a-f]{64}$/),
      user_id: server().own.owner.id,
    })
    const { body: current } = await server().call('GET', '/key', { key: body.key })
    expect(current.data).toMatchObject({ is_management_key: false, limit: null })
  })

  test('S1 the code of a member who was removed from the workspace is refused', async () => {
    const { gateway, own } = server()
    const owner = { organizationId: own.organization.id, createdBy: null }
    const { id } = await createWorkspace(gateway.db, gateway.clock, owner, { slug: 'left', name: 'Left' })
    const member = await createSessionCaller(server(), { workspaces: { [id]: 'member' } })
    const body = { callback_url, workspace_id: id }
    const code = (await member.call('POST', '/auth/keys/code', { body })).body.data.id
    const leaving = { body: { user_ids: [member.member.id] } }
    expect((await server().call('POST', `/workspaces/${id}/members/remove`, leaving)).status).toBe(200)
    expect((await exchange({ code })).status).toBe(403)
  })

  test('the key has every setting of the code', async () => {
    const { gateway, own } = server()
    const owner = { organizationId: own.organization.id, createdBy: null }
    const workspace = await createWorkspace(gateway.db, gateway.clock, owner, {
      slug: 'apps',
      name: 'Apps',
    })
    const requested = { key_label: 'My phone', limit: 0.000000001, usage_limit_type: 'weekly' }
    const expires_at = '2099-12-31T23:59:59.5Z'
    const key = await keyFor({ ...requested, expires_at, workspace_id: workspace.id })
    expect(key).toMatchObject({
      name: 'My phone',
      limit: 0.000000001,
      limit_reset: 'weekly',
      expires_at,
      workspace_id: workspace.id,
      creator_user_id: own.owner.id,
      disabled: false,
    })
  })

  test('defaults: the name of the app, its host, and no limit, expiry or reset', async () => {
    const plain = { limit: null, limit_reset: null, expires_at: null }
    const workspace_id = server().own.workspace.id
    expect(await keyFor()).toMatchObject({ name: 'app.example.com', ...plain, workspace_id })
    expect(await keyFor({ callback_url: 'http://localhost:3000', key_label: ' ' })).toMatchObject({
      name: 'localhost:3000',
    })
  })

  test('a code works once: of 50 concurrent requests one gets a key, and there is one key', async () => {
    const key_label = 'fifty'
    const code = await codeFor({ ...s256, key_label })
    const tries = Array.from({ length: 50 }, () => exchange({ code, code_verifier: verifier }))
    const statuses = (await Promise.all(tries)).map((response) => response.status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 403)).toHaveLength(49)
    const { body } = await server().call('GET', '/keys?include_disabled=true')
    expect(body.data.filter((key: { name: string }) => key.name === key_label)).toHaveLength(1)
  })

  test('of 50 requests that all found the code valid, one gets a key', async () => {
    const { db, clock } = server().gateway
    const code = (await findCode(db, clock, await codeFor()))!
    const request = { gateway: server().gateway, caller: null, httpRequest: new Request(server().url) }
    const secrets = await Promise.all(Array.from({ length: 50 }, () => redeemCode(request, code)))
    expect(secrets.filter((secret) => secret !== undefined)).toHaveLength(1)
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>, number]>([
    ['S256 and its verifier', s256, { code_verifier: verifier }, 200],
    [
      'S256, its verifier and the method',
      s256,
      { code_verifier: verifier, code_challenge_method: 'S256' },
      200,
    ],
    ['S256 and a null method', s256, { code_verifier: verifier, code_challenge_method: null }, 200],
    ['S256 and another verifier', s256, { code_verifier: `${verifier}x` }, 403],
    ['S256 and its own challenge', s256, { code_verifier: s256.code_challenge }, 403],
    ['S256 and no verifier', s256, {}, 403],
    ['S256 and an empty verifier', s256, { code_verifier: '' }, 403],
    ['S256 and the method plain', s256, { code_verifier: verifier, code_challenge_method: 'plain' }, 400],
    [
      'plain and its verifier',
      { code_challenge: word, code_challenge_method: 'plain' },
      { code_verifier: word, code_challenge_method: 'plain' },
      200,
    ],
    ['no method, which is plain', { code_challenge: word }, { code_verifier: word }, 200],
    [
      'no method, and S256 sent',
      { code_challenge: word },
      { code_verifier: word, code_challenge_method: 'S256' },
      400,
    ],
    ['plain and another verifier', { code_challenge: word }, { code_verifier: `${word}x` }, 403],
    ['plain and no verifier', { code_challenge: word }, {}, 403],
    ['no challenge', {}, {}, 200],
    ['no challenge, and a verifier', {}, { code_verifier: verifier }, 403],
    ['no challenge, and a method', {}, { code_challenge_method: 'S256' }, 400],
  ])('PKCE: %s', async (_, request, sent, status) => {
    expect((await exchange({ code: await codeFor(request), ...sent })).status).toBe(status)
  })

  test('a wrong verifier or method does not use up the code', async () => {
    const code = await codeFor(s256)
    expect((await exchange({ code, code_verifier: 'wrong' })).status).toBe(403)
    expect((await exchange({ code, code_challenge_method: 'plain' })).status).toBe(400)
    expect((await exchange({ code, code_verifier: verifier })).status).toBe(200)
  })

  test('a code expires after ten minutes, to the millisecond', async () => {
    server().clock.freeze('2028-03-01T00:00:00.000Z')
    const [used, late] = [await codeFor(), await codeFor()]
    server().clock.advance(10 * minute - 1)
    expect((await exchange({ code: used })).status).toBe(200)
    server().clock.advance(1)
    expect((await exchange({ code: late })).status).toBe(403)
  })

  test('using a code twice disables its key; without the right verifier it does not', async () => {
    const code = await codeFor(s256)
    const { body } = await exchange({ code, code_verifier: verifier })
    const isAlive = async () => (await server().call('GET', '/key', { key: body.key })).status === 200
    expect((await exchange({ code, code_verifier: 'x'.repeat(43) })).status).toBe(403)
    expect(await isAlive()).toBe(true)
    expect((await exchange({ code, code_verifier: verifier })).status).toBe(403)
    expect(await isAlive()).toBe(false)
  })

  test('all errors read the same', async () => {
    const [used, wrong, expired] = [await codeFor(), await codeFor(s256), await codeFor()]
    await exchange({ code: used })
    const bodies = [
      await exchange({ code: 'unknown' }),
      await exchange({ code: used }),
      await exchange({ code: wrong }),
      await exchange({ code: wrong, code_verifier: 'x' }),
    ]
    server().clock.advance(11 * minute)
    bodies.push(await exchange({ code: expired }))
    expect(bodies.map((response) => response.status)).toEqual([403, 403, 403, 403, 403])
    expect(new Set(bodies.map((response) => JSON.stringify(response.body))).size).toBe(1)
  })

  test('403 when the key would have expired by now', async () => {
    server().clock.freeze('2028-03-01T00:00:00.000Z')
    const code = await codeFor({ expires_at: '2028-03-01T00:05:00Z' })
    server().clock.advance(5 * minute)
    expect((await exchange({ code })).status).toBe(403)
  })

  test('403 if the workspace was deleted in between', async () => {
    const { gateway, own } = server()
    const owner = { organizationId: own.organization.id, createdBy: null }
    const { id } = await createWorkspace(gateway.db, gateway.clock, owner, { slug: 'gone', name: 'Gone' })
    const code = await codeFor({ workspace_id: id })
    const deleted_at = new Date().toISOString()
    await gateway.db.updateTable('workspaces').set({ deleted_at }).where('id', '=', id).execute()
    expect((await exchange({ code })).status).toBe(403)
    expect((await send({ workspace_id: id })).status).toBe(403)
  })

  test('403 if the member was removed in between; their remaining key creates codes without a user', async () => {
    const { gateway, own } = server()
    const organizationId = own.organization.id
    const member = await gateway.db
      .transaction()
      .execute((tx) =>
        createMember(tx, gateway.clock, { organizationId, email: 'leaver@example.com', role: 'org:admin' }),
      )
    const { secret } = await createKey(gateway.db, gateway.clock, {
      organizationId,
      workspaceId: own.workspace.id,
      kind: 'management',
      name: 'left behind',
      creatorUserId: member.id,
    })
    const before = await send({}, { key: secret })
    await gateway.db.deleteFrom('members').where('id', '=', member.id).execute()
    const after = await send({}, { key: secret })
    expect((await exchange({ code: before.body.data.id })).status).toBe(403)
    const { status, body } = await exchange({ code: after.body.data.id })
    expect([status, body.user_id]).toEqual([200, null])
  })

  test.each<[string, unknown, string]>([
    ['code missing', {}, 'code'],
    ['code empty', { code: '' }, 'code'],
    ['code endless', { code: 'x'.repeat(513) }, 'code'],
    ['verifier not a string', { code: 'x', code_verifier: 1 }, 'code_verifier'],
    ['method unknown', { code: 'x', code_challenge_method: 'S512' }, 'code_challenge_method'],
    ['R12 an unknown field', { code: 'x', grant_type: 'authorization_code' }, 'grant_type'],
  ])('400 naming the field: %s', async (_, body, field) => {
    const response = await exchange(body as Record<string, unknown>)
    expect(response.status).toBe(400)
    expect(response.body.error.message).toStartWith(`${field}:`)
  })

  test('405 for another method', async () => {
    const response = await server().call('GET', '/auth/keys')
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toContain('POST')
  })
})
