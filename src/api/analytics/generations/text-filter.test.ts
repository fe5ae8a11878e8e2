import { expect, test } from 'bun:test'
import { sql } from 'kysely'
import { insertGeneration } from '../../../../test/support/generations.ts'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../../test/support/harness.ts'
import { buildContentStatement } from '../../../ledger/generation-contents.ts'
import { isPostgres } from '../../../platform/db/db.ts'
import { indexContents } from '../../../storage/content-search/index-contents.ts'

describeOnEachDatabase('GET /generations?text=', (server) => {
  const search = async (text: string, key: string, more = '') => {
    const path = `/generations?text=${encodeURIComponent(text)}${more}`
    const { status, body } = await server().call('GET', path, { key })
    return { status, cursor: body.cursor, ids: body.data?.map(({ id }: { id: string }) => id) }
  }

  const log = async (
    tenant: Tenant,
    id: string,
    {
      prompt,
      reply = 'ok',
      at = '2030-01-01T00:00:00.000Z',
      ...changes
    }: Record<string, string> & { prompt: string },
  ) => {
    const { gateway } = server()
    await insertGeneration(gateway, tenant, { id, created_at: at, ended_at: at, ...changes })
    const owner = {
      generationId: id,
      organizationId: tenant.organization.id,
      workspaceId: tenant.workspace.id,
      createdAt: at,
    }
    const content = {
      input: { messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }] },
      output: { completion: reply, reasoning: null, tool_calls: [] },
      error: null,
      truncated: false,
    }
    const statement = buildContentStatement(gateway.db, gateway.vault, owner, content)
    const values = statement.values.map((value) => sql`${value}`)
    const parts = statement.sql.split(/\?|\$\d+/)
    await sql`${sql.join(
      parts.flatMap((part, at) => [sql.raw(part), ...(values[at] ? [values[at]] : [])]),
      sql``,
    )}`.execute(gateway.db)
  }

  test('finds words and phrases of prompts and replies, newest first', async () => {
    const tenant = await createTenant(server().gateway, 'Texts')
    await log(tenant, 'gen-t1', {
      prompt: 'Where is my Refund for order 66?',
      at: '2030-01-01T10:00:00.000Z',
    })
    await log(tenant, 'gen-t2', {
      prompt: 'Summarize the ＣＯＮＴＲＡＣＴ, please',
      reply: 'The refund clause: state-of-the-art.',
      at: '2030-01-03T10:00:00.000Z',
      status: 'failed',
    })
    await log(tenant, 'gen-t3', { prompt: '東京都の天気はどうですか', at: '2030-01-03T11:00:00.000Z' })
    const { managementKey } = tenant
    for (const [text, ids] of [
      ['refund', ['gen-t2', 'gen-t1']],
      ['REFUND order', ['gen-t1']],
      ['"is my refund"', ['gen-t1']],
      ['"refund my"', []],
      ['contract', ['gen-t2']],
      ['contra', []],
      ['state-of-the-art', ['gen-t2']],
      ['"of state"', []],
      ['天気', ['gen-t3']],
      ['天', ['gen-t3']],
      ['都天', []],
      ['user', []],
    ] as const)
      expect({ text, ...(await search(text, managementKey)) }).toEqual({
        text,
        status: 200,
        cursor: null,
        ids: [...ids],
      })
    expect((await search('refund', managementKey, '&status=error')).ids).toEqual(['gen-t2'])
    expect((await search('refund', managementKey, '&to=2030-01-02T00:00:00Z')).ids).toEqual(['gen-t1'])
    expect((await search('refund', managementKey, '&from=2030-01-02T00:00:00Z')).ids).toEqual(['gen-t2'])
    expect((await search('!?', managementKey)).status).toBe(400)
    expect((await server().call('GET', '/generations/histogram?text=refund')).status).toBe(400)
    const { body } = await server().call('GET', '/audit?action=content.read', { key: managementKey })
    expect(body.data).toHaveLength(10)
    expect(JSON.stringify(body.data)).toContain('gen-t2')
    expect(JSON.stringify(body.data)).not.toMatch(/refund/i)
  })

  test('pages continue where the last one ended, over days and within a millisecond', async () => {
    const tenant = await createTenant(server().gateway, 'Pages')
    for (const n of [1, 2, 3, 4, 5])
      await log(tenant, `gen-p${n}`, { prompt: 'needle', at: `2030-02-0${Math.ceil(n / 3)}T00:00:00.000Z` })
    const found: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page = await search('needle', tenant.managementKey, `&limit=2${cursor && `&cursor=${cursor}`}`)
      found.push(...page.ids)
      cursor = page.cursor
    }
    expect(found).toEqual(['gen-p5', 'gen-p4', 'gen-p3', 'gen-p2', 'gen-p1'])
  })

  test('only what the caller may read is found', async () => {
    const { gateway } = server()
    const [tenant, other] = [await createTenant(gateway, 'Mine'), await createTenant(gateway, 'Others')]
    await log(tenant, 'gen-m1', { prompt: 'secret plan' })
    const key = await gateway.db
      .selectFrom('generations')
      .select('key_id')
      .where('id', '=', 'gen-m1')
      .executeTakeFirstOrThrow()
    await gateway.db
      .updateTable('generations')
      .set({ key_id: key.key_id + 1_000_000 })
      .where('id', '=', 'gen-m1')
      .execute()
    expect((await search('secret', tenant.managementKey)).ids).toEqual(['gen-m1'])
    expect((await search('secret', tenant.inferenceKey)).ids).toEqual([])
    expect((await search('secret', other.managementKey)).ids).toEqual([])
    await log(tenant, 'gen-m2', { prompt: 'secret of mine' })
    expect((await search('secret', tenant.inferenceKey)).ids).toEqual(['gen-m2'])
  })

  test('the index has hashes only, those of each organization and day their own, and goes with the content', async () => {
    const { db, vault, settings } = server().gateway
    const tenant = await createTenant(server().gateway, 'Sealed')
    const other = await createTenant(server().gateway, 'Sealed too')
    await log(tenant, 'gen-s1', { prompt: 'xylophone', at: '2030-03-01T00:00:00.000Z' })
    await log(tenant, 'gen-s2', { prompt: 'xylophone', at: '2030-03-02T00:00:00.000Z' })
    await log(other, 'gen-s3', { prompt: 'xylophone', at: '2030-03-01T00:00:00.000Z' })
    while ((await indexContents({ db, vault, settings })) === 'busy');
    const entries = await readEntries()
    expect(entries.length).toBe(3)
    expect(new Set(entries.flat()).size).toBe(entries.flat().length)
    expect(JSON.stringify(entries)).not.toContain('xylophone')
    await db.deleteFrom('generation_contents').where('generation_id', 'like', 'gen-s%').execute()
    expect(await readEntries()).toEqual([])
    expect((await search('xylophone', tenant.managementKey)).ids).toEqual([])

    async function readEntries(): Promise<unknown[][]> {
      if (isPostgres(db)) {
        const { rows } = await sql<{
          words: string
        }>`select search_entry::text as words from generation_contents
          where generation_id like 'gen-s%'`.execute(db)
        return rows.map(({ words }) => words.slice(1, -1).split(','))
      }
      await sql`create virtual table if not exists temp.terms using fts5vocab(main, content_words, instance)`.execute(
        db,
      )
      const { rows } = await sql<{ term: string; doc: bigint }>`select term, doc from temp.terms
        where doc between ${entryAt('2030-03-01')} and ${entryAt('2030-03-03')}`.execute(db)
      return [...Map.groupBy(rows, ({ doc }) => doc).values()].map((list) => list.map(({ term }) => term))
    }
    function entryAt(day: string): bigint {
      return BigInt(Date.parse(day)) * 1024n
    }
  })

  test('a content of many words is found by those of its reply and its newest message', async () => {
    const tenant = await createTenant(server().gateway, 'Long')
    const prompt = Array.from({ length: 50_000 }, (_, n) => `word${n}`).join(' ')
    await log(tenant, 'gen-l1', { prompt: `beginning ${prompt}`, reply: 'the end' })
    expect((await search('end beginning', tenant.managementKey)).ids).toEqual(['gen-l1'])
    expect((await search('"word1 word2 word3"', tenant.managementKey)).ids).toEqual(['gen-l1'])
    expect((await search('word49999', tenant.managementKey)).ids).toEqual([])
  })

  test('without contents:read the search is refused', async () => {
    const tenant = await createTenant(server().gateway, 'Limited')
    const { body } = await server().call('POST', '/management-keys', {
      key: tenant.managementKey,
      body: { name: 'limited', permissions: ['generations:read'] },
    })
    expect((await server().call('GET', '/generations', { key: body.key })).status).toBe(200)
    const refused = await server().call('GET', '/generations?text=refund', { key: body.key })
    expect(refused.status).toBe(403)
    expect(refused.body.error.metadata.permission).toBe('contents:read')
  })
})
