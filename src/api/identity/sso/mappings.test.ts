import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { startOidcProvider, type TestProvider } from '../../../../test/support/oidc-provider.ts'
import { connectIdentityProvider, type IdentityProvider } from '../../../../test/support/scim.ts'
import { connectProvider, resetSso, type SsoSetup, signIn } from '../../../../test/support/sso.ts'

describeOnEachDatabase('Roles and workspaces from claims', (server) => {
  let provider: TestProvider
  let scim: IdentityProvider
  let setup: SsoSetup
  let counter = 0
  beforeAll(async () => {
    provider = await startOidcProvider(server().url)
    scim = await connectIdentityProvider(server())
  })
  afterAll(() => provider.stop())
  beforeEach(async () => {
    setup = await connectProvider(server(), provider, { connection: { jit: true } })
  })
  afterEach(() => resetSso(server()))

  const createWorkspace = async (): Promise<string> => {
    const slug = `sso-${++counter}`
    return (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id
  }
  const setConnection = async (body: Record<string, unknown>) => {
    const response = await server().call('PATCH', `/organization/sso/connections/${setup.connectionId}`, {
      body,
    })
    expect(response.status).toBe(200)
  }
  const setMappings = (mappings: object[]) => setConnection({ mappings })
  const toWorkspace = (value: string, workspace_id: string, role = 'member') => ({
    claim: 'groups',
    value,
    workspace_id,
    role,
  })
  /** Signs in with these groups; returns the id of the member. */
  const signInWith = async (email: string, groups: unknown, extra: Record<string, unknown> = {}) => {
    provider.accounts.set(email, { email, email_verified: true, groups, ...extra })
    expect((await signIn(setup, email)).status).toBe(303)
    const { db } = server().gateway
    const row = await db
      .selectFrom('members')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow()
    return row.id
  }
  const newEmail = () => `claims-${++counter}@example.com`
  const roleIn = async (workspaceId: string, userId: string) => {
    const { db } = server().gateway
    const row = await db
      .selectFrom('workspace_members')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    return row?.role ?? null
  }
  const assignments = async (userId: string) => {
    const { db } = server().gateway
    const rows = await db.selectFrom('role_assignments').selectAll().where('user_id', '=', userId).execute()
    return rows.map((row) => `${row.source} ${row.role_id} ${row.workspace_id ?? 'everywhere'}`).sort()
  }

  test('groups decide workspaces and roles at each sign-in', async () => {
    const [first, second] = [await createWorkspace(), await createWorkspace()]
    await setMappings([
      toWorkspace('engineers', first),
      toWorkspace('leads', first, 'admin'),
      toWorkspace('engineers', second, 'viewer'),
      { claim: 'groups', value: 'finance', workspace_id: null, role: 'billing' },
    ])
    const email = newEmail()
    const id = await signInWith(email, ['engineers', 'finance'])
    expect(await roleIn(first, id)).toBe('member')
    expect(await assignments(id)).toEqual([`oidc billing everywhere`, `oidc viewer ${second}`])
    await signInWith(email, ['leads'])
    expect(await roleIn(first, id)).toBe('admin')
    expect(await assignments(id)).toEqual([])
    await signInWith(email, undefined)
    expect(await roleIn(first, id)).toBeNull()
  })

  test('claims may be nested, single values, or named with dots', async () => {
    const workspaces = [await createWorkspace(), await createWorkspace()] as const
    await setMappings([
      { claim: 'realm_access.roles', value: 'dev', workspace_id: workspaces[0], role: 'member' },
      { claim: 'groups', value: 'solo', workspace_id: workspaces[1], role: 'member' },
    ])
    const id = await signInWith(newEmail(), 'solo', { realm_access: { roles: ['dev'] } })
    for (const workspace of workspaces) expect(await roleIn(workspace, id)).toBe('member')
  })

  test('the default role is assigned in addition, and ends with the connection', async () => {
    await setConnection({ default_role: 'viewer' })
    const id = await signInWith(newEmail(), [])
    expect(await assignments(id)).toEqual(['oidc viewer everywhere'])
    await server().call('DELETE', `/organization/sso/connections/${setup.connectionId}`)
    expect(await assignments(id)).toEqual([])
  })

  test('a custom role is assigned as long as it exists', async () => {
    const created = await server().call('POST', '/roles', {
      body: { name: `Readers ${++counter}`, permissions: ['keys:read'] },
    })
    const role = created.body.data.id
    await setMappings([{ claim: 'groups', value: 'readers', workspace_id: null, role }])
    const email = newEmail()
    const id = await signInWith(email, ['readers'])
    expect(await assignments(id)).toEqual([`oidc ${role} everywhere`])
    await server().gateway.db.deleteFrom('roles').where('id', '=', role).execute()
    await signInWith(email, ['readers'])
    expect(await assignments(id)).toEqual([])
  })

  test('what an admin assigned stays', async () => {
    const [granted, manual] = [await createWorkspace(), await createWorkspace()]
    await setMappings([toWorkspace('engineers', granted)])
    const email = newEmail()
    const id = await signInWith(email, ['engineers'])
    await server().call('POST', `/workspaces/${manual}/members/add`, { body: { user_ids: [id] } })
    await server()
      .gateway.db.insertInto('role_assignments')
      .values({
        id: `manual-${id}`,
        organization_id: server().own.organization.id,
        user_id: id,
        role_id: 'auditor',
        workspace_id: null,
        source: 'manual',
        created_at: 'now',
      })
      .execute()
    await signInWith(email, [])
    expect([await roleIn(granted, id), await roleIn(manual, id)]).toEqual([null, 'member'])
    expect(await assignments(id)).toEqual(['manual auditor everywhere'])
  })

  test('a removed mapping takes away at once what it gave', async () => {
    const workspace = await createWorkspace()
    await setMappings([toWorkspace('engineers', workspace)])
    const id = await signInWith(newEmail(), ['engineers'])
    await setMappings([toWorkspace('engineers', workspace), toWorkspace('others', workspace)])
    expect(await roleIn(workspace, id)).toBe('member')
    await setMappings([])
    expect(await roleIn(workspace, id)).toBeNull()
  })

  test('a member whom a mapping placed cannot be removed by hand', async () => {
    const workspace = await createWorkspace()
    await setMappings([toWorkspace('engineers', workspace)])
    const id = await signInWith(newEmail(), ['engineers'])
    const body = { user_ids: [id] }
    expect((await server().call('POST', `/workspaces/${workspace}/members/remove`, { body })).status).toBe(
      400,
    )
  })

  const mapGroup = async (groupId: string, workspace_id: string, role = 'member') => {
    const body = { scim_group_id: groupId, workspace_id, role }
    return (await server().call('POST', '/scim/group-mappings', { body })).body.data.id as string
  }

  test('SCIM first: it decides about its members in its workspaces, sign-in about the others', async () => {
    const [scimSpace, oidcSpace] = [await createWorkspace(), await createWorkspace()]
    const user = await scim.createUser(`scim-${++counter}`)
    const group = await scim.createGroup(`group-${counter}`, [user.id])
    await mapGroup(group, scimSpace)
    await setMappings([toWorkspace('leads', scimSpace, 'admin'), toWorkspace('leads', oidcSpace)])
    // Claims add nothing to the workspace of SCIM, and their absence removes nothing from it.
    expect(await signInWith(user.email, ['leads'])).toBe(user.member)
    expect([await roleIn(scimSpace, user.member), await roleIn(oidcSpace, user.member)]).toEqual([
      'member',
      'member',
    ])
    await signInWith(user.email, [])
    expect([await roleIn(scimSpace, user.member), await roleIn(oidcSpace, user.member)]).toEqual([
      'member',
      null,
    ])
    // A member whom SCIM does not know.
    const id = await signInWith(newEmail(), ['leads'])
    expect(await roleIn(scimSpace, id)).toBe('admin')
  })

  test('single sign-on first: SCIM takes a workspace over when it maps it', async () => {
    const workspace = await createWorkspace()
    await setMappings([toWorkspace('leads', workspace, 'admin')])
    const user = await scim.createUser(`scim-${++counter}`)
    await signInWith(user.email, ['leads'])
    expect(await roleIn(workspace, user.member)).toBe('admin')
    const group = await scim.createGroup(`group-${counter}`, [])
    const mapping = await mapGroup(group, workspace)
    expect(await roleIn(workspace, user.member)).toBeNull()
    const add = [{ op: 'add', path: 'members', value: [{ value: user.id }] }]
    await scim.send('PATCH', `/Groups/${group}`, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: add,
    })
    expect(await roleIn(workspace, user.member)).toBe('member')
    await server().call('DELETE', `/scim/group-mappings/${mapping}?keep_members=false`)
    expect(await roleIn(workspace, user.member)).toBe('admin')
  })

  test('a member whom SCIM deactivates is refused', async () => {
    const user = await scim.createUser(`scim-${++counter}`)
    await signInWith(user.email, [])
    await scim.send('PATCH', `/Users/${user.id}`, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'replace', path: 'active', value: false }],
    })
    expect((await signIn(setup, user.email)).status).toBe(403)
  })
})
