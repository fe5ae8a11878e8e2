import { expect, test } from 'bun:test'
import { type CallOptions, createSessionCaller, describeOnEachDatabase } from '../../test/support/harness.ts'
import type { Caller } from '../access/caller.ts'
import { noScope } from '../identity/permissions/grant.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { runOnce } from './idempotency.ts'
import { maxStoredBytes, pruneIdempotencyKeys } from './idempotency-keys.ts'
import type { Operation } from './operation.ts'

const chat = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }

describeOnEachDatabase('Idempotency-Key', (server) => {
  const createKey = (key: string, name = 'once', options: CallOptions = {}) =>
    server().call('POST', '/keys', { body: { name }, headers: { 'idempotency-key': key }, ...options })

  async function countKeys(name: string): Promise<number> {
    const { data } = (await server().call('GET', '/keys')).body
    return data.filter((key: { name: string }) => key.name === name).length
  }

  /** Runs `run` as an operation with this key. */
  async function runKeyed(idempotencyKey: string, run: () => Promise<Response>): Promise<Response> {
    const { gateway, own, url } = server()
    const key = await gateway.db
      .selectFrom('api_keys')
      .selectAll()
      .where('hash', '=', sha256(own.managementKey))
      .executeTakeFirstOrThrow()
    const caller: Caller = {
      key,
      organizationId: own.organization.id,
      userId: null,
      session: null,
      workload: null,
    }
    const operation = { id: 'createThing', method: 'POST' } as Operation
    const httpRequest = new Request(`${url}/api/v1/things`, { method: 'POST' })
    return runOnce(
      { gateway, caller, operation, scope: noScope, httpRequest, key: idempotencyKey, text: '{}' },
      run,
    )
  }

  test('a repeated request gets the same response, and nothing is created again', async () => {
    const first = await createKey('a', 'repeated')
    const second = await createKey('a', 'repeated')
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    expect(await countKeys('repeated')).toBe(1)
    const rows = await server().gateway.db.selectFrom('idempotency_keys').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(first.body.key)
  })

  test('another body is 422; another caller or operation has keys of its own', async () => {
    const { call, foreign } = server()
    await createKey('b', 'first')
    const other = await createKey('b', 'second')
    expect([other.status, other.body.error.metadata.reason]).toEqual([422, 'idempotency_key_reused'])
    expect((await createKey('b', 'second', { key: foreign.managementKey })).status).toBe(201)
    const headers = { 'idempotency-key': 'b' }
    const workspace = await call('POST', '/workspaces', {
      body: { name: 'W', slug: 'idempotent' },
      headers,
    })
    expect([workspace.status, workspace.headers.get('idempotent-replayed')]).toEqual([201, null])
  })

  test('of concurrent requests one runs, and the others are 409 or get its response', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => createKey('c', 'concurrent')))
    expect(await countKeys('concurrent')).toBe(1)
    for (const { status, headers } of responses)
      expect([`201 ${null}`, '409 1']).toContain(`${status} ${headers.get('retry-after')}`)
  })

  test('a request that failed is not remembered', async () => {
    const send = () => createKey('d', '', { body: { name: 'x', workspace_id: crypto.randomUUID() } })
    const { status } = await send()
    expect(status).toBeGreaterThanOrEqual(400)
    const ids = await server().gateway.db.selectFrom('idempotency_keys').select('response').execute()
    expect(ids.every(({ response }) => response !== null)).toBe(true)
    expect((await createKey('d', 'after the failure')).status).toBe(201)
  })

  test('an interrupted request is 409 and does not run again, until the key expires', async () => {
    const { clock, gateway } = server()
    clock.freeze('2029-01-01T00:00:00.000Z')
    await createKey('e', 'interrupted')
    await gateway.db.updateTable('idempotency_keys').set({ response: null, outcome: null }).execute()
    const running = await createKey('e', 'interrupted')
    expect([running.status, running.body.error.metadata.reason]).toEqual([409, 'idempotency_key_in_use'])
    clock.advance(3600_000)
    const interrupted = await createKey('e', 'interrupted')
    expect([interrupted.status, interrupted.body.error.metadata.reason]).toEqual([409, 'conflict'])
    expect(await countKeys('interrupted')).toBe(1)
    clock.advance(24 * 3600_000)
    expect((await createKey('e', 'interrupted')).status).toBe(201)
    clock.advance(25 * 3600_000)
    await pruneIdempotencyKeys(gateway)
    expect(await gateway.db.selectFrom('idempotency_keys').selectAll().execute()).toEqual([])
    clock.release()
  })

  test('compares uploads by their content, and is 400 if it is not a short text', async () => {
    const { call, own } = server()
    const upload = (content = 'once', filename = 'once.txt') => {
      const body = new FormData()
      body.set('purpose', 'user_data')
      body.set('file', new File([content], filename))
      return call('POST', '/files', { key: own.inferenceKey, body, headers: { 'idempotency-key': 'f' } })
    }
    const [first, second] = [await upload(), await upload()]
    expect([first.status, second.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(second.body.id).toBe(first.body.id)
    for (const other of [await upload('ecno'), await upload('once', 'eono.txt')])
      expect([other.status, other.body.error.metadata.reason]).toEqual([422, 'idempotency_key_reused'])
    const long = await createKey('g'.repeat(256))
    expect([long.status, long.body.error.param]).toEqual([400, 'Idempotency-Key'])
  })

  test('a caller that may no longer do what the request did does not get its response', async () => {
    const { call } = server()
    const [first, second] = await Promise.all(
      ['reach-a', 'reach-b'].map(async (slug) => {
        const { body } = await call('POST', '/workspaces', { body: { name: slug, slug } })
        return body.data.id as string
      }),
    )
    const manager = (
      await call('POST', '/management-keys', { body: { name: 'narrow', workspace_ids: [first, second] } })
    ).body
    const createIn = (name: string) =>
      createKey('reach', name, { key: manager.key, body: { name, workspace_id: first } })
    const created = await createIn('within reach')
    expect(created.status).toBe(201)
    const path = `/management-keys/${manager.data.hash}`
    expect((await call('PATCH', path, { body: { workspace_ids: [second] } })).status).toBe(200)
    const refused = await createIn('within reach')
    expect([refused.status, refused.body.error.metadata.reason]).toEqual([403, 'forbidden'])
    expect(JSON.stringify(refused.body)).not.toContain(created.body.key)
    await call('PATCH', path, { body: { workspace_ids: [first, second] } })
    expect((await createIn('within reach')).body).toEqual(created.body)
  })

  test('has no effect on what requires a recent sign-in, or only reads', async () => {
    const { call } = server()
    const member = await createSessionCaller(server(), { role: 'org:admin' })
    const headers = { 'idempotency-key': 'recent' }
    const codes = await member.call('POST', '/account/passkeys/options', { headers })
    expect([codes.status, codes.headers.get('x-headgate-dropped')]).toEqual([200, 'Idempotency-Key'])
    const preview = await call('POST', '/ledger/check', { headers })
    expect([preview.status, preview.headers.get('x-headgate-dropped')]).toEqual([200, 'Idempotency-Key'])
  })

  test('stored responses are deleted with the key that sent the requests', async () => {
    const { call, gateway } = server()
    const count = async () => (await gateway.db.selectFrom('idempotency_keys').select('id').execute()).length
    const manager = (await call('POST', '/management-keys', { body: { name: 'short-lived' } })).body
    const before = await count()
    expect((await createKey('by a key', 'by a key', { key: manager.key })).status).toBe(201)
    expect(await count()).toBe(before + 1)
    expect((await call('DELETE', `/management-keys/${manager.data.hash}`)).status).toBe(200)
    expect(await count()).toBe(before)
  })

  test('a response that an earlier version stored is sent again to who may still act everywhere', async () => {
    const { gateway } = server()
    const listIds = async () =>
      (await gateway.db.selectFrom('idempotency_keys').select('id').execute()).map(({ id }) => id)
    const before = new Set(await listIds())
    const first = await createKey('earlier', 'earlier')
    await runKeyed('earlier', async () => Response.json({}))
    for (const id of (await listIds()).filter((known) => !before.has(known))) {
      const headers = [['content-type', 'application/json']]
      const stored = { status: 201, headers, body: JSON.stringify(first.body) }
      const response = gateway.vault.encrypt(JSON.stringify(stored), `idempotency:${id}`)
      await gateway.db.updateTable('idempotency_keys').set({ response }).where('id', '=', id).execute()
    }
    const second = await createKey('earlier', 'earlier')
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(second.body).toEqual(first.body)
    await expect(runKeyed('earlier', async () => Response.json({}))).rejects.toMatchObject({
      code: 'forbidden',
    })
  })

  test('a response of more than 32 KB is not stored, and the request does not run again', async () => {
    let runs = 0
    const run = async () => Response.json({ text: '€'.repeat(11 * 1024), run: ++runs })
    const first = await (await runKeyed('large', run)).json()
    expect(first).toMatchObject({ run: 1 })
    await expect(runKeyed('large', run)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('32 KB'),
    })
    expect(runs).toBe(1)
  })

  test('beyond the bytes of an organization the oldest responses are dropped, not their keys', async () => {
    const { gateway, clock } = server()
    let runs = 0
    const run = async () => Response.json({ text: 'x'.repeat(1000), run: ++runs })
    await runKeyed('oldest', run)
    clock.advance(1000)
    await gateway.db.updateTable('idempotency_keys').set({ bytes: maxStoredBytes }).execute()
    const newer = await runKeyed('newer still', run)
    expect(newer.status).toBe(200)
    const replayed = await runKeyed('newer still', run)
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
    for (const key of ['oldest']) await expect(runKeyed(key, run)).rejects.toMatchObject({ code: 'conflict' })
    expect(runs).toBe(2)
    clock.release()
  })

  test('after a 4xx the request runs again; after a 5xx it does not, since its outcome is unknown', async () => {
    let runs = 0
    const fail = (error: Error) => async () => {
      runs++
      throw error
    }
    const failures = [
      gatewayError('conflict'),
      new Error('lost connection'),
      gatewayError('upstream_failed'),
      gatewayError('upstream_timeout'),
    ]
    for (const [index, failure] of failures.entries())
      await runKeyed(`failed ${index}`, fail(failure)).catch(() => undefined)
    expect(runs).toBe(4)
    const succeed = async () => Response.json({})
    expect((await runKeyed('failed 0', succeed)).status).toBe(200)
    for (const index of [1, 2, 3]) {
      await expect(runKeyed(`failed ${index}`, succeed)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('may have had an effect'),
      })
    }
  })

  test('where it has no effect, x-headgate-dropped names it', async () => {
    const { call, own } = server()
    const headers = { 'idempotency-key': 'h' }
    const reply = await call('POST', '/chat/completions', { key: own.inferenceKey, body: chat, headers })
    expect([reply.status, reply.headers.get('x-headgate-dropped')]).toEqual([200, 'Idempotency-Key'])
    const { hash } = (await createKey('i', 'patched')).body.data
    const patched = await call('PATCH', `/keys/${hash}`, { body: { name: 'p' }, headers })
    expect(patched.headers.get('x-headgate-dropped')).toBe('Idempotency-Key')
  })
})
