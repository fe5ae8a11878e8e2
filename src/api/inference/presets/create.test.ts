import { describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { createKey } from '../../../identity/keys.ts'

let counter = 0
const nextSlug = () => `slug-${++counter}`

describeOnEachDatabase('Presets: making them', (server) => {
  const post = (slug: string, fields: Record<string, unknown> = {}, key?: string) =>
    server().call('POST', `/presets/${slug}/messages`, {
      body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }], ...fields },
      ...(key && { key }),
    })
  const read = async (path: string, key?: string) =>
    (await server().call('GET', `/presets/${path}`, key ? { key } : {})).body
  const change = (slug: string, body: unknown) => server().call('PATCH', `/presets/${slug}`, { body })

  describe('E14 POST /presets/{slug}/messages', () => {
    test('E14 makes the preset where it is absent', async () => {
      const slug = nextSlug()
      const { body } = await post(slug, { system: 'Be brief.', temperature: 0.2 })
      const { data } = body
      expect(data).toEqual({
        id: expect.any(String),
        name: slug,
        slug,
        creator_user_id: server().own.owner.id,
        workspace_id: server().own.workspace.id,
        description: null,
        status: 'active',
        status_updated_at: null,
        designated_version_id: data.designated_version.id,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        designated_version: {
          id: expect.any(String),
          preset_id: data.id,
          creator_id: server().own.owner.id,
          version: 1,
          format: 'messages',
          system_prompt: 'Be brief.',
          config: { model: 'sandbox/echo', temperature: 0.2 },
          created_at: expect.any(String),
          updated_at: expect.any(String),
        },
      })
      expect(await read(slug)).toEqual(body)
    })

    test('E14 otherwise makes the next version and designates it; the older ones stay', async () => {
      const slug = nextSlug()
      server().clock.freeze('2030-01-01T00:00:00.000Z')
      const first = (await post(slug, { temperature: 1 })).body.data
      server().clock.advance(1)
      const second = (await post(slug, { top_p: 0.5 })).body.data
      server().clock.release()
      expect(second.id).toBe(first.id)
      expect(second.created_at).toBe('2030-01-01T00:00:00.000Z')
      expect(second.updated_at).toBe('2030-01-01T00:00:00.001Z')
      expect(second.designated_version).toMatchObject({
        version: 2,
        config: { model: 'sandbox/echo', top_p: 0.5 },
      })
      expect(second.designated_version_id).toBe(second.designated_version.id)
      expect(await read(`${slug}/versions`)).toEqual({
        data: [first.designated_version, second.designated_version],
        total_count: 2,
      })
      expect((await read(`${slug}/versions/1`)).data).toEqual(first.designated_version)
    })

    test('the three formats count versions of one preset', async () => {
      const slug = nextSlug()
      const messages = [{ role: 'system', content: 'Chat.' }]
      const chat = await server().call('POST', `/presets/${slug}/chat/completions`, { body: { messages } })
      expect(chat.body.data.designated_version).toMatchObject({
        version: 1,
        config: {},
        system_prompt: 'Chat.',
      })
      const body = { instructions: 'Respond.', max_output_tokens: 5 }
      const responses = await server().call('POST', `/presets/${slug}/responses`, { body })
      expect(responses.body.data.designated_version).toMatchObject({
        version: 2,
        config: { max_output_tokens: 5 },
        system_prompt: 'Respond.',
      })
      expect((await post(slug)).body.data.designated_version.version).toBe(3)
    })

    test('E14 R22 50 at once to one new slug: one preset, versions 1 to 50', async () => {
      const slug = nextSlug()
      const results = await Promise.all(Array.from({ length: 50 }, (_, i) => post(slug, { top_k: i })))
      expect(results.map((response) => response.status)).toEqual(Array(50).fill(200))
      expect(new Set(results.map((response) => response.body.data.id)).size).toBe(1)
      const numbers = results.map((response) => response.body.data.designated_version.version as number)
      const upTo50 = Array.from({ length: 50 }, (_, i) => i + 1)
      expect(numbers.sort((a, b) => a - b)).toEqual(upTo50)
      const { data, total_count } = await read(`${slug}/versions?limit=100`)
      expect(data.map((version: { version: number }) => version.version)).toEqual(upTo50)
      expect(total_count).toBe(50)
      expect((await read(slug)).data.designated_version.version).toBe(50)
    })

    test('R22 created and deleted concurrently: every response is 200 or 404, and version numbers have no gap', async () => {
      const slug = nextSlug()
      const calls = Array.from({ length: 40 }, (_, i) =>
        i % 5 === 4 ? server().call('DELETE', `/presets/${slug}`) : post(slug),
      )
      for (const { status } of await Promise.all(calls)) expect([200, 404]).toContain(status)
      await post(slug)
      const { data, total_count } = await read(`${slug}/versions?limit=100`)
      expect(data.map((version: { version: number }) => version.version)).toEqual(
        Array.from({ length: total_count }, (_, i) => i + 1),
      )
    })

    test.each(['a', 'A', '0', '-', '_', 'Support_Agent-2', 's'.repeat(100)])(
      'E14 takes the slug %s',
      async (slug) => {
        expect((await post(slug)).status).toBe(200)
        expect((await read(slug)).data.slug).toBe(slug)
      },
    )

    test.each(['s'.repeat(101), 'a%20b', 'a.b', 'a%2Fb', '%C3%A9', 'a%0A', '@preset', 'a%3Fb'])(
      'E14 400 for the slug %s',
      async (slug) => {
        const results = [
          await post(slug),
          await server().call('GET', `/presets/${slug}`),
          await server().call('GET', `/presets/${slug}/versions`),
          await change(slug, { name: 'x' }),
          await server().call('DELETE', `/presets/${slug}`),
        ]
        for (const { status, body } of results) {
          expect(status).toBe(400)
          expect(body.error.message).toStartWith('slug')
        }
      },
    )

    test('E14 a key without a member is named itself as the creator', async () => {
      const { key, secret } = await createKey(server().gateway.db, server().clock, {
        organizationId: server().own.organization.id,
        workspaceId: server().own.workspace.id,
        kind: 'management',
        name: 'robot',
      })
      const { data } = (await post(nextSlug(), {}, secret)).body
      expect(data.creator_user_id).toBeNull()
      expect(data.designated_version.creator_id).toBe(`key:${key.hash}`)
    })

    test('without a default workspace the preset is in none', async () => {
      const tenant = await createTenant(server().gateway, 'Homeless')
      const key = tenant.managementKey
      const path = '/workspaces/default?confirm_default_workspace_deletion=true'
      expect((await server().call('DELETE', path, { key })).status).toBe(200)
      expect((await post(nextSlug(), {}, key)).body.data.workspace_id).toBeNull()
    })

    test.each(['messages', 'chat/completions', 'responses'])(
      'E14 409 while the preset is archived, and no version is made: %s',
      async (path) => {
        const slug = nextSlug()
        await post(slug)
        await change(slug, { status: 'archived' })
        const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
        const rejected = await server().call('POST', `/presets/${slug}/${path}`, { body })
        expect(rejected.status).toBe(409)
        expect((await read(`${slug}/versions`)).total_count).toBe(1)
        await change(slug, { status: 'disabled' })
        const attempt = await server().call('POST', `/presets/${slug}/${path}`, { body })
        expect(attempt.body.data).toMatchObject({ status: 'disabled', designated_version: { version: 2 } })
      },
    )
  })

  describe('I9 organizations', () => {
    test('E14 I9 the same slug is a preset of its own in each', async () => {
      const slug = nextSlug()
      const theirs = server().foreign.managementKey
      await post(slug, { top_k: 1 })
      const foreign = (await post(slug, { top_k: 2 }, theirs)).body.data
      expect(foreign.designated_version.version).toBe(1)
      expect(foreign.workspace_id).toBe(server().foreign.workspace.id)
      expect((await read(slug)).data.designated_version.config.top_k).toBe(1)
      expect((await server().call('DELETE', `/presets/${slug}`)).status).toBe(200)
      expect((await read(slug, theirs)).data).toEqual(foreign)
    })

    test('R37 I9 the presets of others are neither listed nor found', async () => {
      const slug = nextSlug()
      const theirs = (await post(slug, {}, server().foreign.managementKey)).body.data
      for (const path of [slug, `${slug}/versions`, `${slug}/versions/1`]) {
        expect((await server().call('GET', `/presets/${path}`)).status).toBe(404)
      }
      expect((await change(slug, { name: 'mine' })).status).toBe(404)
      expect((await server().call('DELETE', `/presets/${slug}`)).status).toBe(404)
      const listed = (await server().call('GET', '/presets?limit=100')).body.data
      expect(listed.map((preset: { id: string }) => preset.id)).not.toContain(theirs.id)
    })
  })
})
