import { describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { uuidPattern } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('Workspaces', (server) => {
  let made = 0
  const nextSlug = () => `workspace-${++made}`

  const create = async (body: Record<string, unknown> = {}, key?: string) => {
    const response = await server().call('POST', '/workspaces', {
      body: { name: 'Test', slug: nextSlug(), ...body },
      ...(key !== undefined && { key }),
    })
    expect(response.status).toBe(201)
    return response.body.data as Record<string, unknown> & { id: string; slug: string }
  }

  const createKeyIn = async (workspace_id: string, key?: string) => {
    const response = await server().call('POST', '/keys', {
      body: { name: 'k', workspace_id },
      ...(key !== undefined && { key }),
    })
    return response.body as { data: { hash: string }; key: string }
  }

  const tenant = () => createTenant(server().gateway, 'Tenant')

  test('include_counts: the enabled keys and the members of each workspace', async () => {
    const own = await tenant()
    const { id } = await create({}, own.managementKey)
    const read = async (query = '') => {
      const path = `/workspaces?ids=${id}${query}`
      return (await server().call('GET', path, { key: own.managementKey })).body.data[0]
    }
    expect(await read()).not.toHaveProperty('key_count')
    expect(await read('&include_counts=true')).toMatchObject({ key_count: 0, member_count: 0 })
    await createKeyIn(id, own.managementKey)
    const { data } = await createKeyIn(id, own.managementKey)
    const disabled = { key: own.managementKey, body: { disabled: true } }
    await server().call('PATCH', `/keys/${data.hash}`, disabled)
    const added = { key: own.managementKey, body: { user_ids: [own.owner.id] } }
    await server().call('POST', `/workspaces/${id}/members/add`, added)
    expect(await read('&include_counts=true')).toMatchObject({ key_count: 1, member_count: 1 })
  })

  describe('POST /workspaces', () => {
    test('only name and slug are needed; the rest has defaults', async () => {
      const slug = nextSlug()
      const { id, default_guardrail_id, created_at, ...rest } = await create({ name: '  Research ', slug })
      expect(id).toMatch(uuidPattern)
      expect(default_guardrail_id).toMatch(uuidPattern)
      expect(Date.parse(String(created_at))).not.toBeNaN()
      expect(rest).toEqual({
        slug,
        name: 'Research',
        description: null,
        default_text_model: null,
        default_image_model: null,
        default_provider_sort: null,
        include_byok_in_budgets: false,
        is_observability_io_logging_enabled: false,
        io_logging_sampling_rate: 1,
        io_logging_api_key_ids: null,
        is_data_discount_logging_enabled: false,
        is_prompt_caching_enabled: true,
        is_observability_broadcast_enabled: true,
        disabled_server_tools: null,
        tags: null,
        video_callback_url: null,
        has_video_callback_secret: false,
        created_by: server().own.owner.id,
        updated_at: null,
      })
    })

    test('R12 every field that is sent is what a later GET returns', async () => {
      const sent = {
        name: 'Full',
        slug: nextSlug(),
        description: 'd'.repeat(500),
        default_text_model: 'openai/gpt-5',
        default_image_model: 'google/gemini-image',
        default_provider_sort: 'exacto',
        is_observability_io_logging_enabled: true,
        io_logging_sampling_rate: 0.0001,
        io_logging_api_key_ids: [3, 1, 2],
        is_data_discount_logging_enabled: true,
        is_prompt_caching_enabled: false,
        is_observability_broadcast_enabled: true,
        disabled_server_tools: ['service:bash', 'service:web_search'],
      }
      const { id } = await create(sent)
      const { body } = await server().call('GET', `/workspaces/${id}`)
      expect(body.data).toMatchObject(sent)
    })

    test.each([
      ['name missing', { name: undefined }, 'name'],
      ['name empty', { name: ' ' }, 'name'],
      ['name of 101', { name: 'n'.repeat(101) }, 'name'],
      ['slug missing', { slug: undefined }, 'slug'],
      ['slug empty', { slug: '' }, 'slug'],
      ['slug of 51', { slug: 's'.repeat(51) }, 'slug'],
      ['slug in capitals', { slug: 'Team' }, 'slug'],
      ['slug with two hyphens', { slug: 'a--b' }, 'slug'],
      ['slug ending in a hyphen', { slug: 'a-' }, 'slug'],
      ['slug with a newline', { slug: 'a\n' }, 'slug'],
      ['slug like a UUID', { slug: '01234567-89ab-cdef-0123-456789abcdef' }, 'slug'],
      ['description of 501', { description: 'd'.repeat(501) }, 'description'],
      ['sampling rate 0', { io_logging_sampling_rate: 0 }, 'io_logging_sampling_rate'],
      ['sampling rate too small', { io_logging_sampling_rate: 0.00009 }, 'io_logging_sampling_rate'],
      ['sampling rate above 1', { io_logging_sampling_rate: 1.0001 }, 'io_logging_sampling_rate'],
      ['sampling rate null', { io_logging_sampling_rate: null }, 'io_logging_sampling_rate'],
      ['sort unknown', { default_provider_sort: 'cheapest' }, 'default_provider_sort'],
      ['key ids not integers', { io_logging_api_key_ids: [1.5] }, 'io_logging_api_key_ids'],
      ['server tool unknown', { disabled_server_tools: ['service:time_travel'] }, 'disabled_server_tools'],
      ['flag not a boolean', { is_observability_broadcast_enabled: 1 }, 'is_observability_broadcast_enabled'],
      ['R12 unknown field', { color: 'red' }, 'color'],
      ['R12 field of the answer only', { is_default: true }, 'is_default'],
      ['R12 budget setting', { include_byok_in_budgets: true }, 'include_byok_in_budgets'],
    ])('400 naming the field: %s', async (_, change, field) => {
      const body = { name: 'x', slug: nextSlug(), ...change }
      const response = await server().call('POST', '/workspaces', { body })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(field)
    })

    test('a name of 100 and a slug of 50 and of 1 characters are accepted', async () => {
      await create({ name: 'n'.repeat(100), slug: 's'.repeat(50) })
      await create({ slug: '7' })
    })

    test('409 for a slug in use, but another organization may have it', async () => {
      const { slug } = await create()
      const again = await server().call('POST', '/workspaces', { body: { name: 'x', slug } })
      expect(again.status).toBe(409)
      await create({ slug }, server().foreign.managementKey)
    })

    test('R22 of 50 that want one slug at the same moment, one gets it', async () => {
      const body = { name: 'Race', slug: nextSlug() }
      const responses = await Promise.all(
        Array.from({ length: 50 }, () => server().call('POST', '/workspaces', { body })),
      )
      const statuses = responses.map((response) => response.status).sort()
      expect(statuses).toEqual([201, ...Array(49).fill(409)])
    })

    test('403 for an inference key, 401 for none', async () => {
      const body = { name: 'x', slug: nextSlug() }
      const key = server().own.inferenceKey
      expect((await server().call('POST', '/workspaces', { body, key })).status).toBe(403)
      expect((await server().call('POST', '/workspaces', { body, key: null })).status).toBe(401)
    })
  })

  describe('GET /workspaces', () => {
    test('pages do not overlap, cover everything and count it', async () => {
      const key = (await tenant()).managementKey
      server().clock.freeze('2030-01-01T00:00:00.000Z')
      await Promise.all(Array.from({ length: 22 }, () => create({}, key)))
      server().clock.release()
      const ids: string[] = []
      for (const offset of [0, 10, 20, 30]) {
        const { body } = await server().call('GET', `/workspaces?offset=${offset}&limit=10`, { key })
        expect(body.total_count).toBe(23)
        ids.push(...body.data.map((workspace: { id: string }) => workspace.id))
      }
      expect(ids).toHaveLength(23)
      expect(new Set(ids).size).toBe(23)
      const whole = await server().call('GET', '/workspaces', { key })
      expect(whole.body.data.map((workspace: { id: string }) => workspace.id)).toEqual(ids)
    })

    test('50 by default; empty and null mean the default; 1 and 100 are the ends', async () => {
      const key = (await tenant()).managementKey
      await Promise.all(Array.from({ length: 60 }, () => create({}, key)))
      const count = async (query: string) =>
        (await server().call('GET', `/workspaces${query}`, { key })).body.data.length
      expect(await count('')).toBe(50)
      expect(await count('?offset=null&limit=')).toBe(50)
      expect(await count('?limit=1')).toBe(1)
      expect(await count('?limit=100')).toBe(61)
      expect(await count('?offset=61')).toBe(0)
      expect(await count('?offset=999999999999999')).toBe(0)
    })

    test('I9 by ids: those that exist in the own organization', async () => {
      const key = (await tenant()).managementKey
      const [first, , third] = [await create({}, key), await create({}, key), await create({}, key)]
      const ids = [third?.id, first?.id, server().own.workspace.id, 'unknown', ''].join()
      const { body } = await server().call('GET', `/workspaces?ids=${ids}`, { key })
      expect(body.data.map(({ id }: { id: string }) => id)).toEqual([first?.id, third?.id])
      expect(body.total_count).toBe(2)
    })

    const tooManyIds = `ids=${Array(101).fill('x')}`
    test.each(['limit=0', 'limit=101', 'limit=1.5', 'limit=x', 'offset=-1', tooManyIds])(
      '400 for %s',
      async (query) => {
        const response = await server().call('GET', `/workspaces?${query}`)
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(query.split('=')[0] ?? '')
      },
    )

    test('I9 only those of the own organization', async () => {
      const { body } = await server().call('GET', '/workspaces', { key: (await tenant()).managementKey })
      expect(body.total_count).toBe(1)
    })
  })

  describe('GET and PATCH /workspaces/{id}', () => {
    test('by UUID in any case, and by slug', async () => {
      const workspace = await create()
      for (const ref of [workspace.id, workspace.id.toUpperCase(), workspace.slug]) {
        expect((await server().call('GET', `/workspaces/${ref}`)).body.data).toEqual(workspace)
      }
    })

    test.each(['nothing-here', '01234567-89ab-4def-8123-456789abcdef', 'Default', 'a%2Fb', '%20'])(
      '404 for %s',
      async (ref) => {
        expect((await server().call('GET', `/workspaces/${ref}`)).status).toBe(404)
        const body = { name: 'x' }
        expect((await server().call('PATCH', `/workspaces/${ref}`, { body })).status).toBe(404)
        expect((await server().call('DELETE', `/workspaces/${ref}`)).status).toBe(404)
      },
    )

    test('I9 another organization is 404, by UUID and by slug', async () => {
      const theirs = await create({}, server().foreign.managementKey)
      for (const ref of [theirs.id, theirs.slug]) {
        expect((await server().call('GET', `/workspaces/${ref}`)).status).toBe(404)
        const body = { name: 'mine' }
        expect((await server().call('PATCH', `/workspaces/${ref}`, { body })).status).toBe(404)
        expect((await server().call('DELETE', `/workspaces/${ref}`)).status).toBe(404)
      }
    })

    test('only the fields sent change; null clears; an empty body changes nothing', async () => {
      const before = await create({
        description: 'old',
        default_text_model: 'a/b',
        default_provider_sort: 'price',
        disabled_server_tools: ['service:bash'],
        io_logging_api_key_ids: [1],
      })
      const same = await server().call('PATCH', `/workspaces/${before.slug}`, { body: {} })
      expect(same.body.data).toEqual(before)
      const { body } = await server().call('PATCH', `/workspaces/${before.id}`, {
        body: { description: null, default_provider_sort: null, io_logging_api_key_ids: null },
      })
      expect(body.data).toEqual({
        ...before,
        description: null,
        default_provider_sort: null,
        io_logging_api_key_ids: null,
        updated_at: expect.any(String),
      })
    })

    test.each([[[]], [null]])('disabled_server_tools: %p clears them', async (disabled_server_tools) => {
      const { id } = await create({ disabled_server_tools: ['service:bash'] })
      const { body } = await server().call('PATCH', `/workspaces/${id}`, { body: { disabled_server_tools } })
      expect(body.data.disabled_server_tools).toBeNull()
    })

    test('a new slug takes the place of the old one; 409 when it is in use', async () => {
      const [one, two] = [await create(), await create()]
      const slug = nextSlug()
      expect((await server().call('PATCH', `/workspaces/${one.slug}`, { body: { slug } })).status).toBe(200)
      expect((await server().call('GET', `/workspaces/${one.slug}`)).status).toBe(404)
      expect((await server().call('GET', `/workspaces/${slug}`)).body.data.id).toBe(one.id)
      const attempt = await server().call('PATCH', `/workspaces/${two.id}`, { body: { slug } })
      expect(attempt.status).toBe(409)
      const own = await server().call('PATCH', `/workspaces/${one.id}`, { body: { slug } })
      expect(own.status).toBe(200)
    })

    test.each([
      [{ slug: '01234567-89ab-cdef-0123-456789abcdef' }, 'slug'],
      [{ name: '' }, 'name'],
      [{ name: null }, 'name'],
      [{ created_by: 'me' }, 'created_by'],
      [{ organization_id: 'theirs' }, 'organization_id'],
      [{ include_byok_in_budgets: true }, 'include_byok_in_budgets'],
    ])('R12 400 for %j', async (body, field) => {
      const { id } = await create()
      const response = await server().call('PATCH', `/workspaces/${id}`, { body })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(field)
    })
  })

  describe('DELETE /workspaces/{id}', () => {
    test.each(['id', 'slug'] as const)('by %s: gone everywhere, and the slug is free again', async (by) => {
      const workspace = await create()
      await server().call('PUT', `/workspaces/${workspace.id}/budgets/daily`, { body: { limit_usd: 1 } })
      const user_ids = [server().own.owner.id]
      await server().call('POST', `/workspaces/${workspace.id}/members/add`, { body: { user_ids } })
      const deleted = await server().call('DELETE', `/workspaces/${workspace[by]}`)
      expect(deleted.body).toEqual({ deleted: true })
      for (const ref of [workspace.id, workspace.slug]) {
        for (const [method, path, body] of [
          ['GET', '', undefined],
          ['PATCH', '', {}],
          ['DELETE', '', undefined],
          ['GET', '/members', undefined],
          ['POST', '/members/add', { user_ids }],
          ['POST', '/members/remove', { user_ids }],
          ['GET', '/budgets', undefined],
          ['GET', '/budgets/daily', undefined],
          ['PUT', '/budgets/daily', { limit_usd: 1 }],
          ['DELETE', '/budgets/daily', undefined],
        ] as const) {
          const response = await server().call(method, `/workspaces/${ref}${path}`, body && { body })
          expect([method, path, response.status]).toEqual([method, path, 404])
        }
      }
      const listed = await server().call('GET', '/workspaces?limit=100')
      expect(listed.body.data.map((w: { id: string }) => w.id)).not.toContain(workspace.id)
      for (const table of ['workspace_members', 'workspace_budgets'] as const) {
        const rows = await server().gateway.db.selectFrom(table).select('workspace_id').execute()
        expect(rows.map((row) => row.workspace_id)).not.toContain(workspace.id)
      }
      await create({ slug: workspace.slug })
    })

    test('400 while it has active keys; disabled, expired and deleted ones do not count', async () => {
      const workspace = await create()
      const disabled = await createKeyIn(workspace.id)
      const deleted = await createKeyIn(workspace.id)
      await server().call('POST', '/keys', {
        body: { name: 'short', workspace_id: workspace.id, expires_at: '2098-01-01T00:00:00Z' },
      })
      const remove = () => server().call('DELETE', `/workspaces/${workspace.slug}`)
      const rejected = await remove()
      expect(rejected.status).toBe(400)
      expect(rejected.body.error.message).toContain('active keys (3)')
      await server().call('PATCH', `/keys/${disabled.data.hash}`, { body: { disabled: true } })
      await server().call('DELETE', `/keys/${deleted.data.hash}`)
      expect((await remove()).status).toBe(400)
      server().clock.freeze('2098-01-01T00:00:01.000Z')
      const response = await remove()
      server().clock.release()
      expect(response.status).toBe(200)
      const key = await server().call('GET', `/keys/${disabled.data.hash}`)
      expect(key.body.data.workspace_id).toBe(workspace.id)
    })

    test('the default workspace must be confirmed, and then disables its inference keys', async () => {
      const own = await tenant()
      const key = own.managementKey
      for (const query of ['', '?confirm_default_workspace_deletion=false']) {
        const rejected = await server().call('DELETE', `/workspaces/default${query}`, { key })
        expect(rejected.status).toBe(400)
        expect(rejected.body.error.message).toStartWith('confirm_default_workspace_deletion')
      }
      expect((await server().call('GET', '/key', { key: own.inferenceKey })).status).toBe(200)
      const path = '/workspaces/default?confirm_default_workspace_deletion=true'
      expect((await server().call('DELETE', path, { key })).status).toBe(200)
      const rejected = await server().call('GET', '/key', { key: own.inferenceKey })
      expect(rejected.body.error.metadata.reason).toBe('key_disabled')
      expect((await server().call('GET', '/key', { key })).status).toBe(200)
      expect((await server().call('POST', '/keys', { key, body: { name: 'x' } })).status).toBe(400)
      const member = { email: 'late@example.com' }
      expect((await server().call('POST', '/organization/members', { key, body: member })).status).toBe(201)
    })

    test('the next workspace that is made becomes the default one, with every member in it', async () => {
      const own = await tenant()
      const key = own.managementKey
      await server().call('POST', '/organization/members', { key, body: { email: 'second@example.com' } })
      await server().call('DELETE', '/workspaces/default?confirm_default_workspace_deletion=true', { key })
      await server().call('POST', '/workspaces', { key, body: { name: 'Home', slug: 'home' } })
      const members = await server().call('GET', '/workspaces/home/members', { key })
      expect(members.body.total_count).toBe(2)
      expect((await server().call('POST', '/keys', { key, body: { name: 'x' } })).status).toBe(201)
      const later = await server().call('POST', '/workspaces', {
        key,
        body: { name: 'Later', slug: 'later' },
      })
      const { body } = await server().call('GET', `/workspaces/${later.body.data.id}/members`, { key })
      expect(body.total_count).toBe(0)
    })

    test('its files go with it, from the list and, with the next sweep, from the disk', async () => {
      const workspace = await create()
      const file = new FormData()
      file.set('file', new File(['bytes'], 'a.txt'))
      const path = `/files?workspace_id=${workspace.id}`
      const { id } = (await server().call('POST', path, { body: file })).body
      await server().call('DELETE', `/workspaces/${workspace.id}`)
      const rows = await server().gateway.db.selectFrom('files').select('id').where('id', '=', id).execute()
      expect(rows).toEqual([])
    })

    test('400 for a confirmation that is neither true nor false', async () => {
      const response = await server().call(
        'DELETE',
        '/workspaces/default?confirm_default_workspace_deletion=1',
      )
      expect(response.status).toBe(400)
    })

    test('R22 of 20 that delete it at the same moment, one does', async () => {
      const { id } = await create()
      const responses = await Promise.all(
        Array.from({ length: 20 }, () => server().call('DELETE', `/workspaces/${id}`)),
      )
      expect(responses.map((response) => response.status).sort()).toEqual([200, ...Array(19).fill(404)])
    })

    test('R22 keys created during its deletion either prevent the deletion or are rejected', async () => {
      for (let round = 0; round < 10; round++) {
        const workspace = await create()
        const body = { name: 'race', workspace_id: workspace.id }
        const calls = Array.from({ length: 8 }, () => server().call('POST', '/keys', { body }))
        calls.splice(round % 8, 0, server().call('DELETE', `/workspaces/${workspace.id}`))
        const responses = await Promise.all(calls)
        const active = await server()
          .gateway.db.selectFrom('api_keys')
          .select('id')
          .where('workspace_id', '=', workspace.id)
          .where('disabled', '=', 0)
          .execute()
        const deletion = responses.splice(round % 8, 1)[0]
        if (deletion?.status === 200) expect(active).toBeEmpty()
        else expect(deletion?.status).toBe(400)
        for (const response of responses) expect([201, 403, 409]).toContain(response.status)
      }
    })
  })
})
