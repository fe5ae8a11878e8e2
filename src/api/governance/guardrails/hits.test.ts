import { beforeAll, describe, expect, test } from 'bun:test'
import { setKeyGuardrail } from '../../../../test/guardrails/support.ts'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { deleteOldHits } from '../../../analytics/rollups/retention.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'

const card = '4111 1111 1111 1111'

describeOnEachDatabase('Guardrail hits', (server) => {
  const send = (content: string) =>
    server().call('POST', '/chat/completions', {
      key: server().own.inferenceKey,
      body: { model: 'sandbox/echo', messages: [{ role: 'user', content }] },
    })
  const list = async (query = '', key?: string) =>
    (await server().call('GET', `/guardrails/hits${query}`, key === undefined ? {} : { key })).body

  let redactedId: string
  beforeAll(async () => {
    await setKeyGuardrail(server(), {
      content_filter_builtins: [
        { slug: 'credit-card', action: 'redact' },
        { slug: 'ssn', action: 'block' },
        { slug: 'email', action: 'flag' },
      ],
    })
    const redacted = await send(`My card is ${card}, or ${card}; write to ada@example.com`)
    redactedId = redacted.headers.get('x-generation-id') ?? ''
    expect((await send('My number is 123-45-6789')).status).toBe(403)
    await setKeyGuardrail(server(), { dry_run: true })
    expect((await send('My number is 123-45-6789')).status).toBe(200)
  })

  describe('GET /guardrails/hits', () => {
    test('R35 lists what was blocked, redacted, flagged and only recorded, newest first', async () => {
      const { data, cursor } = await list()
      expect(cursor).toBeNull()
      const shown = data.map((hit: Record<string, unknown>) => [
        hit.rule,
        hit.action,
        hit.enforced,
        hit.count,
      ])
      expect(shown.slice(0, 2)).toEqual([
        ['ssn', 'block', false, 1],
        ['ssn', 'block', true, 1],
      ])
      expect(shown.slice(2).toSorted()).toEqual([
        ['credit-card', 'redact', true, 2],
        ['email', 'flag', true, 1],
      ])
      expect(data[0]).toMatchObject({
        api_key_hash: sha256(server().own.inferenceKey),
        workspace_id: server().own.workspace.id,
        user_id: server().own.owner.id,
        direction: 'input',
        part: 'text',
        role: 'user',
        layers: ['key'],
      })
    })

    test('R40 the text that matched is in no response and no row', async () => {
      const rows = await server().gateway.db.selectFrom('guardrail_hits').selectAll().execute()
      const shown = JSON.stringify([rows, await list(), await summarize('?group_by=key')])
      for (const secret of ['4111 1111', '123-45-6789', 'ada@']) expect(shown).not.toContain(secret)
    })

    test.each([
      ['rule=ssn', 2],
      ['action=redact', 1],
      ['enforced=false', 1],
      ['direction=output', 0],
      ['layer=key', 4],
      ['layer=organization', 0],
      ['rule=ssn&enforced=true', 1],
      ['to=2020-01-01T00:00:00Z', 0],
      ['from=2020-01-01T00:00:00Z', 4],
    ])('filters: %s', async (query, count) => {
      expect((await list(`?${query}`)).data).toHaveLength(count)
    })

    test('filters by key, workspace and request', async () => {
      const { own } = server()
      expect((await list(`?api_key_hash=${sha256(own.inferenceKey)}`)).data).toHaveLength(4)
      expect((await list(`?workspace_id=${own.workspace.id}`)).data).toHaveLength(4)
      expect((await list(`?generation_id=${redactedId}`)).data).toHaveLength(2)
      expect((await list(`?generation_id=${redactedId}&rule=email`)).data).toHaveLength(1)
      expect((await list(`?generation_id=${redactedId}&to=2020-01-01T00:00:00Z`)).data).toEqual([])
      const unused = (await server().call('POST', '/keys', { body: { name: 'unused' } })).body.data.hash
      expect((await list(`?api_key_hash=${unused}`)).data).toEqual([])
    })

    test('pages with a cursor, and each hit is on one page', async () => {
      const ids: string[] = []
      let query = '?limit=3'
      for (;;) {
        const { data, cursor } = await list(query)
        ids.push(...data.map(({ id }: { id: string }) => id))
        if (cursor === null) break
        query = `?limit=3&cursor=${cursor}`
      }
      expect(ids).toEqual((await list()).data.map(({ id }: { id: string }) => id))
    })

    test.each([
      ['cursor=x', 'cursor'],
      ['from=yesterday', 'from'],
      ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'to'],
      ['action=delete', 'action'],
      ['limit=0', 'limit'],
      ['color=red', 'color'],
    ])('400 naming the parameter: %s', async (query, field) => {
      const { error } = await list(`?${query}`)
      expect(error.code).toBe(400)
      expect(error.message).toStartWith(field)
    })

    test('R37 hits, keys, workspaces, requests and cursors of another organization are not visible', async () => {
      const { own, foreign } = server()
      const key = foreign.managementKey
      expect((await list('', key)).data).toEqual([])
      expect((await list(`?generation_id=${redactedId}`, key)).data).toEqual([])
      expect((await list(`?api_key_hash=${sha256(own.inferenceKey)}`, key)).error.code).toBe(404)
      expect((await list(`?workspace_id=${own.workspace.id}`, key)).error.code).toBe(403)
      const { cursor } = await list('?limit=1')
      expect((await list(`?cursor=${cursor}`, key)).error.code).toBe(400)
      expect((await summarize('', key)).data).toEqual([])
    })
  })

  test('the record of a generation has its hits', async () => {
    const { body } = await server().call('GET', `/generation?id=${redactedId}`)
    const hits = body.data.headgate.guardrail_hits
    expect(hits.map(({ rule }: { rule: string }) => rule).toSorted()).toEqual(['credit-card', 'email'])
    expect(hits[0]).toMatchObject({ enforced: true, direction: 'input', layers: ['key'] })
  })

  const summarize = async (query = '', key?: string) =>
    (await server().call('GET', `/guardrails/hits/summary${query}`, key === undefined ? {} : { key })).body

  describe('GET /guardrails/hits/summary', () => {
    test('counts requests and matches by rule and action', async () => {
      const day = new Date(server().clock.now()).toISOString().slice(0, 10)
      const { data, counted_from, truncated } = await summarize()
      expect({ counted_from, truncated }).toEqual({ counted_from: null, truncated: false })
      const traits = { direction: 'input', requests: 1, day }
      expect(data).toHaveLength(4)
      expect(data).toContainEqual({
        rule: 'credit-card',
        action: 'redact',
        enforced: true,
        matches: 2,
        ...traits,
      })
      expect(data).toContainEqual({ rule: 'ssn', action: 'block', enforced: false, matches: 1, ...traits })
    })

    test('by key and by member', async () => {
      const { own } = server()
      const byKey = await summarize('?group_by=key&rule=email')
      expect(byKey.data).toMatchObject([{ api_key_hash: sha256(own.inferenceKey), requests: 1, matches: 1 }])
      const byMember = await summarize('?group_by=member&rule=email')
      expect(byMember.data).toMatchObject([{ user_id: own.owner.id, requests: 1, matches: 1 }])
    })

    test('400 for more than 31 days', async () => {
      const { error } = await summarize('?from=2026-01-01T00:00:00Z&to=2026-02-02T00:00:00Z')
      expect(error.message).toBe('from: must be at most 31 days before to')
    })
  })

  test('S13 a page reads a bounded number of hits, and the rest follows', async () => {
    const { db, clock } = server().gateway
    const { organization, workspace, inferenceKey } = server().foreign
    const key = await db
      .selectFrom('api_keys')
      .select('id')
      .where('hash', '=', sha256(inferenceKey))
      .executeTakeFirstOrThrow()
    const created_at = new Date(clock.now()).toISOString()
    const row = (rule: string) => ({
      ...{ id: newUuid(), organization_id: organization.id, workspace_id: workspace.id, key_id: key.id },
      ...{ user_id: null, generation_id: 'gen-many', rule, action: 'flag', enforced: 1, direction: 'input' },
      ...{ part: 'text', role: 'user', count: 1, kinds: '[]', layers: '["key"]', created_at },
    })
    for (let batch = 0; batch < 21; batch++) {
      const rows = Array.from({ length: 500 }, () => row('phone'))
      await db
        .insertInto('guardrail_hits')
        .values(rows as never)
        .execute()
    }
    const old = { ...row('rare'), created_at: '2026-01-01T00:00:00.000Z' }
    await db
      .insertInto('guardrail_hits')
      .values(old as never)
      .execute()

    const first = await list('?rule=rare', server().foreign.managementKey)
    expect(first.data).toEqual([])
    const second = await list(`?rule=rare&cursor=${first.cursor}`, server().foreign.managementKey)
    expect(second).toMatchObject({ data: [{ rule: 'rare' }], cursor: null })

    const context = { db, clock }
    expect(await deleteOldHits(context, null)).toBe(0)
    expect(await deleteOldHits(context, 30)).toBe(1)
    expect((await list('?rule=rare&from=2026-01-01T00:00:00Z', server().foreign.managementKey)).data).toEqual(
      [],
    )
    const ofOne = await list('?generation_id=gen-many', server().foreign.managementKey)
    expect(ofOne.data).toHaveLength(10_500)
  })
})
