import { afterEach, expect, test } from 'bun:test'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type SessionCaller,
} from '../../../../test/support/harness.ts'

type Body = Record<string, unknown>
type Call = SessionCaller['call']

const draft = {
  name: 'Greetings',
  models: ['sandbox/echo', 'sandbox/lorem'],
  prompts: ['Say hello.', 'Say goodbye.'],
  replies: [
    { prompt: 0, model: 0, text: 'Hello.' },
    { prompt: 0, model: 1, text: 'Good day.', is_shortened: true },
    { prompt: 1, model: 0, text: 'Goodbye.' },
    { prompt: 1, model: 1, text: '', error: 'The provider is overloaded.' },
  ],
}

describeOnEachDatabase(
  'comparisons',
  (server) => {
    afterEach(async () => {
      await server().gateway.db.deleteFrom('comparisons').execute()
    })
    const byKey: Call = (method, path, options) => server().call(method, path, options ?? {})
    const save = async (call: Call, body: Body = {}) => {
      const { status, body: reply } = await call('POST', '/comparisons', { body: { ...draft, ...body } })
      expect({ status, reply }).toMatchObject({ status: 201 })
      return reply.data
    }
    const namesFor = async (call: Call) =>
      (await call('GET', '/comparisons')).body.data.map(({ name }: Body) => name)
    const createWorkspace = async () => {
      const slug = `w-${crypto.randomUUID().slice(0, 8)}`
      return (await byKey('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id as string
    }
    const auditOf = async (id: string) =>
      (await byKey('GET', `/audit?target_id=${id}`)).body.data.map(({ action }: Body) => action)
    const complete = async (key: string | null = server().own.inferenceKey) => {
      const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
      const { headers } = await server().call('POST', '/chat/completions', { key, body })
      return headers.get('x-generation-id') ?? ''
    }

    test('keeps prompts, parameters and replies, encrypted', async () => {
      const saved = await save(byKey, { parameters: { temperature: 0 }, is_blind: true })
      expect(saved).toMatchObject({ name: 'Greetings', prompt_count: 2, is_blind: true, is_own: true })
      const { body } = await byKey('GET', `/comparisons/${saved.id}`)
      const { data } = body
      expect(data).toMatchObject({
        models: draft.models,
        prompts: draft.prompts,
        parameters: { temperature: 0 },
        visibility: 'private',
        votes: [],
        own_votes: [],
      })
      expect(data.replies.map(({ text, is_shortened, error }: Body) => [text, is_shortened, error])).toEqual([
        ['Hello.', false, null],
        ['Good day.', true, null],
        ['Goodbye.', false, null],
        ['', false, 'The provider is overloaded.'],
      ])
      const { db } = server().gateway
      const rows = [
        ...(await db.selectFrom('comparisons').selectAll().execute()),
        ...(await db.selectFrom('comparison_replies').selectAll().execute()),
      ]
      expect(
        JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
      ).not.toMatch(/hello|goodbye|good day|overloaded|temperature/i)
    })

    test('reads cost and times of a reply from its generation', async () => {
      const generation_id = await complete()
      const record = (await byKey('GET', `/generation?id=${generation_id}`)).body.data
      const { id } = await save(byKey, { replies: [{ prompt: 0, model: 0, text: 'Hello', generation_id }] })
      const { replies, totals } = (await byKey('GET', `/comparisons/${id}`)).body.data
      expect(record.total_cost).toBeGreaterThan(0)
      expect(replies).toMatchObject([
        { cost: record.total_cost, generation_time: record.generation_time, latency: record.latency },
      ])
      expect(totals[0]).toMatchObject({ model: 'sandbox/echo', replies: 1, cost: record.total_cost })
      expect(totals[1]).toMatchObject({ replies: 0, cost: 0, latency: null })
    })

    test('S2 a generation of others cannot be named', async () => {
      const workspace = await createWorkspace()
      const ada = await createSessionCaller(server(), { workspaces: { [workspace]: 'member' } })
      const mine = await complete()
      for (const [call, generation_id] of [
        [ada.call, mine],
        [byKey, await complete(server().foreign.inferenceKey)],
        [byKey, 'gen-unknown'],
      ] as const) {
        const replies = [{ prompt: 0, model: 0, text: 'Hello', generation_id }]
        const { status, body } = await call('POST', '/comparisons', { body: { ...draft, replies } })
        expect(status).toBe(400)
        expect(body.error.message).toStartWith('replies.0.generation_id')
      }
    })

    test('a person has one vote for each prompt, and can change and withdraw it', async () => {
      const ada = await createSessionCaller(server(), {})
      const grace = await createSessionCaller(server(), {})
      const { id } = await save(byKey, { visibility: 'organization' })
      const vote = (call: Call, prompt: number, model: number) =>
        call('PUT', `/comparisons/${id}/votes/${prompt}`, { body: { model } })
      await vote(ada.call, 0, 0)
      await vote(ada.call, 0, 1)
      await vote(grace.call, 0, 1)
      const { body } = await vote(grace.call, 1, 0)
      expect(body.data.votes).toEqual([
        { prompt: 0, model: 1, count: 2 },
        { prompt: 1, model: 0, count: 1 },
      ])
      expect(body.data.own_votes).toEqual([
        { prompt: 0, model: 1 },
        { prompt: 1, model: 0 },
      ])
      expect(body.data.totals.map(({ votes, wins }: Body) => ({ votes, wins }))).toEqual([
        { votes: 1, wins: 1 },
        { votes: 2, wins: 1 },
      ])
      const withdrawn = await grace.call('DELETE', `/comparisons/${id}/votes/0`)
      expect(withdrawn.body.data.votes[0]).toEqual({ prompt: 0, model: 1, count: 1 })
      expect(withdrawn.body.data.own_votes).toEqual([{ prompt: 1, model: 0 }])
      expect((await ada.call('GET', `/comparisons/${id}`)).body.data.own_votes).toEqual([
        { prompt: 0, model: 1 },
      ])
    })

    test('a vote is for a reply that exists', async () => {
      const { id } = await save(byKey)
      const vote = async (prompt: number | string, model: number) =>
        (await byKey('PUT', `/comparisons/${id}/votes/${prompt}`, { body: { model } })).status
      expect(await vote(1, 1)).toBe(400)
      expect(await vote(0, 5)).toBe(400)
      expect(await vote(0, 6)).toBe(400)
      expect(await vote(2, 0)).toBe(404)
      expect(await vote('first', 0)).toBe(400)
      expect(await vote(0, 0)).toBe(200)
    })

    test('a private comparison is seen by its creator only, and is not in the audit log', async () => {
      const ada = await createSessionCaller(server(), {})
      const grace = await createSessionCaller(server(), { role: 'org:admin' })
      const { id } = await save(ada.call)
      expect(await namesFor(ada.call)).toEqual(['Greetings'])
      const path = `/comparisons/${id}`
      for (const other of [grace.call, byKey]) {
        expect(await namesFor(other)).toEqual([])
        expect((await other('GET', path)).status).toBe(404)
        expect((await other('PATCH', path, { body: { name: 'Mine' } })).status).toBe(404)
        expect((await other('PUT', `${path}/votes/0`, { body: { model: 0 } })).status).toBe(404)
        expect((await other('DELETE', `${path}/votes/0`)).status).toBe(404)
        expect((await other('DELETE', path)).status).toBe(404)
      }
      expect((await ada.call('PUT', `${path}/votes/0`, { body: { model: 0 } })).status).toBe(200)
      expect((await ada.call('DELETE', path)).status).toBe(200)
      expect(await auditOf(id)).toEqual([])
    })

    test('a comparison is shared with a workspace, where colleagues vote', async () => {
      const [here, elsewhere] = [await createWorkspace(), await createWorkspace()]
      const ada = await createSessionCaller(server(), { workspaces: { [here]: 'member' } })
      const grace = await createSessionCaller(server(), { workspaces: { [here]: 'member' } })
      const outsider = await createSessionCaller(server(), { workspaces: { [elsewhere]: 'member' } })
      const { id } = await save(ada.call)
      const path = `/comparisons/${id}`
      const share = { visibility: 'workspace', workspace_id: here }
      expect((await ada.call('PATCH', path, { body: share })).body.data).toMatchObject(share)
      expect(await namesFor(grace.call)).toEqual(['Greetings'])
      expect(await namesFor(outsider.call)).toEqual([])
      expect((await outsider.call('GET', path)).status).toBe(404)
      expect((await grace.call('PUT', `${path}/votes/0`, { body: { model: 0 } })).status).toBe(200)
      expect((await grace.call('PATCH', path, { body: { visibility: 'private' } })).status).toBe(400)
      expect((await grace.call('PATCH', path, { body: { name: 'Hellos' } })).body.data).toMatchObject({
        name: 'Hellos',
        created_by: ada.member.id,
        is_own: false,
      })
      expect((await ada.call('PATCH', path, { body: { visibility: 'organization' } })).status).toBe(403)
      expect((await ada.call('PATCH', path, { body: { visibility: 'private' } })).status).toBe(200)
      expect((await auditOf(id)).sort()).toEqual([
        'comparison.update',
        'comparison.update',
        'comparison.update',
        'comparison.vote',
      ])
    })

    test('S1 another organization sees nothing of it', async () => {
      const { id } = await save(byKey, { visibility: 'organization' })
      const foreign: Call = (method, path, options) =>
        server().call(method, path, { ...options, key: server().foreign.managementKey })
      expect(await namesFor(foreign)).toEqual([])
      expect((await foreign('GET', `/comparisons/${id}`)).status).toBe(404)
      expect((await foreign('PUT', `/comparisons/${id}/votes/0`, { body: { model: 0 } })).status).toBe(404)
      expect((await foreign('DELETE', `/comparisons/${id}`)).status).toBe(404)
    })

    test.each<[string, Body]>([
      ['name', { name: '' }],
      ['models', { models: [] }],
      ['models', { models: Array.from({ length: 7 }, (_, n) => `m${n}`) }],
      ['prompts', { prompts: Array.from({ length: 51 }, () => 'x') }],
      ['prompts.0', { prompts: ['x'.repeat(20_001), 'y'] }],
      ['parameters', { parameters: { system: 'x'.repeat(50_001) } }],
      ['replies', { replies: [] }],
      ['replies.0.text', { replies: [{ prompt: 0, model: 0, text: 'x'.repeat(20_001) }] }],
      ['replies.0.prompt', { replies: [{ prompt: 2, model: 0, text: 'x' }] }],
      ['replies.0.model', { replies: [{ prompt: 0, model: 2, text: 'x' }] }],
      ['replies.1', { replies: [draft.replies[0], draft.replies[0]] }],
      ['workspace_id', { visibility: 'workspace' }],
      ['workspace_id', { workspace_id: crypto.randomUUID() }],
    ])('400 names %p', async (field, body) => {
      const { status, body: reply } = await byKey('POST', '/comparisons', { body: { ...draft, ...body } })
      expect(status).toBe(400)
      expect(reply.error.message).toStartWith(field)
    })

    test('private comparisons are deleted with the member, shared ones with the workspace', async () => {
      const here = await createWorkspace()
      const { call, member } = await createSessionCaller(server(), { workspaces: { [here]: 'member' } })
      await save(call)
      await save(call, { name: 'Shared', visibility: 'workspace', workspace_id: here })
      expect((await byKey('DELETE', `/organization/members/${member.id}`)).status).toBe(200)
      const { db } = server().gateway
      const left = () => db.selectFrom('comparisons').select('name').execute()
      expect(await left()).toEqual([{ name: 'Shared' }])
      expect((await byKey('DELETE', `/workspaces/${here}`)).status).toBe(200)
      expect(await left()).toEqual([])
      expect(await db.selectFrom('comparison_replies').select('prompt').execute()).toEqual([])
    })

    test('a member has at most 3 comparisons, and the organization 1 that is shared', async () => {
      for (const name of ['a', 'b', 'c']) await save(byKey, { name })
      const beyond = await byKey('POST', '/comparisons', { body: draft })
      expect(beyond.status).toBe(409)
      expect(beyond.body.error.metadata).toMatchObject({ ceiling: 'comparisons', most: 3 })
      const statuses = []
      for (const { id } of (await byKey('GET', '/comparisons')).body.data) {
        const body = { visibility: 'organization' }
        statuses.push((await byKey('PATCH', `/comparisons/${id}`, { body })).status)
      }
      expect(statuses).toEqual([200, 409, 409])
    })
  },
  { settings: 'ceilings: { comparisons: 3, shared_comparisons: 1 }' },
)
