import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { brokenModelSettings, createRoutingScene } from '../../../../test/support/routing-scene.ts'

const settings = `${brokenModelSettings}  - id: acme/old
    name: Old
    aliases: [acme/first]
    expiration_date: 2031-03-01
    replacement: sandbox/echo
    endpoints: [{ provider: sandbox, upstream_model: echo, pricing: { prompt: "0.001", completion: "0" } }]
`

describeOnEachDatabase(
  'model aliases',
  (server) => {
    const { call, create, ask: askAny, ...scene } = createRoutingScene(server, '/model-aliases')
    const ask = (model: string, more: Record<string, unknown> = {}, key?: string) =>
      askAny({ model, ...more }, {}, key)
    const served = async (model: string) => (await ask(model)).body.model
    const createWorkspace = async () => (await scene.createWorkspace()).id
    const createKey = async (workspace_id: string) =>
      (await call('POST', '/keys', { name: 'k', workspace_id })).body.key as string

    test('a request that names an alias reaches its model, and an alias that moves takes all traffic along', async () => {
      const { id } = await create({ name: 'support', models: ['sandbox/reasoner'] })
      const first = await ask('support')
      expect(first.body.model).toBe('sandbox/reasoner')
      expect(first.body.service_metadata).toMatchObject({ requested: 'support', strategy: 'alias' })
      expect(first.body.service_metadata).not.toHaveProperty('expirations')
      expect((await call('PATCH', `/model-aliases/${id}`, { models: ['sandbox/echo'] })).status).toBe(200)
      expect(await served('support')).toBe('sandbox/echo')
      const second = await ask('support:floor')
      expect(second.body.model).toBe('sandbox/echo')
      const record = await call('GET', `/generation?id=${second.headers.get('x-generation-id')}`)
      expect(record.body.data).toMatchObject({
        model: 'sandbox/echo',
        headgate: { requested_model: 'support:floor' },
      })
      expect((await call('DELETE', `/model-aliases/${id}`)).status).toBe(200)
      expect((await ask('support')).status).toBe(400)
    })

    test('a group is a list of fallbacks', async () => {
      await create({ name: 'any-of', models: ['acme/broken', 'sandbox/echo'] })
      for (let round = 0; round < 2; round++) {
        const { body } = await ask('any-of')
        expect(body.model).toBe('sandbox/echo')
        expect(body.service_metadata.strategy).toBe('fallback')
      }
      await create({ name: 'nested', models: ['any-of', 'sandbox/reasoner'] })
      expect(await served('nested')).toBe('sandbox/echo')
    })

    test('an alias of a workspace takes precedence there over one of the organization', async () => {
      await create({ name: 'shared', models: ['sandbox/echo'], workspace_id: null })
      const workspace_id = await createWorkspace()
      const key = await createKey(workspace_id)
      expect((await ask('shared', {}, key)).body.model).toBe('sandbox/echo')
      await create({ name: 'shared', models: ['sandbox/reasoner'], workspace_id })
      expect((await ask('shared', {}, key)).body.model).toBe('sandbox/reasoner')
      expect(await served('shared')).toBe('sandbox/echo')
      const { body } = await call('GET', `/model-aliases?workspace_id=${workspace_id}`)
      expect(body.data.map(({ models }: { models: string[] }) => models[0]).sort()).toEqual([
        'sandbox/echo',
        'sandbox/reasoner',
      ])
      const foreign = await ask('shared', {}, server().foreign.inferenceKey)
      expect(foreign.status).toBe(400)
    })

    test('an alias with the name of a model moves its traffic', async () => {
      await create({ name: 'sandbox/reasoner', models: ['sandbox/echo'] })
      expect(await served('sandbox/reasoner')).toBe('sandbox/echo')
      await create({ name: 'indirect', models: ['sandbox/reasoner'] })
      expect(await served('indirect')).toBe('sandbox/echo')
    })

    test('an alias announces its expiration, and then moves to its replacement', async () => {
      await create({
        name: 'soon',
        models: ['sandbox/reasoner'],
        expires_at: new Date(server().clock.now() + 3600_000).toISOString(),
        replacement: 'sandbox/echo',
      })
      const before = (await ask('soon')).body
      expect(before.model).toBe('sandbox/reasoner')
      const notice = { name: 'soon', type: 'alias', replacement: 'sandbox/echo' }
      expect(before.service_metadata.expirations).toMatchObject([{ ...notice, is_expired: false }])
      server().clock.advance(2 * 3600_000)
      const after = (await ask('soon')).body
      expect(after.model).toBe('sandbox/echo')
      expect(after.service_metadata.expirations).toMatchObject([{ ...notice, is_expired: true }])
    })

    test('a model announces its expiration, and its traffic moves to the replacement on that day', async () => {
      const before = (await ask('acme/first')).body
      expect(before.model).toBe('acme/old')
      const notice = { type: 'model', expires_at: '2031-03-01T00:00:00.000Z', replacement: 'sandbox/echo' }
      expect(before.service_metadata.expirations).toEqual([
        { name: 'acme/old', ...notice, is_expired: false },
      ])
      const now = server().clock.now()
      server().clock.advance(Date.parse('2031-03-01T00:00:00Z') - now)
      const after = (await ask('acme/first')).body
      expect(after.model).toBe('sandbox/echo')
      expect(after.service_metadata.expirations).toEqual([
        { name: 'acme/first', ...notice, is_expired: true },
      ])
      server().clock.advance(now - server().clock.now())
    })

    test('a guardrail allows the models of a group, whatever they are at the time', async () => {
      const { id } = await create({ name: 'approved', models: ['sandbox/echo'] })
      const guardrail = await call('POST', '/guardrails', { name: 'g', allowed_models: ['@approved'] })
      expect(guardrail.status).toBe(201)
      const hash = (await call('GET', '/keys')).body.data.find(
        ({ name }: { name: string }) => name !== 'k',
      )?.hash
      const assigned = await call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, {
        key_hashes: [hash],
      })
      expect(assigned.status).toBe(200)
      expect(await served('sandbox/echo')).toBe('sandbox/echo')
      expect((await ask('sandbox/reasoner')).status).toBe(403)
      await call('PATCH', `/model-aliases/${id}`, { models: ['sandbox/reasoner'] })
      expect((await ask('sandbox/echo')).status).toBe(403)
      expect(await served('sandbox/reasoner')).toBe('sandbox/reasoner')
      const refused = await call('DELETE', `/model-aliases/${id}`)
      expect({ status: refused.status, message: refused.body.error.message }).toEqual({
        status: 409,
        message: 'The guardrail "g" names this alias.',
      })
    })

    test('a guardrail names aliases that lead to one another in many ways', async () => {
      // Five layers of eight: each alias names all of the next layer, which is 32,768 ways through them.
      const [layers, width] = [5, 8]
      const nameOf = (layer: number, at: number) => `way-${layer}-${at}`
      for (let layer = layers; layer > 0; layer--)
        for (let at = 0; at < width; at++) {
          const next = Array.from({ length: width }, (_, index) => nameOf(layer + 1, index))
          await create({ name: nameOf(layer, at), models: layer === layers ? ['sandbox/echo'] : next })
        }
      const rules = Array.from({ length: width }, (_, at) => `@${nameOf(1, at)}`)
      const guardrail = await call('POST', '/guardrails', { name: 'ways', allowed_models: rules })
      const { key, data } = (await call('POST', '/keys', { name: 'ways' })).body
      await call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, {
        key_hashes: [data.hash],
      })
      expect((await ask('sandbox/reasoner', {}, key)).status).toBe(403)
      expect((await ask('sandbox/echo', {}, key)).status).toBe(200)
    })

    test('as many aliases can name one another as a request follows', async () => {
      for (let at = 5; at > 0; at--)
        await create({ name: `chain-${at}`, models: [at === 5 ? 'sandbox/reasoner' : `chain-${at + 1}`] })
      expect(await served('chain-1')).toBe('sandbox/reasoner')
      for (const body of [
        { name: 'chain-0', models: ['chain-1'] },
        { name: 'chain-0', targets: [{ model: 'chain-1', weight: 1 }] },
      ]) {
        const refused = await call('POST', '/model-aliases', body)
        expect(refused.status).toBe(400)
        expect(refused.body.error.message).toContain('chain of 6 aliases')
      }
      await create({ name: 'chain-6', models: ['sandbox/echo'] })
      const { data } = (await call('GET', '/model-aliases')).body
      const last = data.find(({ name }: { name: string }) => name === 'chain-5')
      const path = `/model-aliases/${last.id}`
      expect((await call('PATCH', path, { models: ['chain-6'] })).status).toBe(400)
      expect((await call('PATCH', path, { models: ['sandbox/echo'] })).status).toBe(200)
    })

    describe('400 naming the field', () => {
      test.each([
        ['an unknown model', { name: 'a', models: ['nobody/knows'] }, 'models.0'],
        [
          'an unknown replacement',
          { name: 'a', models: ['sandbox/echo'], expires_at: '2031-01-01T00:00:00Z', replacement: 'x' },
          'replacement',
        ],
        [
          'a replacement that never begins',
          { name: 'a', models: ['sandbox/echo'], replacement: 'sandbox/echo' },
          'expires_at',
        ],
        ['no model', { name: 'a', models: [] }, 'models'],
        ['a name with a suffix', { name: 'a:free', models: ['sandbox/echo'] }, 'name'],
        ['a name of a preset', { name: '@preset/a', models: ['sandbox/echo'] }, 'name'],
      ])('%s', async (_, body, field) => {
        const response = await call('POST', '/model-aliases', body)
        expect(response.status).toBe(400)
        expect(response.body.error.metadata.issues[0].field).toBe(field)
      })

      test('an alias that leads back to itself', async () => {
        const { id } = await create({ name: 'one', models: ['sandbox/echo'] })
        await create({ name: 'two', models: ['one'] })
        const response = await call('PATCH', `/model-aliases/${id}`, { models: ['two'] })
        expect(response.status).toBe(400)
        expect((await call('DELETE', `/model-aliases/${id}`)).status).toBe(409)
      })

      test('an unknown alias in a guardrail', async () => {
        const response = await call('POST', '/guardrails', { name: 'g', ignored_models: ['@nobody'] })
        expect(response.status).toBe(400)
        expect(response.body.error.metadata.issues[0].field).toBe('ignored_models.0')
      })
    })

    test('409 for a name that is taken', async () => {
      await create({ name: 'taken', models: ['sandbox/echo'] })
      expect((await call('POST', '/model-aliases', { name: 'taken', models: ['sandbox/echo'] })).status).toBe(
        409,
      )
    })
  },
  { settings },
)
