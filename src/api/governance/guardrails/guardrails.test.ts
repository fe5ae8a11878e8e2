import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { toModelRule } from '../../../catalog/model-rule.ts'
import { newUuid, uuidPattern } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('Guardrails', (server) => {
  let made = 0
  const nextName = () => `guardrail ${++made}`

  const create = async (body: Record<string, unknown> = {}) => {
    const response = await server().call('POST', '/guardrails', { body: { name: nextName(), ...body } })
    expect(response.body.error?.message).toBeUndefined()
    return response.body.data as Record<string, unknown> & { id: string; name: string }
  }
  const patch = (id: string, body: unknown) => server().call('PATCH', `/guardrails/${id}`, { body })
  const newWorkspace = async () => {
    const slug = `guarded-${++made}`
    return (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
  }

  const everything = {
    description: 'd'.repeat(1000),
    limit_usd: 12.5,
    reset_interval: 'weekly',
    include_byok_in_budgets: true,
    allowed_data_regions: ['europe', 'us'],
    allowed_models: ['sandbox/echo', 'sandbox/reasoner'],
    ignored_models: ['sandbox/painter'],
    allowed_providers: ['sandbox'],
    ignored_providers: ['groq'],
    content_filter_builtins: [
      { slug: 'email', action: 'redact', label: '[EMAIL]' },
      {
        slug: 'regex-prompt-injection',
        action: 'block',
        scan_scope: 'user_only',
        label: '[PROMPT_INJECTION]',
      },
    ],
    content_filters: [
      { pattern: 'project-[0-9]+', action: 'redact', label: '[PROJECT]' },
      { pattern: '(?i)classified', action: 'block', label: null },
    ],
    moderation: { action: 'block', model: 'sandbox/moderator', categories: ['violence'] },
    enable_free_model_publication: false,
    enable_free_model_training: true,
    enable_paid_model_training: false,
    enforce_zdr: null,
    enforce_zdr_vendor_a: true,
    enforce_zdr_vendor_b: false,
    enforce_zdr_vendor_c: true,
    enforce_zdr_vendor_d: null,
    enforce_zdr_other: false,
  }

  const nothing = {
    description: null,
    limit_usd: null,
    reset_interval: null,
    include_byok_in_budgets: false,
    external_checks: null,
    dry_run: false,
    unscannable_content: null,
    ...Object.fromEntries(
      Object.keys(everything)
        .slice(4)
        .map((field) => [field, null]),
    ),
  }

  describe('POST /guardrails', () => {
    test('only a name is needed; everything else is unset, in the default workspace', async () => {
      const { id, created_at, updated_at, ...rest } = await create({ name: '  Only a name ' })
      expect(id).toMatch(uuidPattern)
      expect(updated_at).toBe(created_at)
      expect(rest).toEqual({
        name: 'Only a name',
        scope: 'workspace',
        workspace_id: server().own.workspace.id,
        ...nothing,
      })
    })

    test('R12 every field that is sent is what a later GET returns', async () => {
      const extensions = { dry_run: true, unscannable_content: 'block' }
      const { id } = await create({ ...everything, ...extensions })
      const { body } = await server().call('GET', `/guardrails/${id.toUpperCase()}`)
      expect(body.data).toMatchObject({ ...everything, ...extensions })
    })

    test('403 for a workspace of another organization', async () => {
      const body = { name: 'x', workspace_id: server().foreign.workspace.id }
      expect((await server().call('POST', '/guardrails', { body })).status).toBe(403)
    })

    test('R12 an id cannot be chosen, and the name of a default guardrail is reserved', async () => {
      const chosen = await server().call('POST', '/guardrails', { body: { name: 'x', id: newUuid() } })
      expect(chosen.status).toBe(400)
      const name = `Workspace ${server().own.workspace.id} Default`
      expect((await server().call('POST', '/guardrails', { body: { name } })).status).toBe(409)
      const { id } = await create()
      expect((await patch(id, { name })).status).toBe(409)
    })

    test('409 for a name in use; another workspace may have it', async () => {
      const { name } = await create()
      const again = await server().call('POST', '/guardrails', { body: { name } })
      expect(again.status).toBe(409)
      expect(again.body.error.message).toStartWith('name')
      await create({ name, workspace_id: (await newWorkspace()).id })
    })

    test('R22 of 20 that want one name at the same moment, one gets it', async () => {
      const body = { name: nextName() }
      const responses = await Promise.all(
        Array.from({ length: 20 }, () => server().call('POST', '/guardrails', { body })),
      )
      const statuses = responses.map((response) => response.status).sort()
      expect(statuses).toEqual([201, ...Array(19).fill(409)])
    })
  })

  const tooMany = Array.from({ length: 1001 }, () => 'sandbox/echo')
  const wrong: [string, Record<string, unknown>, string][] = [
    ['name empty', { name: '' }, 'name'],
    ['name of spaces', { name: '  ' }, 'name'],
    ['name of 201', { name: 'n'.repeat(201) }, 'name'],
    ['name null', { name: null }, 'name'],
    ['description of 1001', { description: 'd'.repeat(1001) }, 'description'],
    ['limit zero', { limit_usd: 0, reset_interval: 'daily' }, 'limit_usd: must be more than 0'],
    ['limit negative', { limit_usd: -1, reset_interval: 'daily' }, 'limit_usd'],
    ['limit finer than a nano-dollar', { limit_usd: 1e-10, reset_interval: 'daily' }, 'limit_usd'],
    ['limit as text', { limit_usd: '5', reset_interval: 'daily' }, 'limit_usd'],
    ['interval unknown', { limit_usd: 5, reset_interval: 'yearly' }, 'reset_interval'],
    ['include_byok null', { include_byok_in_budgets: null }, 'include_byok_in_budgets'],
    ['regions empty', { allowed_data_regions: [] }, 'allowed_data_regions'],
    ['region unknown', { allowed_data_regions: ['us', 'eu'] }, 'allowed_data_regions.1'],
    ['models empty', { allowed_models: [] }, 'allowed_models'],
    ['a way of routing', { allowed_models: ['sandbox/echo:nitro'] }, 'allowed_models.0: ":nitro"'],
    ['model unknown', { allowed_models: ['sandbox/echo', 'no/model'] }, 'allowed_models.1: "no/model"'],
    ['model of a prototype', { ignored_models: ['constructor'] }, 'ignored_models.0: "constructor"'],
    ['too many models', { ignored_models: tooMany }, 'ignored_models'],
    ['ignored models empty', { ignored_models: [] }, 'ignored_models'],
    ['providers empty', { allowed_providers: [] }, 'allowed_providers'],
    ['provider unknown', { allowed_providers: ['nobody'] }, 'allowed_providers.0: "nobody"'],
    ['ignored providers empty', { ignored_providers: [] }, 'ignored_providers'],
    ['ignored provider unknown', { ignored_providers: ['nobody'] }, 'ignored_providers.0: "nobody"'],
    ['switch not a boolean', { enable_free_model_training: 1 }, 'enable_free_model_training'],
    ['zdr not a boolean', { enforce_zdr_other: 'yes' }, 'enforce_zdr_other'],
    ['R12 unknown vendor', { enforce_zdr_vendor_e: true }, 'enforce_zdr_vendor_e'],
    ['R12 unknown field', { color: 'red' }, 'color'],
    ['R12 field of the answer only', { created_at: '2028-01-01T00:00:00Z' }, 'created_at'],
  ]

  test.each(wrong)('E15 400 naming the field, on create and on change: %s', async (_, change, message) => {
    const created = await server().call('POST', '/guardrails', { body: { name: nextName(), ...change } })
    expect(created.status).toBe(400)
    expect(created.body.error.message).toStartWith(message)
    const { id } = await create()
    const changed = await patch(id, change)
    expect(changed.status).toBe(400)
    expect(changed.body.error.message).toStartWith(message)
  })

  describe('E15 PATCH /guardrails/{id}', () => {
    test('E15 every field is optional, and what is not sent stays', async () => {
      const before = await create(everything)
      const { body } = await patch(before.id, {})
      expect(body.data).toEqual(before)
      const renamed = await patch(before.id, { name: 'n'.repeat(200) })
      const { name: _, updated_at: __, ...rest } = before
      expect(renamed.body.data).toMatchObject({ ...rest, name: 'n'.repeat(200) })
      await patch(before.id, { name: before.name })
    })

    test('E15 null clears every field that can be cleared', async () => {
      const { id } = await create(everything)
      const { include_byok_in_budgets: _, ...clearing } = nothing
      const { body } = await patch(id, clearing)
      expect(body.data).toMatchObject({ ...clearing, include_byok_in_budgets: true })
    })

    test('E15 include_byok_in_budgets omitted is unchanged', async () => {
      const { id } = await create({ include_byok_in_budgets: true })
      expect((await patch(id, { description: 'x' })).body.data.include_byok_in_budgets).toBe(true)
      const off = await patch(id, { include_byok_in_budgets: false })
      expect(off.body.data.include_byok_in_budgets).toBe(false)
    })

    test('E15 a list replaces the whole list', async () => {
      const { id } = await create(everything)
      const change = {
        allowed_models: ['sandbox/speaker'],
        allowed_data_regions: ['global'],
        content_filter_builtins: [],
        content_filters: [{ pattern: 'only', action: 'flag', label: null }],
      }
      expect((await patch(id, change)).body.data).toMatchObject(change)
    })

    test('E15 models go by slug, variant or alias and come back as canonical slugs, a variant with its suffix', async () => {
      const { catalog } = server().gateway
      const aliased = catalog.models.find((model) => model.aliases.length > 0)!
      const variant = catalog.models.find((model) => model.id.endsWith(':free'))!
      const [latest, newest] = [...catalog.latest][0]!
      const { id } = await create({
        allowed_models: [aliased.aliases[0], aliased.id, variant.id, aliased.canonical_slug, latest],
      })
      const { body } = await server().call('GET', `/guardrails/${id}`)
      expect(body.data.allowed_models).toEqual([
        ...new Set([aliased.canonical_slug, `${variant.canonical_slug}:free`, newest.canonical_slug]),
      ])
    })

    test('E15 R12 every list of models that was returned can be sent back', async () => {
      const { models } = server().gateway.catalog
      const all = models.map((model) => model.id)
      const { id, allowed_models } = await create({ allowed_models: all })
      expect(allowed_models).toEqual([...new Set(models.map(toModelRule))])
      expect((await patch(id, { allowed_models })).body.data.allowed_models).toEqual(allowed_models)
    })

    test('E15 providers go by slug, display name or vendor name and come back as slugs', async () => {
      const vendor = server().gateway.catalog.providers.find((provider) => provider.vendor)!
      const { ignored_providers } = await create({
        ignored_providers: [vendor.vendor, vendor.slug, vendor.name, vendor.name.toUpperCase(), 'sandbox'],
      })
      expect(ignored_providers).toEqual([vendor.slug, 'sandbox'])
    })

    test('a new guardrail has both a limit and an interval, or neither', async () => {
      for (const [half, missing] of [
        [{ limit_usd: 5 }, 'reset_interval'],
        [{ reset_interval: 'daily' }, 'limit_usd'],
      ] as const) {
        const response = await server().call('POST', '/guardrails', { body: { name: 'half', ...half } })
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(missing)
      }
    })

    test('E15 limit and interval are changed one by one; without an interval the limit never resets', async () => {
      const { id } = await create()
      expect((await patch(id, { limit_usd: 5 })).body.data).toMatchObject({
        limit_usd: 5,
        reset_interval: null,
      })
      expect((await patch(id, { reset_interval: 'daily' })).body.data.reset_interval).toBe('daily')
      expect((await patch(id, { limit_usd: 7.000000001 })).body.data).toMatchObject({
        limit_usd: 7.000000001,
        reset_interval: 'daily',
      })
      const cleared = await patch(id, { limit_usd: null, reset_interval: null })
      expect(cleared.body.data).toMatchObject({ limit_usd: null, reset_interval: null })
    })

    test('E15 409 for a name another guardrail of the workspace has; its own is accepted', async () => {
      const [first, second] = [await create(), await create()]
      expect((await patch(second.id, { name: first.name })).status).toBe(409)
      expect((await patch(second.id, { name: second.name })).status).toBe(200)
      expect((await server().call('GET', `/guardrails/${second.id}`)).body.data.name).toBe(second.name)
    })

    test('E15 of 20 that are renamed to one name at the same moment, one gets it', async () => {
      const all = await Promise.all(Array.from({ length: 20 }, () => create()))
      const name = nextName()
      const responses = await Promise.all(all.map(({ id }) => patch(id, { name })))
      expect(responses.map((response) => response.status).sort()).toEqual([200, ...Array(19).fill(409)])
    })

    test('E15 changes of different fields at the same moment are all there', async () => {
      const { id } = await create()
      const changes = [
        { description: 'both' },
        { allowed_providers: ['sandbox'] },
        { enforce_zdr_other: true },
        { limit_usd: 3, reset_interval: 'daily' },
      ]
      await Promise.all(changes.map((change) => patch(id, change)))
      const { body } = await server().call('GET', `/guardrails/${id}`)
      expect(body.data).toMatchObject(Object.assign({}, ...changes))
    })

    test('E15 404 for an unknown id, 400 for one that is not a UUID', async () => {
      expect((await patch(newUuid(), { description: 'x' })).status).toBe(404)
      expect((await patch('assignments', { description: 'x' })).status).toBe(400)
    })
  })

  describe('E15 the deprecated enforce_zdr', () => {
    const vendors = ['vendor_a', 'vendor_b', 'vendor_c', 'vendor_d', 'other'].map(
      (name) => `enforce_zdr_${name}`,
    )
    const all = (value: boolean | null) => Object.fromEntries(vendors.map((field) => [field, value]))

    test('E15 applies to each vendor that the request does not name', async () => {
      const { id, ...record } = await create({ enforce_zdr: true, enforce_zdr_vendor_b: false })
      expect(record).toMatchObject({ ...all(true), enforce_zdr: true, enforce_zdr_vendor_b: false })
      const off = await patch(id, { enforce_zdr: false, enforce_zdr_other: true })
      expect(off.body.data).toMatchObject({ ...all(false), enforce_zdr: false, enforce_zdr_other: true })
      expect((await patch(id, { enforce_zdr: null })).body.data).toMatchObject(all(null))
    })

    test('E15 a vendor that is set without it leaves the others unchanged', async () => {
      const { id } = await create({ enforce_zdr_vendor_a: true })
      const { body } = await patch(id, { enforce_zdr_vendor_c: false })
      expect(body.data).toMatchObject({
        ...all(null),
        enforce_zdr: null,
        enforce_zdr_vendor_a: true,
        enforce_zdr_vendor_c: false,
      })
    })

    test('E15 R12 a vendor that is unset falls back to it, and reads as what is enforced', async () => {
      const { id } = await create({ enforce_zdr: true })
      const { body } = await patch(id, { enforce_zdr_vendor_d: null })
      expect(body.data.enforce_zdr_vendor_d).toBe(true)
    })
  })

  describe('GET /guardrails', () => {
    test('oldest first, one workspace, in pages', async () => {
      const workspace_id = (await newWorkspace()).id
      const ids: string[] = []
      for (let i = 0; i < 3; i++) {
        ids.push((await create({ workspace_id })).id)
        server().clock.advance(1000)
      }
      const page = async (query: string) => {
        const { body } = await server().call('GET', `/guardrails?workspace_id=${workspace_id}${query}`)
        return [body.data.map((guardrail: { id: string }) => guardrail.id), body.total_count]
      }
      expect(await page('')).toEqual([ids, 3])
      expect(await page('&offset=1&limit=1')).toEqual([[ids[1]], 3])
      expect(await page('&offset=9')).toEqual([[], 3])
    })

    test.each(['offset=-1', 'limit=0', 'limit=101', 'workspace_id=default'])('400 for %s', async (query) => {
      expect((await server().call('GET', `/guardrails?${query}`)).status).toBe(400)
    })

    test('403 for a workspace of another organization', async () => {
      const query = `workspace_id=${server().foreign.workspace.id}`
      expect((await server().call('GET', `/guardrails?${query}`)).status).toBe(403)
    })
  })

  describe('DELETE', () => {
    test('a deleted guardrail is gone, and its name free', async () => {
      const { id, name } = await create()
      expect((await server().call('DELETE', `/guardrails/${id}`)).body).toEqual({ deleted: true })
      expect((await server().call('GET', `/guardrails/${id}`)).status).toBe(404)
      expect((await server().call('DELETE', `/guardrails/${id}`)).status).toBe(404)
      await create({ name })
    })

    test('deleting a workspace deletes its guardrails', async () => {
      const workspace = await newWorkspace()
      const { id } = await create({ workspace_id: workspace.id })
      await patch(workspace.default_guardrail_id, { description: 'stored' })
      await server().call('DELETE', `/workspaces/${workspace.id}`)
      expect((await server().call('GET', `/guardrails/${id}`)).status).toBe(404)
      expect((await patch(workspace.default_guardrail_id, { description: 'x' })).status).toBe(404)
    })
  })
})
