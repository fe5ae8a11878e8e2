import { describe, expect, test } from 'bun:test'
import { insertContent, insertGeneration, sampleContent } from '../../../../test/support/generations.ts'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'

const card = '4111 1111 1111 1111'

describeOnEachDatabase('Previews', (server) => {
  const preview = (guardrail: object, request: object, more: object = {}) =>
    server().call('POST', '/guardrails/preview', { body: { guardrail, request, ...more } })
  const chat = (content: string) => ({ model: 'sandbox/echo', messages: [{ role: 'user', content }] })
  const redactCards = { content_filter_builtins: [{ slug: 'credit-card', action: 'redact' }] }

  describe('POST /guardrails/preview', () => {
    test('shows what would be redacted, where, and the request that would remain', async () => {
      const { data } = (await preview(redactCards, chat(`Card: ${card}`))).body
      expect(data).toEqual({
        outcome: 'redacted',
        error: null,
        hits: [
          {
            ...{ rule: 'credit-card', action: 'redact', enforced: true, direction: 'input', layers: ['key'] },
            ...{ part: 'text', role: 'user', message: 0, count: 1, kinds: [] },
            positions: [{ start: 6, end: 6 + card.length }],
          },
        ],
        redacted_request: chat('Card: [CREDIT_CARD]'),
      })
    })

    test('shows the error of a request that would be blocked, in its format', async () => {
      const block = { content_filters: [{ pattern: 'project-[0-9]+', action: 'block', label: '[PROJECT]' }] }
      const request = {
        model: 'sandbox/echo',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'project-7' }],
      }
      const { data } = (await preview(block, request, { format: 'messages' })).body
      expect(data).toMatchObject({
        outcome: 'blocked',
        error: {
          type: 'error',
          error: { type: 'permission_error', message: 'Request blocked by content filter: [PROJECT]' },
        },
        hits: [{ rule: '[PROJECT]', positions: [{ start: 0, end: 9 }] }],
        redacted_request: null,
      })
    })

    test('allows what matches nothing, and ignores dry_run', async () => {
      expect((await preview(redactCards, chat('Hello'))).body.data).toMatchObject({
        outcome: 'allowed',
        hits: [],
        redacted_request: null,
      })
      const trial = await preview({ ...redactCards, dry_run: true }, chat(card))
      expect(trial.body.data.outcome).toBe('redacted')
    })

    test.each([
      ['models', { allowed_models: ['sandbox/reasoner'] }, 'allowed_models'],
      ['regions', { allowed_data_regions: ['us'] }, 'region'],
    ])('evaluates rules about %s', async (_, guardrail, word) => {
      const { data } = (await preview(guardrail, chat('Hello'))).body
      expect(data.outcome).toBe('blocked')
      expect(data.error.error.message).toContain(word)
    })

    test('evaluates content that no filter can read', async () => {
      const url = 'https://images.example.com/a.png'
      const content = [{ type: 'image_url', image_url: { url } }]
      const request = { model: 'sandbox/echo', messages: [{ role: 'user', content }] }
      const { data } = (await preview({ unscannable_content: 'block' }, request)).body
      expect(data).toMatchObject({
        outcome: 'blocked',
        hits: [{ rule: 'unscannable_content', part: 'image' }],
      })
    })

    test('with a key, its other guardrails apply too', async () => {
      const tenant = await createTenant(server().gateway, 'Preview')
      const call = (method: string, path: string, body: unknown) =>
        server().call(method, path, { key: tenant.managementKey, body })
      const { guardrail_id } = (await call('PATCH', '/organization/privacy', {})).body.data
      await call('PATCH', `/guardrails/${guardrail_id}`, {
        content_filter_builtins: [{ slug: 'email', action: 'block' }],
      })
      const body = {
        guardrail: redactCards,
        request: chat(`${card}, ada@example.com`),
        api_key_hash: sha256(tenant.inferenceKey),
      }
      const both = (await call('POST', '/guardrails/preview', body)).body.data
      expect(both.outcome).toBe('blocked')
      expect(both.hits.map(({ rule }: { rule: string }) => rule).toSorted()).toEqual(['credit-card', 'email'])
      const replaced = await call('POST', '/guardrails/preview', { ...body, layer: 'organization' })
      expect(replaced.body.data).toMatchObject({ outcome: 'redacted', hits: [{ layers: ['organization'] }] })
      expect((await preview(redactCards, chat('Hi'), { api_key_hash: body.api_key_hash })).status).toBe(404)
    })

    test('R40 nothing is stored', async () => {
      const count = async () =>
        (await server().gateway.db.selectFrom('guardrail_hits').select('id').execute()).length
      const before = await count()
      await preview(redactCards, chat(card))
      expect(await count()).toBe(before)
    })

    test.each([
      ['layer without a key', { layer: 'key' }, 'layer'],
      ['format unknown', { format: 'telegram' }, 'format'],
      ['R12 unknown field', { color: 'red' }, 'color'],
    ])('400 naming the field: %s', async (_, more, field) => {
      const { status, body } = await preview(redactCards, chat('Hi'), more)
      expect(status).toBe(400)
      expect(body.error.message).toStartWith(field)
    })

    test('400 for what the caller does not send', async () => {
      const request = { model: 'sandbox/echo', input: 'Hi', previous_response_id: 'gen-1' }
      expect((await preview(redactCards, request)).body.error.message).toStartWith(
        'request.previous_response_id',
      )
    })
  })

  describe('POST /guardrails/preview/history', () => {
    const store = async (
      tenant: Parameters<typeof insertContent>[1] & { inferenceKey: string },
      text: string,
    ) => {
      const { gateway } = server()
      const user_id = 'user_of_history'
      const id = await insertGeneration(gateway, tenant, { user_id })
      const input = { messages: [{ role: 'user', content: [{ type: 'text', text }] }] }
      await insertContent(gateway, tenant, id, { content: { ...sampleContent, input } })
    }

    test('counts what would happen to stored prompts, page by page, without their text', async () => {
      const tenant = await createTenant(server().gateway, 'History')
      await store(tenant, 'Hello')
      await store(tenant, `My card is ${card}`)
      await store(tenant, `My cards are ${card} and 5555 5555 5555 4444, mail ada@example.com`)
      await store(server().foreign, card)
      const body = {
        guardrail: {
          content_filter_builtins: [
            { slug: 'credit-card', action: 'redact' },
            { slug: 'email', action: 'block' },
          ],
        },
        limit: 2,
      }
      const call = (more: object) =>
        server().call('POST', '/guardrails/preview/history', {
          key: tenant.managementKey,
          body: { ...body, ...more },
        })
      const first = (await call({})).body
      expect(first.data).toEqual({
        ...{ examined: 2, blocked: 1, redacted: 1, flagged: 0 },
        rules: [
          { rule: 'credit-card', action: 'redact', requests: 2, matches: 3 },
          { rule: 'email', action: 'block', requests: 1, matches: 1 },
        ],
        keys: [
          {
            api_key_hash: sha256(tenant.inferenceKey),
            api_key_name: 'key',
            ...{ blocked: 1, redacted: 1, flagged: 0 },
          },
        ],
        members: [{ user_id: 'user_of_history', blocked: 1, redacted: 1, flagged: 0 }],
      })
      const second = (await call({ cursor: first.cursor })).body
      expect(second).toMatchObject({ data: { examined: 1, blocked: 0, redacted: 0 }, cursor: null })
      expect(JSON.stringify([first, second])).not.toContain('4111 1111')
      const foreign = await server().call('POST', '/guardrails/preview/history', {
        body: { ...body, cursor: first.cursor },
      })
      expect(foreign.status).toBe(400)
    })

    test('only the last days count, and one workspace if it is named', async () => {
      const tenant = await createTenant(server().gateway, 'Old history')
      await store(tenant, card)
      const call = (more: object) =>
        server().call('POST', '/guardrails/preview/history', {
          key: tenant.managementKey,
          body: { guardrail: redactCards, ...more },
        })
      expect((await call({ workspace_id: tenant.workspace.id })).body.data.redacted).toBe(1)
      expect((await call({ workspace_id: server().own.workspace.id })).status).toBe(403)
      server().clock.advance(8 * 86_400_000)
      expect((await call({})).body.data.examined).toBe(0)
      expect((await call({ days: 9 })).body.data.examined).toBe(1)
      server().clock.release()
      expect((await call({ days: 31 })).status).toBe(400)
    })
  })
})
