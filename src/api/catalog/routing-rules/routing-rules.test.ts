import { afterEach, describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'

type Body = Record<string, unknown>

const settings = `
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9/v1", dialects: [chat] }
models:
  - id: acme/broken
    name: Broken
    endpoints: [{ provider: local, upstream_model: broken, pricing: { prompt: "0", completion: "0" } }]
`

describeOnEachDatabase(
  'routing rules',
  (server) => {
    const call = (method: string, path: string, body?: unknown) =>
      server().call(method, path, body === undefined ? {} : { body })
    const create = async (body: Body) => {
      const response = await call('POST', '/routing-rules', { name: 'Rule', ...body })
      expect({ status: response.status, body: response.body }).toMatchObject({ status: 201 })
      return response.body.data
    }
    const ask = (more: Body = {}, headers: Record<string, string> = {}, key = server().own.inferenceKey) =>
      server().call('POST', '/chat/completions', {
        key,
        headers: { 'x-service-metadata': 'enabled', ...headers },
        body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }], ...more },
      })
    const served = async (more: Body = {}, headers: Record<string, string> = {}, key?: string) =>
      (await ask(more, headers, key)).body.model
    const toReasoner = { models: ['sandbox/reasoner'] }
    const createWorkspace = async () => {
      const slug = `w-${crypto.randomUUID().slice(0, 8)}`
      const id = (await call('POST', '/workspaces', { name: slug, slug })).body.data.id as string
      const key = (await call('POST', '/keys', { name: `key of ${slug}`, workspace_id: id })).body
      return { id, slug, key: key.key as string, hash: key.data.hash as string }
    }

    afterEach(async () => {
      await server().gateway.db.deleteFrom('routing_rules').execute()
      await server().gateway.db.deleteFrom('guardrails').execute()
      await server().gateway.db.deleteFrom('model_aliases').execute()
    })

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

    describe('no right is widened', () => {
      const restrict = async (guardrail: Body, { id, hash }: { id: string; hash: string }) => {
        const created = await call('POST', '/guardrails', { name: 'g', workspace_id: id, ...guardrail })
        const path = `/guardrails/${created.body.data.id}/assignments/keys`
        expect((await call('POST', path, { key_hashes: [hash] })).status).toBe(200)
      }

      test('a model that a guardrail does not allow is not reached by a rule', async () => {
        const workspace = await createWorkspace()
        await restrict({ allowed_models: ['sandbox/echo'] }, workspace)
        await create({ when: 'true', then: toReasoner })
        const { status, body } = await ask({}, {}, workspace.key)
        expect(status).toBe(403)
        expect(body.error.metadata.reason).toBe('guardrail_blocked')
      })

      test('a guardrail that allows only what the rule chooses checks what is served', async () => {
        const workspace = await createWorkspace()
        await restrict({ allowed_models: ['sandbox/reasoner'] }, workspace)
        expect((await ask({}, {}, workspace.key)).status).toBe(403)
        await create({ when: 'true', then: toReasoner })
        expect(await served({}, {}, workspace.key)).toBe('sandbox/reasoner')
      })

      test('providers of a guardrail remain excluded', async () => {
        const workspace = await createWorkspace()
        await restrict({ ignored_providers: ['sandbox'] }, workspace)
        await create({ when: 'true', then: { provider: { only: ['sandbox'] } } })
        expect((await ask({}, {}, workspace.key)).status).toBe(403)
      })
    })

    describe('which rule applies', () => {
      test('the first in order; a rule that is disabled or does not match is passed over', async () => {
        await create({ when: `model == 'other'`, then: { reject: { message: 'no' } } })
        const first = await create({ name: 'First', when: 'true', then: toReasoner })
        const second = await create({ name: 'Second', when: 'true', then: { reject: { message: 'no' } } })
        expect(await served()).toBe('sandbox/reasoner')
        await call('PATCH', `/routing-rules/${second.id}`, { position: 0 })
        expect((await ask()).status).toBe(403)
        await call('PATCH', `/routing-rules/${second.id}`, { enabled: false })
        expect(await served()).toBe('sandbox/reasoner')
        await call('PATCH', `/routing-rules/${first.id}`, { when: 'false' })
        expect(await served()).toBe('sandbox/echo')
        const { body } = await call('GET', '/routing-rules')
        expect(body.data.map(({ name, position }: Body) => [name, position])).toEqual([
          ['Rule', 0],
          ['Second', 0],
          ['First', 1],
        ])
        expect((await call('DELETE', `/routing-rules/${first.id}`)).status).toBe(200)
        expect((await call('GET', `/routing-rules/${first.id}`)).status).toBe(404)
      })

      test('those of a workspace apply there only, after those of the organization', async () => {
        const { id: workspace_id, slug, key, hash } = await createWorkspace()
        await create({ workspace_id, position: 0, when: `workspace == '${slug}'`, then: toReasoner })
        expect(await served({}, {}, key)).toBe('sandbox/reasoner')
        expect(await served()).toBe('sandbox/echo')
        await create({ position: 9, when: `end_user == 'x'`, then: { reject: { message: 'no' } } })
        expect((await ask({ user: 'x' }, {}, key)).status).toBe(403)
        expect(await served({ user: 'y' }, {}, key)).toBe('sandbox/reasoner')
        const listed = await call('GET', `/routing-rules?workspace_id=${workspace_id}`)
        expect(listed.body.data).toHaveLength(2)
        await call('DELETE', `/keys/${hash}`)
        expect((await call('DELETE', `/workspaces/${workspace_id}`)).status).toBe(200)
        expect((await call('GET', '/routing-rules')).body.data).toHaveLength(1)
      })

      test('another organization has rules of its own, and does not see or change these', async () => {
        const { id } = await create({ when: 'true', then: { reject: { message: 'no' } } })
        const { managementKey, inferenceKey } = server().foreign
        const foreign = (method: string, path: string, body?: unknown) =>
          server().call(method, path, { key: managementKey, body })
        // It has no credits.
        expect((await ask({}, {}, inferenceKey)).status).toBe(402)
        expect((await foreign('GET', '/routing-rules')).body.data).toEqual([])
        for (const method of ['GET', 'PATCH', 'DELETE']) {
          const body = method === 'PATCH' ? { enabled: false } : undefined
          expect((await foreign(method, `/routing-rules/${id}`, body)).status).toBe(404)
        }
        expect((await foreign('POST', '/routing-rules/dry-run')).body.data.rules).toEqual([])
        expect((await ask()).status).toBe(403)
        const place = await createWorkspace()
        const body = { name: 'r', when: 'true', then: toReasoner, workspace_id: place.id }
        expect((await foreign('POST', '/routing-rules', body)).status).toBe(403)
      })

      test('a key that is limited to a workspace changes rules of that workspace only', async () => {
        const { id: workspace_id } = await createWorkspace()
        const limited = (
          await call('POST', '/management-keys', { name: 'limited', workspace_ids: [workspace_id] })
        ).body.key
        const post = (body: Body) =>
          server().call('POST', '/routing-rules', {
            key: limited,
            body: { name: 'r', when: 'true', then: toReasoner, ...body },
          })
        expect((await post({})).status).toBe(403)
        expect((await post({ workspace_id })).status).toBe(201)
        const { id } = await create({ when: 'false', then: toReasoner })
        const change = { key: limited, body: { enabled: false } }
        expect((await server().call('PATCH', `/routing-rules/${id}`, change)).status).toBe(403)
      })

      test('what a tool or a plugin requests meets no rule', async () => {
        await create({ when: `model == 'sandbox/moderator'`, then: { reject: { message: 'no' } } })
        const moderated = { plugins: [{ id: 'moderation', model: 'sandbox/moderator' }] }
        expect([200, 400, 403]).toContain((await ask(moderated)).status)
        await server().gateway.db.deleteFrom('routing_rules').execute()
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

    describe('400 naming the field', () => {
      const rule = { name: 'r', when: 'true', then: toReasoner }
      test.each<[string, Body, string]>([
        ['no condition', { when: undefined }, 'when'],
        ['a condition that is too long', { when: `${'true && '.repeat(250)}true` }, 'when'],
        ['a condition of another type', { when: 'model' }, 'when'],
        ['a syntax error', { when: 'model ==' }, 'when'],
        ['an unknown variable', { when: `user == 'x'` }, 'when'],
        ['a type error', { when: 'model > 5' }, 'when'],
        ['a regular expression', { when: `model.matches('(a+)+$')` }, 'when'],
        ['deep parentheses', { when: `${'('.repeat(900)}true${')'.repeat(900)}` }, 'when'],
        ['deep negations', { when: `${'!'.repeat(1990)}true` }, 'when'],
        ['deep lists', { when: `'a' in ${'['.repeat(900)}${']'.repeat(900)}` }, 'when'],
        ['deep indexes', { when: `${'tags['.repeat(300)}model${']'.repeat(300)} == ''` }, 'when'],
        ['a macro', { when: `tools.exists(t, t == 'x')` }, 'when'],
        ['a prototype', { when: `__proto__ == 'x'` }, 'when'],
        ['an unknown time zone', { when: `time.getHours('Nowhere') == 1` }, 'when'],
        ['no action', { then: {} }, 'then'],
        ['an unknown model', { then: { models: ['nobody/knows'] } }, 'then.models.0'],
        ['no models', { then: { models: [] } }, 'then.models'],
        ['too many models', { then: { models: Array(11).fill('sandbox/echo') } }, 'then.models'],
        ['preferences without effect', { then: { provider: {} } }, 'then.provider'],
        ['a misspelled preference', { then: { provider: { zrd: true } } }, 'then.provider'],
        ['a tag that is none', { then: { tags: { 'Bad Name': 'x' } } }, 'then.tags'],
        ['no tags', { then: { tags: {} } }, 'then.tags'],
        ['a rejection with models', { then: { ...toReasoner, reject: { message: 'x' } } }, 'then.reject'],
        ['an empty message', { then: { reject: { message: ' ' } } }, 'then.reject.message'],
        ['an unknown field', { priority: 1 }, 'priority'],
        ['an unknown action', { then: { redirect: 'x' } }, 'then.redirect'],
        ['a negative position', { position: -1 }, 'position'],
        ['an empty name', { name: '' }, 'name'],
      ])('%s', async (_, change, field) => {
        const { status, body } = await call('POST', '/routing-rules', { ...rule, ...change })
        expect({ status, message: body.error?.message }).toMatchObject({
          status: 400,
          message: expect.stringMatching(new RegExp(`^${field.replaceAll('.', '\\.')}`)),
        })
        if ('when' in change || 'then' in change) {
          const draft = { when: rule.when, then: rule.then, ...change }
          const tried = await call('POST', '/routing-rules/dry-run', { rule: draft })
          expect(tried.status).toBe(400)
          expect(tried.body.error.message).toStartWith(`rule.${field}`)
        }
      })
    })

    test('409 beyond a hundred rules', async () => {
      const tenant = await createTenant(server().gateway, 'Many rules')
      const post = () =>
        server().call('POST', '/routing-rules', {
          key: tenant.managementKey,
          body: { name: 'r', when: 'false', then: toReasoner },
        })
      for (let count = 0; count < 100; count++) expect((await post()).status).toBe(201)
      const { status, body } = await post()
      expect({ status, message: body.error.message }).toMatchObject({
        status: 409,
        message: expect.stringContaining('100 routing rules'),
      })
    })

    test('every change is in the audit log', async () => {
      const { id } = await create({ name: 'Audited', when: 'true', then: toReasoner })
      await call('PATCH', `/routing-rules/${id}`, { when: 'false' })
      await call('DELETE', `/routing-rules/${id}`)
      const { body } = await call('GET', `/audit?target_id=${id}`)
      expect(body.data.map(({ action }: { action: string }) => action).toSorted()).toEqual([
        'routing_rule.create',
        'routing_rule.delete',
        'routing_rule.update',
      ])
    })
  },
  { settings },
)
