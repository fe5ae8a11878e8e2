import { describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../../test/support/harness.ts'

describeOnEachDatabase(
  'Privacy settings',
  (server) => {
    const path = '/organization/privacy'
    type Call = (
      method: string,
      path: string,
      body?: unknown,
    ) => ReturnType<ReturnType<typeof server>['call']>
    const callAs =
      ({ managementKey: key }: Tenant): Call =>
      (method, target, body) =>
        server().call(method, target, { key, ...(body !== undefined && { body }) })
    const start = async (name: string) => callAs(await createTenant(server().gateway, name))

    test('they are fields of the guardrail of the organization, in both directions', async () => {
      const call = await start('Two views')
      const { guardrail_id, ...settings } = (await call('GET', path)).body.data
      expect(settings).toEqual({
        enable_free_model_publication: null,
        enable_free_model_training: null,
        enable_paid_model_training: null,
        enforce_zdr_vendor_a: null,
        enforce_zdr_vendor_b: null,
        enforce_zdr_vendor_c: null,
        enforce_zdr_vendor_d: null,
        enforce_zdr_other: null,
        allowed_providers: null,
        ignored_providers: null,
        dry_run: false,
        locked: false,
      })
      const changed = await call('PATCH', path, { enforce_zdr_other: true, ignored_providers: ['OpenAI'] })
      expect(changed.body.data).toMatchObject({ enforce_zdr_other: true, ignored_providers: ['openai'] })
      const guardrail = (await call('GET', `/guardrails/${guardrail_id}`)).body.data
      expect(guardrail).toMatchObject({
        scope: 'organization',
        enforce_zdr_other: true,
        ignored_providers: ['openai'],
      })
      await call('PATCH', `/guardrails/${guardrail_id}`, { enable_paid_model_training: false })
      expect((await call('GET', path)).body.data.enable_paid_model_training).toBe(false)
    })

    test.each([
      ['R12 a field of other guardrails', { allowed_models: ['sandbox/echo'] }, 'allowed_models'],
      ['an unknown provider', { allowed_providers: ['nobody'] }, 'allowed_providers.0'],
      ['not a boolean', { locked: 1 }, 'locked'],
    ])('400 naming the field: %s', async (_, body, field) => {
      const { status, body: response } = await server().call('PATCH', path, { body })
      expect(status).toBe(400)
      expect(response.error.message).toStartWith(field)
    })

    test('R37 each organization has its own settings and its own lock', async () => {
      const call = await start('Locked')
      await call('PATCH', path, { locked: true, enable_free_model_training: false })
      const other = await start('Not locked')
      expect((await other('GET', path)).body.data).toMatchObject({
        locked: false,
        enable_free_model_training: null,
      })
      expect((await other('PATCH', path, { enforce_zdr_other: true })).status).toBe(200)
    })

    test('locked settings cannot be changed through either view, except while unlocking', async () => {
      const call = await start('Both views')
      const { guardrail_id } = (
        await call('PATCH', path, { enable_paid_model_training: false, locked: true })
      ).body.data
      const refused = await call('PATCH', path, { enable_paid_model_training: true })
      expect(refused.status).toBe(403)
      expect(refused.body.error.message).toBe(
        'enable_paid_model_training: cannot be changed while the privacy settings of the organization are locked. Unlock them with {"locked": false} in PATCH /organization/privacy.',
      )
      const guardrail = `/guardrails/${guardrail_id}`
      expect((await call('PATCH', path, { enforce_zdr_other: true, locked: true })).status).toBe(403)
      expect((await call('PATCH', guardrail, { enable_paid_model_training: null })).status).toBe(403)
      expect((await call('PATCH', guardrail, { dry_run: true })).status).toBe(403)
      expect((await call('DELETE', guardrail)).status).toBe(403)
      expect((await call('PATCH', guardrail, { enable_paid_model_training: false })).status).toBe(200)
      expect((await call('PATCH', guardrail, { ignored_models: ['sandbox/painter'] })).status).toBe(200)
      const unlocked = await call('PATCH', path, { enable_paid_model_training: true, locked: false })
      expect(unlocked.body.data).toMatchObject({ enable_paid_model_training: true, locked: false })
      expect((await call('DELETE', guardrail)).status).toBe(200)
    })

    describe('E17 while they are locked', () => {
      const config = { url: 'https://127.0.0.1:9/events' }
      const startLocked = async (name: string, settings: object) => {
        const call = await start(name)
        const body = { type: 'webhook', name: 'hook', config, ...settings }
        const { id } = (await call('POST', '/observability/destinations', body)).body.data
        expect((await call('PATCH', path, { locked: true })).status).toBe(200)
        return { call, destination: `/observability/destinations/${id}` }
      }

      test('E17 a destination with privacy_mode cannot share more', async () => {
        const { call, destination } = await startLocked('Private destination', {
          privacy_mode: true,
          enabled: false,
          sampling_rate: 0.5,
        })
        for (const field of [
          'broadcast_generation_cost',
          'broadcast_generation_identity',
          'broadcast_generation_request_context',
        ]) {
          const { status, body } = await call('PATCH', destination, { [field]: true })
          expect(status).toBe(403)
          expect(body.error.message).toStartWith(`${field}: cannot be switched on while the privacy settings`)
          expect(body.error.metadata.reason).toBe('privacy_locked')
        }
        const open = await call('PATCH', destination, { privacy_mode: false, name: 'renamed' })
        expect(open.status).toBe(403)
        expect(open.body.error.message).toStartWith('privacy_mode: cannot be switched off')
        expect((await call('GET', destination)).body.data.name).toBe('hook')
        const wider = { enabled: true, sampling_rate: 1, regions: ['global', 'us'] }
        expect((await call('PATCH', destination, wider)).status).toBe(200)
      })

      test('E17 a destination that gets content cannot get more, and can be restricted and deleted', async () => {
        const filter_rules = {
          groups: [{ rules: [{ field: 'model', operator: 'equals', value: 'sandbox/echo' }] }],
        }
        const { call, destination } = await startLocked('Open destination', {
          sampling_rate: 0.5,
          regions: ['us', 'europe'],
          broadcast_generation_cost: true,
          filter_rules,
        })
        const change = (body: object) => call('PATCH', destination, body)
        const refused = async (body: object) => {
          const response = await change(body)
          expect(response.status).toBe(403)
          expect(response.body.error.message).toStartWith(Object.keys(body)[0] ?? '')
        }
        await refused({ sampling_rate: 0.6 })
        await refused({ regions: ['us', 'global'] })
        await refused({ filter_rules: null })
        await refused({ config: { url: 'https://127.0.0.1:10/events' } })
        expect((await change({ sampling_rate: 0.1, regions: ['us'] })).status).toBe(200)
        expect((await change({ broadcast_generation_cost: false })).status).toBe(200)
        expect((await change({ config: { url: 'https://127.0.0.1:9/other' } })).status).toBe(200)
        expect((await change({ enabled: false })).status).toBe(200)
        await refused({ enabled: true })
        expect((await change({ enabled: true, privacy_mode: true })).status).toBe(200)
        expect((await call('DELETE', destination)).status).toBe(200)
      })

      test('E17 the keys of a destination that gets content cannot be extended', async () => {
        const call = await start('Keys of a destination')
        const hashes: string[] = []
        for (const name of ['one', 'two']) hashes.push((await call('POST', '/keys', { name })).body.data.hash)
        const body = { type: 'webhook', name: 'hook', config, api_key_hashes: [hashes[0]] }
        const { id } = (await call('POST', '/observability/destinations', body)).body.data
        await call('PATCH', path, { locked: true })
        const change = (api_key_hashes: unknown) =>
          call('PATCH', `/observability/destinations/${id}`, { api_key_hashes })
        expect((await change(null)).status).toBe(403)
        expect((await change(hashes)).status).toBe(403)
        expect((await change([hashes[0]])).status).toBe(200)
      })

      test('E17 a new destination must have privacy_mode, and no other sharing', async () => {
        const call = await start('New destinations')
        await call('PATCH', path, { locked: true })
        const create = (settings: object) =>
          call('POST', '/observability/destinations', { type: 'webhook', name: 'hook', config, ...settings })
        const open = await create({})
        expect(open.status).toBe(403)
        expect(open.body.error.message).toStartWith('privacy_mode: must be true for a new destination')
        expect((await create({ privacy_mode: true, broadcast_generation_identity: true })).status).toBe(403)
        expect((await create({ privacy_mode: true })).status).toBe(201)
      })

      test('workspaces cannot begin to store or share content', async () => {
        const call = await start('Logging')
        const content = { type: 'webhook', name: 'hook', config }
        await call('POST', '/observability/destinations', content)
        const logged = (
          await call('POST', '/workspaces', {
            name: 'Logged',
            slug: 'logged',
            is_observability_io_logging_enabled: true,
            io_logging_sampling_rate: 0.5,
            io_logging_api_key_ids: [1],
          })
        ).body.data.id
        await call('PATCH', '/workspaces/default', { is_observability_broadcast_enabled: false })
        await call('PATCH', path, { locked: true })
        const refused = async (workspace: string, body: Record<string, unknown>) => {
          const response = await call('PATCH', `/workspaces/${workspace}`, body)
          expect(response.status).toBe(403)
          expect(response.body.error.message).toStartWith(`${Object.keys(body)[0]}: cannot be`)
        }
        await refused('default', { is_observability_io_logging_enabled: true })
        await refused('default', { is_data_discount_logging_enabled: true })
        await refused('default', { is_observability_broadcast_enabled: true })
        await refused(logged, { io_logging_sampling_rate: 0.6 })
        await refused(logged, { io_logging_api_key_ids: null })
        await refused(logged, { io_logging_api_key_ids: [1, 2] })
        const fine = { is_observability_broadcast_enabled: true, io_logging_sampling_rate: 0.4, name: 'Less' }
        expect((await call('PATCH', `/workspaces/${logged}`, fine)).status).toBe(200)
        const body = { name: 'New', slug: 'new', is_observability_io_logging_enabled: true }
        expect((await call('POST', '/workspaces', body)).status).toBe(403)
        expect((await call('POST', '/workspaces', { name: 'New', slug: 'new' })).status).toBe(201)
      })
    })
  },
  { settings: 'egress: { allow_private: ["127.0.0.1:9", "127.0.0.1:10"] }' },
)
