import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { brokenModelSettings, createRoutingScene } from '../../../../test/support/routing-scene.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'

const [a, b] = ['sandbox/echo', 'sandbox/reasoner'] as const
const settings = `${brokenModelSettings}  - id: acme/cheap
    name: Cheap
    endpoints: [{ provider: sandbox, upstream_model: echo, pricing: { prompt: "0", completion: "0" } }]
`

describeOnEachDatabase(
  'aliases with weights',
  (server) => {
    const { call, create, change, ask: askAny } = createRoutingScene(server, '/model-aliases')
    const ask = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
      askAny({ model: 'support', ...body }, headers)
    const armOf = async (body: Record<string, unknown>) =>
      (await ask(body)).body.service_metadata.splits[0].tag as string
    const recordOf = async (reply: Awaited<ReturnType<typeof ask>>) => {
      const id = reply.headers.get('x-generation-id')
      await server().gateway.requestLog.plans.flush()
      const record = (await call('GET', `/generation?id=${id}`)).body.data
      const explanation = (await call('GET', `/generation/explanation?id=${id}`)).body.data
      return { tags: record.tags, splits: explanation.routing.splits }
    }
    const sessions = Array.from({ length: 40 }, (_, at) => `s-${at}`)
    const halves = [
      { model: a, weight: 50, tag: 'arm=a' },
      { model: b, weight: 50, tag: 'arm=b' },
    ]

    test('requests of a session stay with the target that its tag names', async () => {
      const { id: _, ...record } = await create({ name: 'support', targets: halves })
      expect(record).toMatchObject({
        models: [a, b],
        targets: halves,
        split_by: 'session',
        fallback: true,
      })
      const arms = new Set<string>()
      for (const session_id of sessions.slice(0, 12)) {
        const [first, second] = [await ask({ session_id }), await ask({}, { 'x-session-id': session_id })]
        const choice = first.body.service_metadata.splits
        const tag = first.body.model === a ? 'arm=a' : 'arm=b'
        expect(choice).toEqual([{ alias: 'support', model: first.body.model, tag, split_by: 'session' }])
        expect(second.body.service_metadata.splits).toEqual(choice)
        expect(first.body.service_metadata).toMatchObject({ requested: 'support', strategy: 'alias' })
        expect(await recordOf(first)).toEqual({ tags: [tag], splits: choice })
        arms.add(tag)
      }
      expect(arms.size).toBe(2)
    })

    test('a change of weights moves only the sessions it has to, and analytics groups by tag', async () => {
      const { id } = await create({
        name: 'support',
        targets: [
          { model: a, weight: 90 },
          { model: b, weight: 10 },
        ],
      })
      const before = new Map<string, string>()
      for (const session_id of sessions) before.set(session_id, await armOf({ session_id }))
      const { data } = (
        await call('POST', '/analytics/query', {
          metrics: ['request_count'],
          dimensions: ['tag:support'],
          filters: [{ field: 'tag:support', operator: 'in', value: [a, b] }],
        })
      ).body.data
      const counts = Object.fromEntries(
        data.map((row: Record<string, unknown>) => [`support=${row['tag:support']}`, row.request_count]),
      )
      const ofB = [...before.values()].filter((tag) => tag === `support=${b}`).length
      expect(counts).toEqual({ [`support=${a}`]: 40 - ofB, ...(ofB > 0 && { [`support=${b}`]: ofB }) })
      await change(id, {
        targets: [
          { model: a, weight: 50 },
          { model: b, weight: 50 },
        ],
      })
      const moved = []
      for (const session_id of sessions) {
        const arm = await armOf({ session_id })
        if (arm !== before.get(session_id)) moved.push(arm)
      }
      expect(moved.length).toBeGreaterThan(5)
      expect(new Set(moved)).toEqual(new Set([`support=${b}`]))
      await change(id, { targets: [{ model: b, weight: 1 }] })
      expect((await ask({ session_id: 's-0' })).body.model).toBe(b)
    })

    test('a session, a user or each request is assigned, whatever the request names', async () => {
      const { id } = await create({ name: 'support', targets: halves })
      const unitOf = async (body: Record<string, unknown>) =>
        (await ask(body)).body.service_metadata.splits[0].split_by
      expect(await unitOf({ session_id: 's', user: 'u' })).toBe('session')
      expect(await unitOf({ user: 'u' })).toBe('user')
      expect(await unitOf({})).toBe('request')
      expect((await change(id, { split_by: 'user' })).split_by).toBe('user')
      expect(await unitOf({ session_id: 's', user: 'u' })).toBe('user')
      const ofUser = new Set<string>()
      for (const session_id of sessions.slice(0, 10)) ofUser.add(await armOf({ session_id, user: 'u-7' }))
      expect(ofUser.size).toBe(1)
      await change(id, { split_by: 'request' })
      const ofRequests = new Set<string>()
      for (let at = 0; at < 40; at++) ofRequests.add(await armOf({ session_id: 's', user: 'u' }))
      expect(ofRequests).toEqual(new Set(['arm=a', 'arm=b']))
    })

    test('the other targets are fallbacks, unless they are switched off', async () => {
      const targets = [
        { model: 'acme/broken', weight: 1, tag: 'canary' },
        { model: a, weight: 0, tag: 'stable' },
      ]
      const { id } = await create({ name: 'support', targets })
      const { body } = await ask({ session_id: 's' })
      expect(body.model).toBe(a)
      expect(body.service_metadata).toMatchObject({ strategy: 'fallback', splits: [{ tag: 'canary=true' }] })
      expect((await change(id, { fallback: false })).fallback).toBe(false)
      const failed = await ask({ session_id: 's' })
      expect(failed.status).toBeGreaterThanOrEqual(500)
      expect(await recordOf(failed)).toMatchObject({ tags: ['canary=true'] })
    })

    test('the chosen target comes first, also when a request sorts the endpoints of all models', async () => {
      const targets = [
        { model: a, weight: 1 },
        { model: 'acme/cheap', weight: 0 },
      ]
      await create({ name: 'support', targets })
      const provider = { sort: { by: 'price', partition: 'none' } }
      expect((await ask({ provider })).body.model).toBe(a)
      await create({ name: 'group', models: [a, 'acme/cheap'] })
      expect((await ask({ model: 'group', provider })).body.model).toBe('acme/cheap')
    })

    test('a quote has the target of the session', async () => {
      await create({ name: 'support', targets: halves })
      for (const session_id of sessions.slice(0, 4)) {
        const quote = await server().call('POST', '/quote', {
          key: server().own.inferenceKey,
          body: { model: 'support', session_id, messages: [{ role: 'user', content: 'Hello' }] },
        })
        expect(quote.status).toBe(200)
        const { splits, strategy, endpoints } = quote.body.data
        expect(strategy).toBe('alias')
        expect(splits[0].tag).toBe(await armOf({ session_id }))
        expect(endpoints.available[0].model).toBe(splits[0].model)
      }
    })

    test('a quote has the expiration of an alias', async () => {
      const expires_at = new Date(server().clock.now() + 3600_000).toISOString()
      await create({ name: 'support', targets: halves, expires_at, replacement: a })
      const body = { model: 'support', messages: [{ role: 'user', content: 'Hello' }] }
      const quote = await server().call('POST', '/quote', { key: server().own.inferenceKey, body })
      expect(quote.body.data.expirations).toMatchObject([{ name: 'support', replacement: a }])
    })

    test('clients cannot override the tag, and what their key sets it does not override', async () => {
      await create({ name: 'support', targets: [{ model: a, weight: 1, tag: 'arm=a' }] })
      const many = Array.from({ length: 15 }, (_, at) => `t${String(at).padStart(2, '0')}=1`)
      const tags = ['arm=mine', ...many].join(',')
      const reply = await ask({}, { 'x-headgate-tags': tags })
      expect(reply.headers.get('x-headgate-dropped')).toBe('tag:arm')
      expect((await recordOf(reply)).tags).toEqual(['arm=a', ...many])
      const full = await ask({}, { 'x-headgate-tags': ['u=1', ...many].join(',') })
      expect(full.headers.get('x-headgate-dropped')).toBe('tag:u')
      expect((await recordOf(full)).tags).toEqual(['arm=a', ...many])
      const key = `/keys/${sha256(server().own.inferenceKey)}`
      await call('PATCH', key, { tags: { set: { arm: 'fixed', team: 'x' }, required: ['arm'] } })
      const fixed = await ask({})
      expect(fixed.headers.get('x-headgate-dropped')).toBe('tag:arm')
      expect((await recordOf(fixed)).tags).toEqual(['arm=fixed', 'team=x'])
      expect(fixed.body.service_metadata.splits).toMatchObject([{ tag: 'arm=a' }])
      await call('PATCH', key, { tags: null })
    })

    test('a limit of a tag limits the requests of a target', async () => {
      await create({ name: 'support', targets: halves })
      const limit = await call('POST', '/limits', {
        ...{ name: 'Canary', measure: 'requests', window: 'day', amount: 2, match: { tags: ['arm=b'] } },
      })
      expect(limit.status).toBe(201)
      const arms: [string, number][] = []
      for (const session_id of sessions.slice(0, 20)) {
        const { status, body } = await ask({ session_id })
        arms.push([status === 200 ? body.service_metadata.splits[0].tag : 'rejected', status])
      }
      const count = (tag: string) => arms.filter(([arm]) => arm === tag).length
      expect(count('arm=b')).toBe(2)
      expect(count('arm=a')).toBeGreaterThan(2)
      expect(new Set(arms.filter(([arm]) => arm === 'rejected').map(([, status]) => status))).toEqual(
        new Set([429]),
      )
      await call('DELETE', `/limits/${limit.body.data.id}`)
    })

    test('requests for embeddings are divided too', async () => {
      const model = 'sandbox/embedder'
      await create({ name: 'vectors', targets: [{ model, weight: 1, tag: 'arm=a' }] })
      const body = { model: 'vectors', input: 'Hello' }
      const reply = await server().call('POST', '/embeddings', { key: server().own.inferenceKey, body })
      expect(reply.body.model).toBe(model)
      expect((await recordOf(reply)).tags).toEqual(['arm=a'])
    })

    test('a target may be an alias, which divides its requests again', async () => {
      await create({ name: 'inner', targets: [{ model: b, weight: 1, tag: 'inner=b' }] })
      await create({
        name: 'support',
        targets: [
          { model: 'inner', weight: 1 },
          { model: a, weight: 0 },
        ],
      })
      const reply = await ask({ model: 'support:floor' })
      expect(reply.body.model).toBe(b)
      expect((await recordOf(reply)).tags).toEqual(['inner=b', 'support=inner'])
      await create({ name: 'list', models: [a, 'support'] })
      expect((await ask({ model: 'list' })).body.service_metadata).not.toHaveProperty('splits')
      const [second] = (await ask({ model: a, models: ['support'] })).body.service_metadata.splits ?? []
      expect(second).toBeUndefined()
    })

    test('an alias with the name of a model divides its requests', async () => {
      await create({
        name: b,
        targets: [
          { model: b, weight: 0 },
          { model: a, weight: 1 },
        ],
      })
      const reply = await ask({ model: b })
      expect(reply.body.model).toBe(a)
      expect((await recordOf(reply)).tags).toEqual([`sandbox.reasoner=${a}`])
    })

    test('an alias that has expired is no longer divided', async () => {
      await create({
        name: 'support',
        targets: halves,
        expires_at: new Date(server().clock.now() - 1000).toISOString(),
        replacement: a,
      })
      const reply = await ask({ session_id: 's' })
      expect(reply.body.model).toBe(a)
      expect(await recordOf(reply)).toEqual({ tags: [], splits: [] })
    })

    test('guardrails apply to the targets, and @name stands for all of them', async () => {
      const { id } = await create({ name: 'support', targets: [{ model: a, weight: 1 }] })
      const guardrail = await call('POST', '/guardrails', { name: 'g', allowed_models: ['@support'] })
      await call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, {
        key_hashes: [sha256(server().own.inferenceKey)],
      })
      expect((await ask({ model: b })).status).toBe(403)
      await change(id, { targets: [...halves.slice(0, 1), { model: b, weight: 0 }] })
      expect((await ask({ model: b })).status).toBe(200)
      await change(id, { targets: [{ model: a, weight: 1 }] })
      await create({ name: 'outside', targets: [{ model: b, weight: 1 }] })
      expect((await ask({ model: 'outside' })).status).toBe(403)
    })

    test('models replace targets, and targets models; both are in the audit log', async () => {
      const { id } = await create({ name: 'support', models: [b] })
      const divided = await change(id, { targets: halves, split_by: 'user', fallback: false })
      expect(divided).toMatchObject({ targets: halves, split_by: 'user', fallback: false })
      expect(await change(id, { fallback: true })).toMatchObject({ split_by: 'user', fallback: true })
      expect(await change(id, { models: [b] })).toMatchObject({
        models: [b],
        targets: null,
        split_by: null,
        fallback: null,
      })
      expect((await ask({})).body.service_metadata).not.toHaveProperty('splits')
      const events = (await call('GET', `/audit?target_id=${id}&action=model_alias.update`)).body.data
      expect(events).toHaveLength(3)
      expect(JSON.stringify(events)).toContain('arm=b')
    })

    describe('400 naming the field', () => {
      const one = { model: a, weight: 1 }
      test.each<[string, Record<string, unknown>, string]>([
        ['neither models nor targets', {}, 'models'],
        ['both', { models: [a], targets: [one] }, 'targets'],
        ['no target', { targets: [] }, 'targets'],
        [
          'too many targets',
          { targets: Array.from({ length: 21 }, (_, at) => ({ ...one, tag: `t=${at}` })) },
          'targets',
        ],
        ['weights of 0 only', { targets: [{ model: a, weight: 0 }] }, 'targets'],
        ['a negative weight', { targets: [one, { model: b, weight: -1 }] }, 'targets.1.weight'],
        ['a weight that is too large', { targets: [one, { model: b, weight: 10_001 }] }, 'targets.1.weight'],
        ['a weight that is no integer', { targets: [one, { model: b, weight: 0.5 }] }, 'targets.1.weight'],
        ['no weight', { targets: [{ model: a }] }, 'targets.0.weight'],
        ['an unknown model', { targets: [one, { model: 'nobody/knows', weight: 1 }] }, 'targets.1.model'],
        ['what is no tag', { targets: [one, { ...one, tag: 'not a tag=1' }] }, 'targets.1.tag'],
        ['a tag without a value', { targets: [one, { ...one, tag: 'arm=' }] }, 'targets.1.tag'],
        ['a tag twice', { targets: [one, one] }, 'targets.1.tag'],
        ['an unknown field', { targets: [{ ...one, share: 1 }] }, 'targets.0.share'],
        ['an unknown unit', { targets: [one], split_by: 'key' }, 'split_by'],
        ['a unit without targets', { models: [a], split_by: 'user' }, 'split_by'],
        ['fallbacks without targets', { models: [a], fallback: false }, 'fallback'],
        ['a name too long for a tag', { name: 'a'.repeat(65), targets: [one] }, 'targets.0.tag'],
      ])('%s', async (_, body, field) => {
        const response = await call('POST', '/model-aliases', { name: 'support', ...body })
        expect(response.status).toBe(400)
        expect(response.body.error.metadata.issues[0].field).toBe(field)
      })

      test('a change of an alias without targets', async () => {
        const { id } = await create({ name: 'support', models: [a] })
        for (const field of ['split_by', 'fallback']) {
          const body = { [field]: field === 'fallback' ? true : 'user' }
          const response = await call('PATCH', `/model-aliases/${id}`, body)
          expect([response.status, response.body.error.metadata.issues[0].field]).toEqual([400, field])
        }
      })

      test('targets that lead back to the alias', async () => {
        const { id } = await create({ name: 'support', targets: [one] })
        await create({ name: 'two', targets: [{ model: 'support', weight: 1 }] })
        const body = { targets: [one, { model: 'two', weight: 0 }] }
        const response = await call('PATCH', `/model-aliases/${id}`, body)
        expect(response.status).toBe(400)
        expect(response.body.error.metadata.issues[0].field).toBe('targets')
        expect((await call('DELETE', `/model-aliases/${id}`)).status).toBe(409)
      })
    })
  },
  { settings },
)
