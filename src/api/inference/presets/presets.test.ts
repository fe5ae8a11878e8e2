import { describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'

let counter = 0
const nextSlug = () => `slug-${++counter}`

describeOnEachDatabase('Presets: reading and changing them', (server) => {
  const post = (slug: string, fields: Record<string, unknown> = {}, key?: string) =>
    server().call('POST', `/presets/${slug}/messages`, {
      body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }], ...fields },
      ...(key && { key }),
    })
  const read = async (path: string, key?: string) =>
    (await server().call('GET', `/presets/${path}`, key ? { key } : {})).body
  const change = (slug: string, body: unknown) => server().call('PATCH', `/presets/${slug}`, { body })

  describe('GET /presets', () => {
    test('most recently updated first; pages do not overlap and cover everything', async () => {
      const key = (await createTenant(server().gateway, 'Lists')).managementKey
      const list = async (query = '') => (await server().call('GET', `/presets${query}`, { key })).body
      const slugs = (page: { data: { slug: string }[] }) => page.data.map((preset) => preset.slug)
      server().clock.freeze('2030-01-01T00:00:00.000Z')
      for (const slug of ['one', 'two', 'three']) {
        await post(slug, {}, key)
        server().clock.advance(1)
      }
      expect(slugs(await list())).toEqual(['three', 'two', 'one'])
      await post('one', {}, key)
      server().clock.advance(1)
      await server().call('PATCH', '/presets/two', { key, body: { name: 'Two' } })
      expect(slugs(await list())).toEqual(['two', 'one', 'three'])
      expect((await list()).data[0]).not.toHaveProperty('designated_version')
      await Promise.all(Array.from({ length: 20 }, (_, i) => post(`same-${i}`, {}, key)))
      server().clock.release()
      const pages = [await list('?limit=10'), await list('?offset=10&limit=10'), await list('?offset=20')]
      expect(pages.map((page) => page.total_count)).toEqual([23, 23, 23])
      expect(new Set(pages.flatMap(slugs)).size).toBe(23)
      expect(slugs(await list())).toEqual(pages.flatMap(slugs))
    })

    test.each(['limit=0', 'limit=101', 'offset=-1'])('400 for %s', async (query) => {
      const slug = nextSlug()
      await post(slug)
      for (const path of ['/presets', `/presets/${slug}/versions`]) {
        const response = await server().call('GET', `${path}?${query}`)
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(query.split('=')[0] ?? '')
      }
    })
  })

  describe('GET /presets/{slug} and its versions', () => {
    test('404 for a preset that does not exist', async () => {
      for (const path of ['nothing', 'nothing/versions', 'nothing/versions/1']) {
        expect((await server().call('GET', `/presets/${path}`)).status).toBe(404)
      }
    })

    test('versions come ascending, in pages', async () => {
      const slug = nextSlug()
      for (let i = 0; i < 11; i++) await post(slug)
      const page = await read(`${slug}/versions?offset=8&limit=2`)
      expect(page.data.map((version: { version: number }) => version.version)).toEqual([9, 10])
      expect(page.total_count).toBe(11)
    })

    test.each([
      ['0', 404],
      ['2', 404],
      ['2147483648', 404],
      ['99999999999999999999', 404],
      ['-1', 400],
      ['1.0', 400],
      ['1e0', 400],
      ['latest', 400],
      ['1%20', 400],
      ['1%0A', 400],
      ['%D9%A1', 400],
    ])('version %s is %i', async (version, status) => {
      const slug = nextSlug()
      await post(slug)
      const response = await server().call('GET', `/presets/${slug}/versions/${version}`)
      expect(response.status).toBe(status)
      if (status === 400) expect(response.body.error.message).toStartWith('version')
    })
  })

  describe('PATCH /presets/{slug}', () => {
    test('only the fields sent change; an empty body changes nothing', async () => {
      const slug = nextSlug()
      const before = (await post(slug)).body.data
      expect((await change(slug, {})).body.data).toEqual(before)
      server().clock.freeze('2031-01-01T00:00:00.000Z')
      const named = await change(slug, { name: '  Support agent ', description: 'For mail' })
      server().clock.release()
      expect(named.body.data).toEqual({
        ...before,
        name: 'Support agent',
        description: 'For mail',
        updated_at: '2031-01-01T00:00:00.000Z',
      })
      const cleared = await change(slug, { description: null })
      expect(cleared.body.data).toMatchObject({ name: 'Support agent', description: null })
      expect((await read(slug)).data).toEqual(cleared.body.data)
    })

    test('a new status is dated, the same one again is not; in every status it can be read', async () => {
      const slug = nextSlug()
      await post(slug)
      server().clock.freeze('2031-01-01T00:00:00.000Z')
      await change(slug, { status: 'disabled' })
      server().clock.advance(1000)
      const again = await change(slug, { status: 'disabled' })
      expect(again.body.data.status_updated_at).toBe('2031-01-01T00:00:00.000Z')
      const archived = await change(slug, { status: 'archived' })
      server().clock.release()
      expect(archived.body.data.status_updated_at).toBe('2031-01-01T00:00:01.000Z')
      expect((await read(slug)).data.status).toBe('archived')
      expect((await read(`${slug}/versions/1`)).data.version).toBe(1)
      expect((await change(slug, { status: 'active' })).body.data.status).toBe('active')
    })

    test('an older version is designated; the next one made still counts on from the last', async () => {
      const slug = nextSlug()
      const first = (await post(slug, { top_k: 1 })).body.data
      await post(slug, { top_k: 2 })
      const back = (await change(slug, { designated_version: 1 })).body.data
      expect(back.designated_version).toEqual(first.designated_version)
      expect(back.designated_version_id).toBe(first.designated_version_id)
      expect((await post(slug)).body.data.designated_version.version).toBe(3)
    })

    test.each([
      [{ designated_version: 2 }, 'designated_version'],
      [{ designated_version: 0 }, 'designated_version'],
      [{ designated_version: 1.5 }, 'designated_version'],
      [{ designated_version: '1' }, 'designated_version'],
      [{ designated_version: 2_147_483_648 }, 'designated_version'],
      [{ designated_version: null }, 'designated_version'],
      [{ status: 'deleted' }, 'status'],
      [{ status: null }, 'status'],
      [{ name: ' ' }, 'name'],
      [{ name: 'n'.repeat(201) }, 'name'],
      [{ description: 'd'.repeat(1001) }, 'description'],
      [{ slug: 'other' }, 'slug'],
      [{ config: {} }, 'config'],
      [{ organization_id: 'theirs' }, 'organization_id'],
    ])('R12 400 for %j', async (body, field) => {
      const slug = nextSlug()
      const before = (await post(slug)).body.data
      const response = await change(slug, { name: 'changed', ...body })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(field)
      expect((await read(slug)).data).toEqual(before)
    })
  })

  describe('DELETE /presets/{slug}', () => {
    test('deletes all versions, and a new preset with the slug starts at version 1', async () => {
      const slug = nextSlug()
      const old = (await post(slug)).body.data
      await post(slug)
      const response = await server().call('DELETE', `/presets/${slug}`)
      expect(response.body).toEqual({ deleted: true })
      for (const path of [slug, `${slug}/versions`, `${slug}/versions/1`]) {
        expect((await server().call('GET', `/presets/${path}`)).status).toBe(404)
      }
      const left = await server()
        .gateway.db.selectFrom('preset_versions')
        .select('id')
        .where('preset_id', '=', old.id)
        .execute()
      expect(left).toBeEmpty()
      const recreated = (await post(slug)).body.data
      expect(recreated.id).not.toBe(old.id)
      expect(recreated.designated_version.version).toBe(1)
    })

    test('R22 of 20 that delete it at the same moment, one does', async () => {
      const slug = nextSlug()
      await post(slug)
      const responses = await Promise.all(
        Array.from({ length: 20 }, () => server().call('DELETE', `/presets/${slug}`)),
      )
      expect(responses.map((response) => response.status).sort()).toEqual([200, ...Array(19).fill(404)])
    })
  })
})
