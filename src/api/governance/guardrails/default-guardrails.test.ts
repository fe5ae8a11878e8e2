import { describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { deriveUuid } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('Default guardrails', (server) => {
  let made = 0
  const patch = (id: string, body: unknown) => server().call('PATCH', `/guardrails/${id}`, { body })
  const get = (id: string) => server().call('GET', `/guardrails/${id}`)
  const newWorkspace = async () => {
    const slug = `standing-${++made}`
    const { body } = await server().call('POST', '/workspaces', { body: { name: slug, slug } })
    return body.data as { id: string; default_guardrail_id: string }
  }

  describe('E15 of a workspace', () => {
    test('E15 its id is known from the start and the same at every read', async () => {
      const { id, default_guardrail_id } = await newWorkspace()
      const { body } = await server().call('GET', `/workspaces/${id}`)
      expect(body.data.default_guardrail_id).toBe(default_guardrail_id)
    })

    test('E15 it is 404 until the first PATCH stores it, under the name of its workspace', async () => {
      const { id, default_guardrail_id } = await newWorkspace()
      expect((await get(default_guardrail_id)).status).toBe(404)
      expect((await server().call('DELETE', `/guardrails/${default_guardrail_id}`)).status).toBe(404)
      expect((await get(`${default_guardrail_id}/assignments/members`)).status).toBe(404)
      const stored = await patch(default_guardrail_id, { allowed_data_regions: ['us'] })
      expect(stored.status).toBe(200)
      expect(stored.body.data).toMatchObject({
        id: default_guardrail_id,
        name: `Workspace ${id} Default`,
        workspace_id: id,
        allowed_data_regions: ['us'],
      })
      expect((await get(default_guardrail_id)).body).toEqual(stored.body)
      const list = await server().call('GET', `/guardrails?workspace_id=${id}`)
      expect(list.body.total_count).toBe(1)
    })

    test('E15 an empty PATCH stores it too', async () => {
      const { default_guardrail_id } = await newWorkspace()
      expect((await patch(default_guardrail_id, {})).status).toBe(200)
      expect((await get(default_guardrail_id)).status).toBe(200)
    })

    test('E15 its name cannot be changed; sending the current one is accepted', async () => {
      const { id, default_guardrail_id } = await newWorkspace()
      const name = `Workspace ${id} Default`
      for (const _ of ['before it is stored', 'after']) {
        const rejected = await patch(default_guardrail_id, { name: 'Mine' })
        expect(rejected.status).toBe(400)
        expect(rejected.body.error.message).toStartWith('name')
        expect((await patch(default_guardrail_id, { name, description: 'd' })).status).toBe(200)
      }
    })

    test('E15 a rejected first PATCH stores nothing', async () => {
      const { default_guardrail_id } = await newWorkspace()
      expect((await patch(default_guardrail_id, { name: 'Mine' })).status).toBe(400)
      expect((await patch(default_guardrail_id, { limit_usd: -5 })).status).toBe(400)
      expect((await get(default_guardrail_id)).status).toBe(404)
    })

    test('E15 first PATCHes at the same moment all succeed, and all changes are there', async () => {
      for (let round = 0; round < 5; round++) {
        const { default_guardrail_id } = await newWorkspace()
        const changes = [
          { description: 'together' },
          { enforce_zdr_other: true },
          { allowed_providers: ['sandbox'] },
          { limit_usd: 3, reset_interval: 'daily' },
        ]
        const responses = await Promise.all(changes.map((change) => patch(default_guardrail_id, change)))
        expect(responses.map((response) => response.status)).toEqual([200, 200, 200, 200])
        expect((await get(default_guardrail_id)).body.data).toMatchObject(Object.assign({}, ...changes))
      }
    })

    test('DELETE resets it', async () => {
      const { default_guardrail_id } = await newWorkspace()
      await patch(default_guardrail_id, { description: 'old' })
      const { body } = await server().call('DELETE', `/guardrails/${default_guardrail_id}`)
      expect(body).toEqual({ deleted: true })
      expect((await get(default_guardrail_id)).status).toBe(404)
      const again = await patch(default_guardrail_id, { enforce_zdr_other: true })
      expect(again.body.data).toMatchObject({ description: null, enforce_zdr_other: true })
    })

    test('R37 that of another organization does not exist', async () => {
      const foreign = deriveUuid('default-guardrail', server().foreign.workspace.id)
      expect((await patch(foreign, { description: 'x' })).status).toBe(404)
    })

    test('it is not assigned: it applies by itself', async () => {
      const { default_guardrail_id } = await newWorkspace()
      await patch(default_guardrail_id, {})
      const path = `/guardrails/${default_guardrail_id}/assignments`
      const keys = await server().call('POST', `${path}/keys`, { body: { key_hashes: ['x'] } })
      const members = await server().call('POST', `${path}/members`, { body: { member_user_ids: ['x'] } })
      expect([keys.status, members.status]).toEqual([400, 400])
    })
  })

  describe('of the organization', () => {
    test('the policy of any key shows its id; the first PATCH stores it, in the default workspace', async () => {
      const tenant = await createTenant(server().gateway, 'Whole')
      const key = tenant.managementKey
      const made = await server().call('POST', '/keys', { key, body: { name: 'k' } })
      const policy = await server().call('GET', `/keys/${made.body.data.hash}/policy`, { key })
      const [layer] = policy.body.data.layers
      const name = `Organization ${tenant.organization.id}`
      expect(layer).toMatchObject({ layer: 'organization', configured: false, name })

      const path = `/guardrails/${layer.guardrail_id}`
      expect((await server().call('GET', path, { key })).status).toBe(404)
      const responses = await Promise.all(
        [{ description: 'all of us' }, { ignored_models: ['sandbox/painter'] }].map((body) =>
          server().call('PATCH', path, { key, body }),
        ),
      )
      expect(responses.map((response) => response.status)).toEqual([200, 200])
      const { body } = await server().call('GET', path, { key })
      expect(body.data).toMatchObject({
        id: layer.guardrail_id,
        name,
        scope: 'organization',
        workspace_id: tenant.workspace.id,
        description: 'all of us',
        ignored_models: ['sandbox/painter'],
      })
      expect((await server().call('PATCH', path, { key, body: { name: 'Ours' } })).status).toBe(400)
      expect((await server().call('PATCH', path, { key, body: { name } })).status).toBe(200)
      expect((await patch(layer.guardrail_id, { description: 'theirs' })).status).toBe(404)
      const list = await server().call('GET', '/guardrails', { key })
      expect(list.body.total_count).toBe(0)
      const assign = await server().call('POST', `${path}/assignments/keys`, {
        key,
        body: { key_hashes: [made.body.data.hash] },
      })
      expect(assign.status).toBe(400)
      const removed = await server().call('POST', `${path}/assignments/keys/remove`, {
        key,
        body: { key_hashes: [made.body.data.hash] },
      })
      expect(removed.body).toEqual({ unassigned_count: 0 })
      expect((await server().call('DELETE', path, { key })).status).toBe(200)
      expect((await server().call('GET', path, { key })).status).toBe(404)
    })
  })
})
