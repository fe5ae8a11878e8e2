import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { brokenModelSettings, createRoutingScene } from '../../../../test/support/routing-scene.ts'

type Body = Record<string, unknown>

describeOnEachDatabase(
  'what routing rules do',
  (server) => {
    const {
      call,
      create: createRecord,
      ask,
      served,
      createWorkspace,
    } = createRoutingScene(server, '/routing-rules')
    const create = (body: Body) => createRecord({ name: 'Rule', ...body })
    const toReasoner = { models: ['sandbox/reasoner'] }

    describe('what a condition reads', () => {
      const german = 'Was ist das, und wie schreibe ich einen Brief mit dem Computer?'
      const tool = { type: 'function', function: { name: 'search', parameters: { type: 'object' } } }
      const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
      test.each<[string, Body, Record<string, string>]>([
        [`model == 'sandbox/echo'`, {}, {}],
        [`tags.team == 'search'`, {}, { 'x-headgate-tags': 'team=search' }],
        [`'team' in tags && size(tags) == 2`, { metadata: { team: 'x', project: 'y' } }, {}],
        [`end_user == 'ann'`, { user: 'ann' }, {}],
        [`workspace == 'default'`, {}, {}],
        [`key == 'inference' || size(key_hash) == 64`, {}, {}],
        [`region == 'global' && operation == 'text' && !stream`, {}, {}],
        [`input_tokens > 2000`, { messages: [{ role: 'user', content: 'word '.repeat(5000) }] }, {}],
        [`language == 'de'`, { messages: [{ role: 'user', content: german }] }, {}],
        [`language == 'ja'`, { messages: [{ role: 'user', content: 'こんにちは、元気ですか' }] }, {}],
        [`uses_tools && 'search' in tools`, { tools: [tool] }, {}],
        [
          `images == 1`,
          { messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] }] },
          {},
        ],
      ])('%s', async (when, body, headers) => {
        await create({ when: `${when} ? true : false`, then: toReasoner })
        expect(await served(body, headers)).toBe('sandbox/reasoner')
        await server().gateway.db.deleteFrom('routing_rules').execute()
        await create({ when: `!(${when})`, then: toReasoner })
        expect(await served(body, headers)).toBe('sandbox/echo')
      })

      test('the time, in a time zone', async () => {
        server().clock.freeze('2030-07-01T16:30:00Z')
        await create({ when: `time.getHours('Europe/Berlin') >= 18`, then: toReasoner })
        expect(await served()).toBe('sandbox/reasoner')
        server().clock.freeze('2030-07-01T15:30:00Z')
        expect(await served()).toBe('sandbox/echo')
        server().clock.release()
      })

      test('the last message of the user only, and in the other formats too', async () => {
        await create({ when: `language == 'fr'`, then: toReasoner })
        const french = "Comment est-ce que je peux écrire une lettre avec l'ordinateur dans cette ville ?"
        const messages = [
          { role: 'user', content: french },
          { role: 'assistant', content: french },
          { role: 'user', content: 'How do I write this letter to the mayor of the city?' },
        ]
        expect(await served({ messages })).toBe('sandbox/echo')
        const sent = await server().call('POST', '/messages', {
          key: server().own.inferenceKey,
          body: {
            model: 'sandbox/echo',
            max_tokens: 50,
            messages: [...messages, { role: 'user', content: [{ type: 'text', text: french }] }],
          },
        })
        expect(sent.body.model).toBe('sandbox/reasoner')
        const responses = await server().call('POST', '/responses', {
          key: server().own.inferenceKey,
          body: { model: 'sandbox/echo', input: french },
        })
        expect(responses.body.model).toBe('sandbox/reasoner')
      })

      test('operations other than text', async () => {
        await create({ when: `operation == 'embeddings'`, then: { reject: { message: 'No embeddings.' } } })
        const embedding = await server().call('POST', '/embeddings', {
          key: server().own.inferenceKey,
          body: { model: 'sandbox/embed', input: 'Hello' },
        })
        expect({ status: embedding.status, message: embedding.body.error?.message }).toEqual({
          status: 403,
          message: 'No embeddings.',
        })
        expect((await ask()).status).toBe(200)
      })
    })

    describe('what a rule does', () => {
      test('models replace the requested ones, as a list of fallbacks, and are on record', async () => {
        const { id } = await create({
          name: 'Team search',
          when: `tags.team == 'search'`,
          then: { models: ['acme/broken', 'sandbox/reasoner'] },
        })
        const { body } = await ask({ models: ['sandbox/echo'] }, { 'x-headgate-tags': 'team=search' })
        expect(body.model).toBe('sandbox/reasoner')
        expect(body.service_metadata).toMatchObject({
          requested: 'sandbox/echo',
          strategy: 'fallback',
          rule: { id, name: 'Team search' },
        })
        const first = await ask({}, { 'x-headgate-tags': 'team=other' })
        expect(first.body.service_metadata).not.toHaveProperty('rule')
        const record = await call('GET', `/generation?id=${body.id}`)
        expect(record.body.data).toMatchObject({ model: 'sandbox/reasoner' })
        await server().gateway.requestLog.plans.flush()
        const explained = await call('GET', `/generation/explanation?id=${body.id}`)
        expect(explained.body.data).toMatchObject({
          requested_model: 'sandbox/echo',
          routing: { strategy: 'rule', rule: { id, name: 'Team search' } },
        })
      })

      test('a model of a rule can be an alias', async () => {
        const alias = await call('POST', '/model-aliases', {
          name: 'approved',
          models: ['sandbox/reasoner'],
          workspace_id: null,
        })
        await create({ when: 'true', then: { models: ['approved'] } })
        const { body } = await ask()
        expect(body.model).toBe('sandbox/reasoner')
        expect(body.service_metadata.strategy).toBe('rule')
        const refused = await call('DELETE', `/model-aliases/${alias.body.data.id}`)
        expect({ status: refused.status, message: refused.body.error.message }).toEqual({
          status: 409,
          message: 'The routing rule "Rule" names this alias.',
        })
      })

      test('preferences take precedence, but exclude no less than those of the request', async () => {
        await create({ when: 'true', then: { provider: { ignore: ['sandbox'] } } })
        const refused = await ask()
        expect(refused.status).toBe(503)
        expect(refused.body.error.availability.excluded_by).toEqual(['allowed_providers'])
        // The same plain request is planned again once the rule is gone.
        await server().gateway.db.deleteFrom('routing_rules').execute()
        expect((await ask()).status).toBe(200)
        await create({ when: 'true', then: { provider: { sort: 'latency', only: ['Sandbox'], zdr: false } } })
        const { body } = await ask({ provider: { only: ['sandbox'], sort: 'price' } })
        expect(body.service_metadata.params).toMatchObject({ sort: 'latency', only: ['sandbox', 'Sandbox'] })
        expect((await ask({ provider: { only: ['openai'] } })).status).toBe(503)
        const strict = await ask({ provider: { zdr: true } })
        expect(strict.body.service_metadata.params.zdr).toBe(true)
      })

      test('tags replace those of the client, not those that the workspace sets', async () => {
        const workspace = await createWorkspace()
        await call('PATCH', `/workspaces/${workspace.id}`, { tags: { set: { cost: 'fixed' } } })
        await create({ when: 'true', then: { tags: { cost: 'free', lane: 'fast' } } })
        const { body, headers } = await ask({}, { 'x-headgate-tags': 'lane=slow,team=search' }, workspace.key)
        const record = await call('GET', `/generation?id=${body.id}`)
        expect(record.body.data.tags).toEqual(['cost=fixed', 'lane=fast', 'team=search'])
        expect(headers.get('x-headgate-dropped')).toContain('tag:lane')
      })

      test('limits count the tags of a rule', async () => {
        const limit = { name: 'Slow', measure: 'requests', window: 'month', amount: 1 }
        const created = await call('POST', '/limits', { ...limit, match: { tags: ['pace=slow'] } })
        await create({ when: `end_user == 'bulk'`, then: { tags: { pace: 'slow' } } })
        expect((await ask({ user: 'bulk' })).status).toBe(200)
        expect((await ask({ user: 'bulk' })).status).toBe(429)
        expect((await ask({ user: 'other' })).status).toBe(200)
        await call('DELETE', `/limits/${created.body.data.id}`)
      })

      test('a streamed reply', async () => {
        await create({ name: 'Streams', when: 'stream', then: toReasoner })
        const response = await fetch(`${server().url}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${server().own.inferenceKey}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify({
            model: 'sandbox/echo',
            stream: true,
            messages: [{ role: 'user', content: 'Hello' }],
          }),
        })
        expect(await response.text()).toContain('"model":"sandbox/reasoner"')
      })

      test('a rejected request is 403 with the message, and on record', async () => {
        const { id } = await create({
          name: 'No nights',
          when: `end_user == 'night'`,
          then: { reject: { message: 'Come back tomorrow.' } },
        })
        const { status, body, headers } = await ask({ user: 'night' })
        expect(status).toBe(403)
        expect(body.error).toMatchObject({
          message: 'Come back tomorrow.',
          type: 'permission_error',
          metadata: { reason: 'rule_rejected', rule: { id, name: 'No nights' } },
        })
        await server().gateway.requestLog.rejected.flush()
        const explained = await call('GET', `/generation/explanation?id=${headers.get('x-generation-id')}`)
        expect(explained.body.data).toMatchObject({
          status: 'refused',
          error_code: 'rule_rejected',
          refusal: { message: 'Come back tomorrow.', details: { rule: { id, name: 'No nights' } } },
        })
        const counted = await server().call('POST', '/messages/count_tokens', {
          key: server().own.inferenceKey,
          headers: { 'x-headgate-user': 'night' },
          body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] },
        })
        expect(counted.status).toBe(403)
      })

      test('POST /quote shows what the rule would do', async () => {
        const quote = async (user: string) =>
          (
            await server().call('POST', '/quote', {
              key: server().own.inferenceKey,
              body: { model: 'sandbox/echo', user, messages: [{ role: 'user', content: 'Hello' }] },
            })
          ).body.data
        const { id } = await create({ when: `end_user == 'a'`, then: toReasoner })
        await create({ when: `end_user == 'b'`, then: { reject: { message: 'No.' } } })
        expect(await quote('a')).toMatchObject({
          requested: 'sandbox/echo',
          strategy: 'rule',
          rule: { id },
          would: 'be_sent',
        })
        expect(await quote('b')).toMatchObject({
          would: 'be_refused',
          refusal: { error: { message: 'No.' } },
        })
      })

      test('the response cache does not answer with what another rule allowed', async () => {
        const cached = async () => {
          const { headers, status } = await ask({}, { 'x-service-cache': 'true' })
          return { status, cache: headers.get('x-service-cache-status') }
        }
        const { id } = await create({ when: 'true', then: { provider: { sort: 'price' } } })
        expect(await cached()).toEqual({ status: 200, cache: 'MISS' })
        expect(await cached()).toEqual({ status: 200, cache: 'HIT' })
        await call('PATCH', `/routing-rules/${id}`, { then: { provider: { sort: 'latency' } } })
        expect(await cached()).toEqual({ status: 200, cache: 'MISS' })
        await call('PATCH', `/routing-rules/${id}`, { then: { provider: { ignore: ['sandbox'] } } })
        expect((await cached()).status).toBe(503)
      })
    })

    describe('a condition that cannot be evaluated', () => {
      test('does not hold, and is counted', async () => {
        await create({ name: 'Broken', when: `int(tags.level) > 5`, then: { reject: { message: 'no' } } })
        const failures = async () => {
          const text = (await server().gateway.metrics.render()).body
          return Number(/headgate_routing_rules_total\{outcome="failed"\} (\d+)/.exec(text)?.[1] ?? 0)
        }
        const before = await failures()
        expect((await ask()).status).toBe(200)
        expect((await ask({}, { 'x-headgate-tags': 'level=high' })).status).toBe(200)
        expect(await failures()).toBe(before + 2)
        expect((await ask({}, { 'x-headgate-tags': 'level=6' })).status).toBe(403)
      })

      test('also one that another version stored', async () => {
        const { id } = await create({ when: 'true', then: { reject: { message: 'no' } } })
        const { db } = server().gateway
        await db
          .updateTable('routing_rules')
          .set({ condition: 'future.feature()' })
          .where('id', '=', id)
          .execute()
        expect((await ask()).status).toBe(200)
        expect((await call('GET', `/routing-rules/${id}`)).body.data.when).toBe('future.feature()')
      })
    })
  },
  { settings: brokenModelSettings },
)
