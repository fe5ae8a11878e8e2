import { expect, test } from 'bun:test'
import { insertContent, insertGeneration, sampleContent } from '../../../../test/support/generations.ts'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../../test/support/harness.ts'
import { measureLoopDelay } from '../../../../test/support/loop-delay.ts'
import type { GenerationTable } from '../../../platform/db/generation-table.ts'

type Body = Record<string, unknown>

const toReasoner = { models: ['sandbox/reasoner'] }
const german = 'Was ist das, und wie schreibe ich einen Brief mit dem Computer?'

describeOnEachDatabase('dry runs of routing rules', (server) => {
  const newTenant = () => createTenant(server().gateway, `Past ${crypto.randomUUID().slice(0, 8)}`)
  const insert = (tenant: Tenant, changes: Partial<GenerationTable> = {}) =>
    insertGeneration(server().gateway, tenant, changes)
  const insertPrompt = async (tenant: Tenant, content: string) => {
    const id = await insert(tenant)
    const input = { messages: [{ role: 'user', content }] }
    await insertContent(server().gateway, tenant, id, { content: { ...sampleContent, input } })
    return id
  }
  const dryRun = async ({ managementKey: key }: Pick<Tenant, 'managementKey'>, body: Body = {}) => {
    const response = await server().call('POST', '/routing-rules/dry-run', { key, body })
    expect({ status: response.status, body: response.body }).toMatchObject({ status: 200 })
    return response.body.data
  }

  test('counts what a draft would have changed, with the newest requests as a sample', async () => {
    const tenant = await newTenant()
    const ids: string[] = []
    for (let count = 0; count < 12; count++)
      ids.push(await insert(tenant, { tags: 'project=x\nteam=search', requested_model: 'acme/big' }))
    await insert(tenant, { tags: 'team=other' })
    await insert(tenant)
    const rule = {
      name: 'Search',
      when: `tags.team == 'search'`,
      then: { ...toReasoner, tags: { lane: 'batch' }, provider: { sort: 'price' } },
    }
    const totals = await dryRun(tenant, { rule })
    expect(totals).toMatchObject({ examined: 14, is_complete: true, matched: 12, rejected: 0, undecided: 0 })
    expect(totals.models).toEqual([{ before: 'acme/big', after: ['sandbox/reasoner'], requests: 12 }])
    expect(totals.tags).toEqual([{ tag: 'lane=batch', requests: 12 }])
    const [first] = totals.rules
    expect(first).toMatchObject({ id: null, name: 'Search', matched: 12, failed: 0 })
    expect(first.sample).toHaveLength(10)
    expect(first.sample.every((id: string) => ids.includes(id))).toBe(true)
    expect((await dryRun(tenant, { rule, max_requests: 5 })).is_complete).toBe(false)
    const { body } = await server().call('GET', '/routing-rules', { key: tenant.managementKey })
    expect(body.data).toEqual([])
  })

  test.each<[string, Partial<GenerationTable>]>([
    [`model == 'acme/big'`, { requested_model: 'acme/big' }],
    [`operation == 'embeddings'`, { api_type: 'embeddings' }],
    [`stream`, { streamed: 1 }],
    [`end_user == 'ann'`, { external_user: 'ann' }],
    [`region == 'eu'`, { region: 'eu' }],
    [`images == 2`, { input_images: 2 }],
    [`input_tokens > 1000`, { tokens_input: 600, tokens_cache_read: 500 }],
    [`workspace == 'default'`, {}],
    [`size(key_hash) == 64`, {}],
  ])('reads %s from the record', async (when, changes) => {
    const tenant = await newTenant()
    await insert(tenant, changes)
    const matched = async (text: string) =>
      (await dryRun(tenant, { rule: { when: text, then: toReasoner } })).matched
    expect([await matched(when), await matched(`!(${when})`)]).toEqual([1, 0])
  })

  test('the time of the request, and only those of the last days', async () => {
    const tenant = await newTenant()
    const now = server().clock.now()
    const daysAgo = (days: number) => new Date(now - days * 86_400_000).toISOString()
    for (const days of [1, 3, 20]) await insert(tenant, { created_at: daysAgo(days) })
    const when = `time < timestamp('${daysAgo(2).slice(0, 19)}Z')`
    const rule = { when, then: toReasoner }
    expect(await dryRun(tenant, { rule })).toMatchObject({ examined: 2, matched: 1 })
    expect(await dryRun(tenant, { rule, days: 30 })).toMatchObject({ examined: 3, matched: 2 })
  })

  test('what is not on record is undecided, unless the rest decides', async () => {
    const tenant = await newTenant()
    await insert(tenant, { external_user: 'ann' })
    await insert(tenant, { external_user: 'bob' })
    await insertPrompt(tenant, german)
    await insertPrompt(tenant, 'How do I write a letter with this computer?')
    const run = (when: string) => dryRun(tenant, { rule: { when, then: toReasoner } })
    expect(await run(`language == 'de'`)).toMatchObject({
      examined: 4,
      matched: 1,
      undecided: 2,
      not_recorded: [{ variable: 'language', requests: 2 }],
    })
    expect(await run(`language == 'de' || end_user == 'ann'`)).toMatchObject({ matched: 2, undecided: 1 })
    expect(await run(`end_user == 'ann' && 'search' in tools`)).toMatchObject({
      matched: 0,
      undecided: 1,
      not_recorded: [{ variable: 'tools', requests: 1 }],
    })
    expect(await run(`uses_tools && false`)).toMatchObject({ matched: 0, undecided: 0 })
    const { body } = await server().call('GET', '/audit?action=content.read', { key: tenant.managementKey })
    expect(body.data).toHaveLength(2)
    expect(JSON.stringify(body.data)).not.toContain('Brief')
  })

  test('prompts are read only for those who may read them', async () => {
    const tenant = await newTenant()
    await insertPrompt(tenant, german)
    const created = await server().call('POST', '/management-keys', {
      key: tenant.managementKey,
      body: { name: 'limited', permissions: ['routing_rules:read', 'generations:read'] },
    })
    const rule = { when: `language == 'de'`, then: toReasoner }
    const limited = { managementKey: created.body.key }
    expect(await dryRun(limited, { rule })).toMatchObject({ examined: 1, matched: 0, undecided: 1 })
    expect(await dryRun(tenant, { rule })).toMatchObject({ examined: 1, matched: 1, undecided: 0 })
    const blind = await server().call('POST', '/management-keys', {
      key: tenant.managementKey,
      body: { name: 'blind', permissions: ['routing_rules:read'] },
    })
    const everything = { when: 'true', then: toReasoner }
    expect((await dryRun({ managementKey: blind.body.key }, { rule: everything })).examined).toBe(0)
  })

  test('a condition that cannot be evaluated is counted as failed', async () => {
    const tenant = await newTenant()
    await insert(tenant, { tags: 'level=high' })
    await insert(tenant, { tags: 'level=7' })
    const rule = { when: 'int(tags.level) > 5', then: { reject: { message: 'no' } } }
    const totals = await dryRun(tenant, { rule })
    expect(totals).toMatchObject({ matched: 1, rejected: 1, rules: [{ matched: 1, rejected: 1, failed: 1 }] })
  })

  test('all rules in their order, without those that are disabled; workspaces have their own', async () => {
    const tenant = await newTenant()
    const key = tenant.managementKey
    const create = async (body: Body) =>
      (await server().call('POST', '/routing-rules', { key, body })).body.data.id
    const post = async (path: string, body: Body) => (await server().call('POST', path, { key, body })).body
    const workspace_id = (await post('/workspaces', { name: 'Second', slug: 'second' })).data.id
    const inferenceKey = (await post('/keys', { name: 'k', workspace_id })).key
    await insert(tenant, { external_user: 'ann' })
    await insert(tenant, { external_user: 'bob' })
    await insert({ ...tenant, inferenceKey }, { external_user: 'bob' })
    const off = await create({ name: 'Off', when: 'true', then: toReasoner, enabled: false })
    const ann = await create({ name: 'Ann', when: `end_user == 'ann'`, then: { reject: { message: 'no' } } })
    const second = await create({ name: 'Second', workspace_id, when: 'true', then: toReasoner })
    const all = await create({ name: 'All', when: 'true', then: { tags: { a: 'b' } } })
    const totals = await dryRun(tenant)
    expect(totals.rules.map(({ id, matched }: Body) => [id, matched])).toEqual([
      [ann, 1],
      [all, 2],
      [second, 0],
    ])
    expect(totals.rules.some(({ id }: Body) => id === off)).toBe(false)
    expect(totals).toMatchObject({ matched: 3, rejected: 1, tags: [{ tag: 'a=b', requests: 2 }] })
    const draft = { rule: { workspace_id, when: `workspace == 'second'`, then: toReasoner } }
    expect(await dryRun(tenant, draft)).toMatchObject({ examined: 3, matched: 1 })
    expect(await dryRun(tenant, { ...draft, workspace_id })).toMatchObject({ examined: 1, matched: 1 })
  })

  test('requests of others are not examined', async () => {
    const tenant = await newTenant()
    await insert(tenant)
    const rule = { when: 'true', then: toReasoner }
    const { examined } = await dryRun(await newTenant(), { rule })
    expect(examined).toBe(0)
    const place = (await server().call('GET', '/workspaces', { key: tenant.managementKey })).body.data[0].id
    const other = await newTenant()
    const refused = await server().call('POST', '/routing-rules/dry-run', {
      key: other.managementKey,
      body: { rule, workspace_id: place },
    })
    expect(refused.status).toBe(403)
  })

  test('thousands of requests and the longest conditions do not hold the event loop', async () => {
    const tenant = await newTenant()
    const id = await insert(tenant, { tags: 'team=search' })
    const { db } = server().gateway
    const row = await db.selectFrom('generations').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    for (let batch = 0; batch < 20; batch++) {
      const rows = Array.from({ length: 50 }, (_, index) => ({ ...row, id: `${id}-${batch}-${index}` }))
      await db.insertInto('generations').values(rows).execute()
    }
    const part = `time.getMinutes('Asia/Kolkata') == 99 || `
    const when = `${part.repeat(Math.floor(1990 / part.length))}false`
    for (let count = 0; count < 15; count++)
      await server().call('POST', '/routing-rules', {
        key: tenant.managementKey,
        body: { name: `r${count}`, when, then: toReasoner },
      })
    // It is most of a second of work, which others would wait for without slices.
    const delay = await measureLoopDelay(100, async () =>
      expect(await dryRun(tenant)).toMatchObject({ examined: 1001, matched: 0, is_complete: true }),
    )
    expect(delay).toBeLessThan(100)
  })
})
