import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { insertContent, insertGeneration, sampleContent } from '../../../test/support/generations.ts'
import { databaseKinds, startTestServer, type TestServer } from '../../../test/support/harness.ts'
import { hasS3, newS3Options, toSettings } from '../../../test/support/s3.ts'
import { beginStream } from '../../analytics/clickhouse/stream-store.ts'
import { compactSegments } from '../../analytics/rollups/compact-segments.ts'
import { completeLevels } from '../../analytics/rollups/complete-levels.ts'
import { checkLedger } from '../../ledger/check.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Schema } from '../../platform/db/schema.ts'
import { S3Store } from '../../platform/files/s3-store.ts'
import { moveContents } from '../../storage/content-packs.ts'
import { runErasures } from './run.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** A name that no record has by chance. */
const person = 'anna.ä+canary@example.org'

describe.each(databaseKinds)('the erasure of an end user (%s)', (kind) => {
  let server: TestServer
  let receipt: string
  let responseId: string
  let conversationId: string
  let kept: Awaited<ReturnType<typeof readTotals>>

  const db = () => server.gateway.db
  const send = async (path: string, body: object, headers = {}) => {
    const reply = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.own.inferenceKey}`,
        ...headers,
      },
      body: JSON.stringify({ model: 'sandbox/echo', ...body }),
    })
    const text = await reply.text()
    return { reply, body: text ? JSON.parse(text) : null }
  }
  const chat = (user: string | null, headers = {}) =>
    send('/v1/chat/completions', { user, messages: [{ role: 'user', content: 'Hello canary' }] }, headers)
  const tables = async (): Promise<(keyof Schema)[]> => {
    const all = await db().introspection.getTables()
    return all
      .map(({ name }) => name as keyof Schema)
      .filter((name) => !/_(before|earlier|later|\d+)$/.test(name))
  }
  /** The tables in which a text is in clear. */
  const findText = async (text: string) => {
    const found: string[] = []
    for (const table of await tables()) {
      const rows = (await db().selectFrom(table).selectAll().execute()) as Record<string, unknown>[]
      const isIn = (value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).includes(text) : String(value).includes(text)
      if (rows.some((row) => Object.values(row).some(isIn))) found.push(table)
    }
    return found.sort()
  }
  const readTotals = async () => {
    const later = new Date(server.clock.now() + dayMs).toISOString()
    const from = new Date(server.clock.now() - 5 * dayMs).toISOString()
    const usage = await server.call('POST', '/analytics/query', {
      body: {
        metrics: ['request_count', 'total_usage', 'tokens_total'],
        time_range: { start: from, end: later },
      },
    })
    const credits = await server.call('GET', '/credits')
    const rows = await db()
      .selectFrom('generations')
      .select((eb) => [eb.fn.sum<bigint>('cost_nanos').as('cost'), eb.fn.countAll<number>().as('count')])
      .executeTakeFirstOrThrow()
    const entries = await db().selectFrom('ledger_entries').selectAll().orderBy('id').execute()
    return { usage: usage.body, credits: credits.body, cost: rows.cost, count: Number(rows.count), entries }
  }
  const run = async () => {
    while ((await runErasures(server.gateway)) === 'busy');
  }
  const rollUp = () => server.gateway.rollUps.rollUp({ isAll: true })
  const erase = (name = person, options = {}) =>
    server.call('DELETE', `/end-users/${encodeURIComponent(name)}/data`, options)
  const read = async (id = receipt) => (await server.call('GET', `/end-user-erasures/${id}`)).body.data
  const endUsers = async () => {
    const to = new Date(server.clock.now() + dayMs).toISOString()
    const { body } = await server.call('GET', `/end-users?to=${to}`)
    return new Map(body.data.map((user: { id: string; requests: number }) => [user.id, user.requests]))
  }

  beforeAll(async () => {
    server = await startTestServer(kind, { settings: 'semantic_cache: { model: sandbox/embedder }' })
    server.clock.freeze('2028-03-10T11:00:00.000Z')
    const logging = { is_observability_io_logging_enabled: true }
    expect((await server.call('PATCH', '/workspaces/default', { body: logging })).status).toBe(200)
    for (const limit of [
      { name: 'Each', measure: 'requests', window: 'day' },
      { name: 'Money', measure: 'usd', window: 'month' },
    ]) {
      const body = { ...limit, amount: 1000, per: ['end_user'] }
      expect((await server.call('POST', '/limits', { body })).status).toBe(201)
    }
    // Two days: one is compacted, the other is the day of the erasure.
    for (let n = 0; n < 4; n++) {
      for (const user of [person, 'other', null]) expect((await chat(user)).reply.status).toBe(200)
      await rollUp()
    }
    server.clock.freeze('2028-03-12T10:00:00.000Z')
    await compactSegments(server.gateway)
    const cached = { 'x-service-cache': 'true', 'x-service-cache-ttl': '86400' }
    const { body } = await chat(person, { ...cached, 'x-service-cache-mode': 'semantic' })
    const feedback = { generation_id: body.id, category: 'other', comment: `of ${person}` }
    expect((await server.call('POST', '/generation/feedback', { body: feedback })).status).toBeLessThan(300)
    const conversation = await send('/v1/conversations', { model: undefined })
    expect(conversation.reply.status).toBe(200)
    conversationId = conversation.body.id
    const response = { input: 'Hello canary', store: true, conversation: conversationId, user: person }
    responseId = (await send('/v1/responses', response)).body.id
    const messages = [{ role: 'user', content: 'Hello' }]
    const refused = await send('/v1/chat/completions', { user: person, model: 'no/model', messages })
    expect(refused.reply.status).toBeGreaterThan(399)
    await server.gateway.requestLog.rejected.flush(true)
    await server.gateway.limitCounts.write()
    await rollUp()
    for (const user of [person, 'other']) await chat(user)
    kept = await readTotals()
  }, 60_000)
  afterAll(() => server.stop())

  test('is answered with a receipt, and the name is in it as a hash only', async () => {
    expect(await findText(person)).toContain('generations')
    expect(await findText(person)).toContain('usage_columns')
    server.clock.advance(1000)
    const { status, body } = await erase()
    receipt = body.data.id
    expect(status).toBe(202)
    expect(body.data).toMatchObject({
      end_user_sha256: sha256(person),
      status: 'pending',
      completed_at: null,
    })
    expect(JSON.stringify(body)).not.toContain('canary@')
    expect(await read()).toEqual(body.data)
  })

  test('later requests are kept, and an interrupted run is continued', async () => {
    server.clock.advance(1000)
    expect((await chat(person)).reply.status).toBe(200)
    // Counts are written within a second: here, before a pass rather than between two.
    await server.gateway.limitCounts.write()
    const { rollUps } = server.gateway
    const original = rollUps.renameEndUser.bind(rollUps)
    rollUps.renameEndUser = () => Promise.reject(new Error('killed'))
    await expect(run()).rejects.toThrow('killed')
    rollUps.renameEndUser = original
    expect((await read()).status).toBe('running')
    server.clock.advance(2 * minuteMs)
    await run()
    const before = await read()
    await run()
    expect(await read()).toEqual(before)
  })

  test('is completed when requests that were in progress have ended', async () => {
    server.clock.advance(3 * minuteMs)
    await run()
    const data = await read()
    expect(data).toMatchObject({
      status: 'completed',
      completed_at: expect.any(String),
      counts: {
        requests: 8,
        contents: 7,
        feedback: 1,
        stored_responses: 1,
        conversations: 1,
        refused_requests: 1,
        limit_counters: 1,
        similar_replies: 1,
        cached_replies: 1,
      },
    })
    expect(data.not_reached.map((item: { kind: string }) => item.kind)).toContain('backups')
  })

  test('leaves the sums of money and tokens as they were, and the ledger in order', async () => {
    // One request was sent after the erasure.
    const last = await db()
      .selectFrom('generations')
      .selectAll()
      .where('external_user', '=', person)
      .execute()
    expect(last).toHaveLength(1)
    const totals = await readTotals()
    expect(totals.count).toBe(kept.count + 1)
    expect(BigInt(totals.cost)).toBe(BigInt(kept.cost) + (last[0]?.cost_nanos ?? 0n))
    expect(totals.entries.slice(0, kept.entries.length)).toEqual(kept.entries)
    const { findings } = await checkLedger(db())
    expect(findings.flatMap((finding) => finding.violations)).toEqual([])
    const [before, after] = [
      kept.usage.data.data ?? kept.usage.data,
      totals.usage.data.data ?? totals.usage.data,
    ]
    expect(Number(after[0].request_count)).toBe(Number(before[0].request_count) + 1)
  })

  test('shows the requests under a pseudonym, before and after the day is rolled up again', async () => {
    const { pseudonym } = await read()
    const expected = new Map<unknown, unknown>([
      [pseudonym, 8],
      ['other', 5],
      [person, 1],
    ])
    expect(await endUsers()).toEqual(expected)
    await rollUp()
    expect(await endUsers()).toEqual(expected)
    server.clock.advance(dayMs)
    await completeLevels(server.gateway)
    await compactSegments(server.gateway)
    expect(await endUsers()).toEqual(expected)
  })

  test('deleted contents, stored responses, conversations and cached replies', async () => {
    const contents = await db().selectFrom('generation_contents').select('generation_id').execute()
    const own = await db()
      .selectFrom('generations')
      .select('id')
      .where('external_user', '=', (await read()).pseudonym)
      .execute()
    const ids = new Set(own.map(({ id }) => id))
    expect(contents.some(({ generation_id }) => ids.has(generation_id))).toBe(false)
    expect(contents.length).toBeGreaterThan(0)
    const get = (path: string) =>
      fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${server.own.inferenceKey}` } })
    expect((await get(`/v1/responses/${responseId}`)).status).toBe(404)
    expect((await get(`/v1/conversations/${conversationId}`)).status).toBe(404)
    expect(server.gateway.responseCache.count).toBe(0)
  })

  test('S3 leaves other organizations alone', async () => {
    const { foreign } = server
    expect(
      (await server.call('GET', `/end-user-erasures/${receipt}`, { key: foreign.managementKey })).status,
    ).toBe(404)
    const { body } = await erase('other', { key: foreign.managementKey })
    await run()
    server.clock.advance(3 * minuteMs)
    await run()
    const own = await server.call('GET', `/end-user-erasures/${body.data.id}`, { key: foreign.managementKey })
    expect(own.body.data).toMatchObject({ status: 'completed', counts: { requests: 0, contents: 0 } })
    expect((await endUsers()).get('other')).toBe(5)
  })

  test('can be repeated, and then nothing has the name but limits in use this month', async () => {
    server.clock.advance(1000)
    const { body } = await erase()
    await run()
    server.clock.advance(3 * minuteMs)
    await run()
    expect((await read(body.data.id)).counts).toMatchObject({ requests: 1, contents: 1, stored_responses: 0 })
    expect(await findText(person)).toEqual([])
    const encoded = encodeURIComponent(person)
    expect(await findText(encoded)).toContain('meters')
    // The lease of this node on the meter ends a minute after the last request, which is longer than a test may take.
    if (kind === 'postgres') await db().deleteFrom('holds').execute()
    if (kind === 'postgres')
      await sql`update meters set held_total_nanos = 0, held_byok_total_nanos = 0`.execute(db())
    for (let passes = 0; passes < 2; passes++) {
      server.clock.advance(32 * dayMs)
      await run()
    }
    expect(await findText(encoded)).toEqual([])
    const rows = await db().selectFrom('erasures').select(['sealed_end_user', 'due_at']).execute()
    expect(rows.every((row) => row.sealed_end_user === null && row.due_at === null)).toBe(true)
    const list = await server.call('GET', `/end-user-erasures?end_user_sha256=${sha256(person)}`)
    expect(list.body.total_count).toBe(2)
  })

  test('sends the renamed requests to ClickHouse again', async () => {
    await beginStream(db(), new Date(server.clock.now()).toISOString())
    const { body } = await chat('carol')
    await rollUp()
    await db().deleteFrom('clickhouse_queue').execute()
    server.clock.advance(1000)
    await erase('carol')
    await run()
    const queue = await db().selectFrom('clickhouse_queue').selectAll().execute()
    expect(queue.map(({ generation_id }) => generation_id)).toEqual([body.id])
  })

  test('is in the audit log, without the name', async () => {
    const entries = await db()
      .selectFrom('audit_entries')
      .select(['action', 'target_id', 'changes'])
      .where('action', 'like', 'end_user.erase%')
      .where('chain_id', '=', server.own.organization.id)
      .orderBy('seq')
      .execute()
    expect(entries.map(({ action }) => action)).toEqual([
      'end_user.erase',
      'end_user.erased',
      'end_user.erase',
      'end_user.erased',
      'end_user.erase',
    ])
    expect(entries[1]?.changes).toContain('"requests":8')
    const hashes = [person, person, person, person, 'carol'].map(sha256)
    expect(entries.map(({ target_id }) => target_id)).toEqual(hashes)
  })

  test.each([
    "o'brien",
    '100%_x',
    'a/b',
    '%2F',
    'a\\b',
    ' padded ',
    'line\nbreak',
    '\u2028',
    'e\u0301',
    'x'.repeat(256),
  ])('reaches a name as a client sent it: %j', async (name) => {
    const { body } = await chat(name)
    server.clock.advance(1000)
    const { status, body: erased } = await erase(name)
    expect({ status, erased }).toMatchObject({ status: 202 })
    await run()
    const row = await db()
      .selectFrom('generations')
      .select('external_user')
      .where('id', '=', body.id)
      .executeTakeFirstOrThrow()
    expect(row.external_user).toBe(erased.data.pseudonym)
  })
})

describe.each(databaseKinds)('an erasure that is interrupted (%s)', (kind) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(kind)
    server.clock.freeze('2028-03-12T10:00:00.000Z')
  })
  afterAll(() => server.stop())

  /** The gateway with a database whose nth transaction fails, before or after its commit. */
  const failAt = (n: number, when: 'before' | 'after') => {
    const { gateway } = server
    let count = 0
    const db = new Proxy(gateway.db, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown
        if (name !== 'transaction') return typeof value === 'function' ? value.bind(target) : value
        return () => ({
          execute: async (work: (tx: Db) => Promise<unknown>) => {
            const fails = ++count === n
            if (fails && when === 'before') throw new Error('killed')
            const result = await target.transaction().execute(work)
            if (fails) throw new Error('killed')
            return result
          },
        })
      },
    })
    return { gateway: { ...gateway, db }, hasFailed: () => count >= n }
  }

  test.each(['before', 'after'] as const)(
    '%s a commit, loses and repeats nothing',
    async (when) => {
      const { gateway, own } = server
      let isReached = true
      for (let n = 1; isReached; n++) {
        const name = `person ${when} ${n}`
        const created_at = new Date(server.clock.now() - 60_000).toISOString()
        for (let rows = 0; rows < 3; rows++) {
          const id = await insertGeneration(gateway, own, { created_at, external_user: name, cost_nanos: 7n })
          await insertContent(gateway, own, id, { createdAt: created_at })
        }
        const { body } = await server.call('DELETE', `/end-users/${encodeURIComponent(name)}/data`)
        const failing = failAt(n, when)
        await runErasures(failing.gateway).catch((error: Error) => expect(error.message).toBe('killed'))
        isReached = failing.hasFailed()
        for (let passes = 0; passes < 3; passes++) {
          server.clock.advance(3 * minuteMs)
          while ((await runErasures(gateway)) === 'busy');
        }
        const receipt = await server.call('GET', `/end-user-erasures/${body.data.id}`)
        expect(receipt.body.data).toMatchObject({ status: 'completed', counts: { requests: 3, contents: 3 } })
        const events = await gateway.db
          .selectFrom('audit_entries')
          .select('id')
          .where('action', '=', 'end_user.erased')
          .where('target_id', '=', sha256(name))
          .execute()
        expect(events).toHaveLength(1)
        expect(n).toBeLessThan(50)
      }
    },
    60_000,
  )
})

const bucketOptions = hasS3 ? newS3Options() : null

describe.if(bucketOptions !== null)('the erasure of contents in the bucket', () => {
  test.each(databaseKinds)('deletes their bytes, and keeps those of others (%s)', async (kind) => {
    const s3 = bucketOptions && toSettings(bucketOptions)
    const settings = `files: ${JSON.stringify({ s3 })}\nrecords: { contents: bucket }\n`
    const server = await startTestServer(kind, { settings })
    const { gateway, own } = server
    const bucket = bucketOptions && new S3Store(bucketOptions)
    const listPacks = async () => (bucket ? (await Array.fromAsync(bucket.list('contents/'))).flat() : [])
    const createdAt = new Date(server.clock.now() - 1000).toISOString()
    const insert = async (external_user: string) => {
      const times = { created_at: createdAt, ended_at: createdAt }
      const id = await insertGeneration(gateway, own, { ...times, external_user })
      const content = { ...sampleContent, input: { prompt: external_user } }
      await insertContent(gateway, own, id, { content, createdAt })
      return id
    }
    try {
      const [theirs, other] = [await insert('anna'), await insert('bert')]
      await moveContents(gateway)
      const [before] = await listPacks()
      expect((await server.call('DELETE', '/end-users/anna/data')).status).toBe(202)
      server.clock.advance(1000)
      while ((await runErasures(gateway)) === 'busy');
      expect((await listPacks()).map(({ key }) => key)).not.toContain(before?.key)
      const read = (id: string) => server.call('GET', `/generation/content?id=${id}`)
      expect((await read(theirs)).status).toBe(404)
      expect((await read(other)).body.data.input).toEqual({ prompt: 'bert' })
      await moveContents(gateway)
      expect((await read(other)).body.data.input).toEqual({ prompt: 'bert' })
      expect(await listPacks()).toHaveLength(1)
    } finally {
      for (const { key } of await listPacks()) await bucket?.delete(key)
      await server.stop()
    }
  })
})
