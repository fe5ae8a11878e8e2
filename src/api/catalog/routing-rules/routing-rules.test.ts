import { describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { brokenModelSettings, createRoutingScene } from '../../../../test/support/routing-scene.ts'

type Body = Record<string, unknown>

const settings = `
moderation: { model: sandbox/moderator }
${brokenModelSettings}`

describeOnEachDatabase(
  'routing rules',
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
          ['Second', 0],
          ['Rule', 10],
          ['First', 20],
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

      test('what a plugin requests meets no rule', async () => {
        await create({ when: `operation == 'moderations'`, then: { reject: { message: 'no' } } })
        const input = { model: 'sandbox/moderator', input: 'Hello' }
        const key = server().own.inferenceKey
        expect((await server().call('POST', '/moderations', { key, body: input })).status).toBe(403)
        expect((await ask({ plugins: [{ id: 'moderation' }] })).status).toBe(200)
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
        ['a name of two lines', { name: 'a\nb' }, 'name'],
        ['a message of two lines', { then: { reject: { message: 'a\r\nb' } } }, 'then.reject.message'],
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

    test('texts that PostgreSQL cannot store are not a failure of the server', async () => {
      const rule = { name: 'r', when: `end_user == 'a\0b'`, then: toReasoner }
      expect((await call('POST', '/routing-rules', rule)).status).toBe(400)
      const described = { ...rule, when: 'true', description: 'a\0b' }
      expect((await call('POST', '/routing-rules', described)).status).toBe(400)
      const preferring = { ...rule, when: 'true', then: { provider: { only: ['a\0b', '\ud800'] } } }
      expect((await call('POST', '/routing-rules', preferring)).status).toBeLessThan(500)
      expect((await ask()).status).not.toBe(500)
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
