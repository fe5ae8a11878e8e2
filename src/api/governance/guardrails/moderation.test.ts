import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'

describeOnEachDatabase('moderation of guardrails', (server) => {
  let made = 0
  const create = (moderation: unknown) =>
    server().call('POST', '/guardrails', { body: { name: `moderated ${++made}`, moderation } })

  test('is stored, changed and removed', async () => {
    const rule = { action: 'block', model: 'sandbox/moderator', categories: ['hate', 'violence'] }
    const { status, body } = await create({ ...rule, categories: ['hate', 'violence', 'hate'] })
    expect(status).toBe(201)
    expect(body.data.moderation).toEqual(rule)
    const path = `/guardrails/${body.data.id}`
    const patch = async (changes: object) => (await server().call('PATCH', path, { body: changes })).body.data
    expect((await patch({ description: 'other' })).moderation).toEqual(rule)
    const flag = { action: 'flag', model: 'sandbox/moderator' }
    expect((await patch({ moderation: flag })).moderation).toEqual({ ...flag, categories: null })
    expect((await patch({ moderation: null })).moderation).toBeNull()
  })

  test('is in the policy of a key', async () => {
    const { data } = (await create({ action: 'block', model: 'sandbox/moderator' })).body
    const { hash } = (await server().call('POST', '/keys', { body: { name: 'moderated' } })).body.data
    const body = { key_hashes: [hash] }
    await server().call('POST', `/guardrails/${data.id}/assignments/keys`, { body })
    const policy = (await server().call('GET', `/keys/${hash}/policy`)).body.data
    expect(policy.moderation).toEqual([
      { layer: 'key', action: 'block', model: 'sandbox/moderator', categories: null },
    ])
  })

  test('needs a model for moderations', async () => {
    for (const model of ['sandbox/painter', 'sandbox/none', null]) {
      const { status, body } = await create({ action: 'block', model })
      expect(status).toBe(400)
      expect(body.error.param).toBe('moderation.model')
    }
    const { body } = await create({ action: 'redact', model: 'sandbox/moderator' })
    expect(body.error.param).toBe('moderation.action')
  })
})

describeOnEachDatabase(
  'moderation of guardrails with a moderation model of the gateway',
  (server) => {
    test('needs no model', async () => {
      const moderation = { action: 'block' }
      const { body } = await server().call('POST', '/guardrails', { body: { name: 'moderated', moderation } })
      expect(body.data.moderation).toEqual({ action: 'block', model: null, categories: null })
    })
  },
  { settings: 'moderation: { model: sandbox/moderator }' },
)
