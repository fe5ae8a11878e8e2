import { expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../../test/support/harness.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { deriveUuid } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('GET /keys/{hash}/policy', (server) => {
  const ids = (tenant: Tenant) => ({
    organization: deriveUuid('account-guardrail', tenant.organization.id),
    workspace: deriveUuid('default-guardrail', tenant.workspace.id),
  })

  test('without guardrails it restricts nothing, and shows the id of each layer', async () => {
    const tenant = await createTenant(server().gateway, 'Free')
    const hash = sha256(tenant.inferenceKey)
    const { body } = await server().call('GET', `/keys/${hash}/policy`, { key: tenant.managementKey })
    expect(body.data).toMatchObject({
      key_hash: hash,
      allowed_data_regions: { values: null, layers: [] },
      allowed_models: { values: null, layers: [] },
      ignored_models: [],
      content_filters: [],
      budgets: [],
      enforce_zdr: { vendor_a: { value: false, layers: [] } },
      layers: [
        {
          layer: 'organization',
          guardrail_id: ids(tenant).organization,
          configured: false,
          name: `Organization ${tenant.organization.id}`,
          dry_run: false,
        },
        {
          layer: 'workspace',
          guardrail_id: ids(tenant).workspace,
          configured: false,
          name: `Workspace ${tenant.workspace.id} Default`,
          dry_run: false,
        },
        { layer: 'member', guardrail_id: null, configured: false, name: null, dry_run: false },
        { layer: 'key', guardrail_id: null, configured: false, name: null, dry_run: false },
      ],
    })
  })

  test('all four layers apply at once, and each item names where it comes from', async () => {
    const tenant = await createTenant(server().gateway, 'Four layers')
    const call = (method: string, path: string, body?: unknown) =>
      server().call(method, path, { key: tenant.managementKey, body })
    const hash = sha256(tenant.inferenceKey)
    const create = async (body: object): Promise<string> =>
      (await call('POST', '/guardrails', body)).body.data.id

    await call('PATCH', `/guardrails/${ids(tenant).organization}`, {
      allowed_data_regions: ['europe', 'us'],
      ignored_models: ['sandbox/painter'],
      enforce_zdr: true,
    })
    await call('PATCH', `/guardrails/${ids(tenant).workspace}`, {
      allowed_models: ['sandbox/echo', 'sandbox/reasoner'],
      content_filter_builtins: [{ slug: 'email', action: 'flag' }],
      limit_usd: 10,
      reset_interval: 'monthly',
    })
    const member = await create({
      name: 'Interns',
      allowed_models: ['sandbox/reasoner', 'sandbox/speaker'],
      enable_paid_model_training: false,
      limit_usd: 2.5,
      reset_interval: 'daily',
      include_byok_in_budgets: true,
    })
    const own = await create({
      name: 'Robot',
      allowed_data_regions: ['us', 'global'],
      content_filter_builtins: [{ slug: 'email', action: 'redact' }],
      content_filters: [{ pattern: 'x', action: 'block', label: '[X]' }],
      ignored_models: ['sandbox/painter', 'sandbox/filmmaker'],
    })
    await call('POST', `/guardrails/${member}/assignments/members`, { member_user_ids: [tenant.owner.id] })
    await call('POST', `/guardrails/${own}/assignments/keys`, { key_hashes: [hash] })

    const { body } = await call('GET', `/keys/${hash}/policy`)
    expect(body.data).toMatchObject({
      allowed_data_regions: { values: ['us'], layers: ['organization', 'key'] },
      allowed_models: { values: ['sandbox/reasoner'], layers: ['workspace', 'member'] },
      ignored_models: [
        { value: 'sandbox/filmmaker', layers: ['key'] },
        { value: 'sandbox/painter', layers: ['organization', 'key'] },
      ],
      content_filter_builtins: [
        {
          slug: 'email',
          action: 'redact',
          scope: 'input',
          label: '[EMAIL]',
          sources: [
            { layer: 'workspace', action: 'flag' },
            { layer: 'key', action: 'redact' },
          ],
        },
      ],
      content_filters: [
        {
          pattern: 'x',
          action: 'block',
          scope: 'input',
          label: '[X]',
          sources: [{ layer: 'key', action: 'block' }],
        },
      ],
      enable_paid_model_training: { value: false, layers: ['member'] },
      enable_free_model_training: { value: null, layers: [] },
      enforce_zdr: { other: { value: true, layers: ['organization'] } },
      budgets: [
        {
          layer: 'workspace',
          guardrail_id: ids(tenant).workspace,
          limit_usd: 10,
          reset_interval: 'monthly',
          include_byok_in_budgets: false,
          scope: 'key',
        },
        {
          layer: 'member',
          guardrail_id: member,
          limit_usd: 2.5,
          reset_interval: 'daily',
          include_byok_in_budgets: true,
          scope: 'member',
        },
      ],
    })
    expect(body.data.layers.map((layer: { name: string }) => layer.name).slice(2)).toEqual([
      'Interns',
      'Robot',
    ])
    expect(body.data.layers.every((layer: { configured: boolean }) => layer.configured)).toBe(true)

    const current = await server().call('GET', '/key', { key: tenant.inferenceKey })
    expect(current.body.data.allowed_data_regions).toEqual(['us'])
    await call('PATCH', `/guardrails/${own}`, { allowed_data_regions: ['global'] })
    const none = await server().call('GET', '/key', { key: tenant.inferenceKey })
    expect(none.body.data.allowed_data_regions).toEqual([])
    await call('DELETE', `/guardrails/${own}`)
    const wider = await server().call('GET', '/key', { key: tenant.inferenceKey })
    expect(wider.body.data.allowed_data_regions).toEqual(['europe', 'us'])
  })

  test('a guardrail of a member applies in its workspace only, and only to keys of that member', async () => {
    const tenant = await createTenant(server().gateway, 'Members')
    const call = (method: string, path: string, body?: unknown) =>
      server().call(method, path, { key: tenant.managementKey, body })
    const other = (await call('POST', '/organization/members', { email: `o-${tenant.owner.id}@example.com` }))
      .body.data.id
    const workspace_id = (await call('POST', '/workspaces', { name: 'Second', slug: 'second' })).body.data.id
    const { id } = (await call('POST', '/guardrails', { name: 'g', allowed_data_regions: ['us'] })).body.data
    await call('POST', `/guardrails/${id}/assignments/members`, { member_user_ids: [tenant.owner.id] })
    const regions = async (body: object) => {
      const { hash } = (await call('POST', '/keys', { name: 'k', ...body })).body.data
      return (await call('GET', `/keys/${hash}/policy`)).body.data.allowed_data_regions.values
    }
    expect(await regions({})).toEqual(['us'])
    expect(await regions({ workspace_id })).toBeNull()
    expect(await regions({ creator_user_id: other })).toBeNull()
  })

  test('rules of a dry run are listed apart, and each layer says whether it is one', async () => {
    const tenant = await createTenant(server().gateway, 'Trial')
    const call = (method: string, path: string, body?: unknown) =>
      server().call(method, path, { key: tenant.managementKey, body })
    await call('PATCH', `/guardrails/${ids(tenant).organization}`, {
      unscannable_content: 'allow',
      content_filter_builtins: [{ slug: 'email', action: 'redact', scope: 'both' }],
    })
    await call('PATCH', `/guardrails/${ids(tenant).workspace}`, {
      dry_run: true,
      unscannable_content: 'block',
      allowed_models: ['sandbox/echo'],
    })
    const { data } = (await call('GET', `/keys/${sha256(tenant.inferenceKey)}/policy`)).body
    expect(data.unscannable_content).toEqual({ value: 'allow', layers: ['organization'] })
    expect(data.allowed_models).toEqual({ values: null, layers: [] })
    expect(data.content_filter_builtins.map(({ scope }: { scope: string }) => scope)).toEqual([
      'input',
      'output',
    ])
    expect(data.dry_run).toMatchObject({
      unscannable_content: { value: 'block', layers: ['workspace'] },
      allowed_models: { values: ['sandbox/echo'], layers: ['workspace'] },
      content_filter_builtins: [],
    })
    expect(data.layers.map(({ dry_run }: { dry_run: boolean }) => dry_run)).toEqual([
      false,
      true,
      false,
      false,
    ])
    await call('PATCH', `/guardrails/${ids(tenant).workspace}`, { dry_run: false })
    const enforced = (await call('GET', `/keys/${sha256(tenant.inferenceKey)}/policy`)).body.data
    expect(enforced).toMatchObject({ dry_run: null, unscannable_content: { value: 'block' } })
  })

  test('for a management key, only the guardrail of the organization applies', async () => {
    const tenant = await createTenant(server().gateway, 'Managed')
    const key = tenant.managementKey
    const regions = async () => (await server().call('GET', '/key', { key })).body.data.allowed_data_regions
    const change = (id: string, allowed_data_regions: string[]) =>
      server().call('PATCH', `/guardrails/${id}`, { key, body: { allowed_data_regions } })
    await change(ids(tenant).workspace, ['us'])
    expect(await regions()).toEqual(['global', 'europe', 'us'])
    await change(ids(tenant).organization, ['us', 'europe'])
    expect(await regions()).toEqual(['europe', 'us'])
  })
})
