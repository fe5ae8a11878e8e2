import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { operations } from '../../src/areas/all.ts'
import type { Operation } from '../../src/http/operation.ts'
import { isoNow } from '../../src/lib/clock.ts'
import { newUuid } from '../../src/lib/ids.ts'
import { infoOf, type Permission } from '../../src/permissions/permissions.ts'
import { additionalRoles, organizationRoles, type Role, workspaceRoles } from '../../src/permissions/roles.ts'
import { bwrapPath, formatContainerSettings } from '../support/containers.ts'
import {
  type CallOptions,
  createSessionCaller,
  type SessionOptions,
  startTestServer,
  type TestResponse,
  type TestServer,
} from '../support/harness.ts'
import { makeSample, type Sample } from '../support/samples.ts'

/** Those on containers need a machine that can have some. */
const callable = operations.filter(
  ({ tag, permission }) => permission !== 'public' && (bwrapPath !== null || tag !== 'Containers'),
)

const controller = { permissions: ['credits:read', 'members:read', 'budgets:write'] as Permission[] }
const keyLimit: Permission[] = ['keys:read', 'workspaces:read', 'models:read']

type GrantedRole = Pick<Role, 'permissions' | 'ownPermissions'>

/** A caller, and the roles that its expectation is derived from. */
interface Profile {
  name: string
  everywhere: GrantedRole[]
  /** In every workspace. */
  inWorkspaces?: GrantedRole
  session?: SessionOptions
  key?: { permissions: Permission[] }
}

const member = organizationRoles['org:member']

const profiles: Profile[] = [
  { name: 'an admin', everywhere: [organizationRoles['org:admin']], session: { role: 'org:admin' } },
  { name: 'a member without a workspace', everywhere: [member], session: { workspaces: {} } },
  { name: 'a workspace admin', everywhere: [member], inWorkspaces: workspaceRoles.admin, session: {} },
  { name: 'a workspace member', everywhere: [member], inWorkspaces: workspaceRoles.member, session: {} },
  ...additionalRoles.map((role) => ({
    name: `a member with the role ${role.id}`,
    everywhere: [member, role],
    session: { workspaces: {}, roles: [{ roleId: role.id }] },
  })),
  {
    name: 'a member with a custom role',
    everywhere: [member, { ...controller, ownPermissions: [] }],
    session: { workspaces: {} },
  },
  {
    name: 'a limited management key',
    everywhere: [{ permissions: keyLimit, ownPermissions: [] }],
    key: { permissions: keyLimit },
  },
]

type Expectation = 'allowed' | 'denied' | 'own'

/** Of the roles alone, without the code that combines and enforces them. */
function expectationOf({ everywhere, inWorkspaces }: Profile, { permission, scope }: Operation): Expectation {
  if (permission === 'public') return 'allowed'
  const required = scope ?? infoOf(permission).scope
  if (everywhere.some(({ permissions }) => permissions.includes(permission))) return 'allowed'
  if (!inWorkspaces || required === 'organization') return 'denied'
  if (inWorkspaces.permissions.includes(permission)) return 'allowed'
  return required === 'own' && inWorkspaces.ownPermissions.includes(permission) ? 'own' : 'denied'
}

/** The samples of these belong to other members: with permissions for own records they are refused. */
const createdByOthers = new Set(['getKey', 'updateKey', 'deleteKey'])

/** Their samples belong to one member, or to the whole organization: another caller may be refused. */
const boundToOwner = new Set([
  'deleteSession',
  'listAllowedPhrases',
  'createAllowedPhrase',
  'deleteAllowedPhrase',
  'createNotificationRule',
  'getNotificationRule',
  'updateNotificationRule',
  'deleteNotificationRule',
  'testNotificationRule',
  'updateNotification',
])

/** Longer than the window in which requests to free models are counted: some samples make them. */
const freeWindowMs = 61_000

describe('S2 every operation, called by every role', () => {
  let server: TestServer
  const callers = new Map<
    string,
    (method: string, path: string, options: CallOptions) => Promise<TestResponse>
  >()
  const users = new Map<string, string>()
  beforeAll(async () => {
    const settings = `egress: { allow_private: ["127.0.0.1:9"] }\n${formatContainerSettings()}`
    server = await startTestServer('sqlite', { settings })
    await server.call('POST', '/credits/grants', { body: { amount: 100, kind: 'purchase' } })
    const body = { name: 'Controller', ...controller }
    const custom = (await server.call('POST', '/roles', { body })).body.data.id
    for (const { name, session, key, everywhere } of profiles) {
      if (key) {
        const created = await server.call('POST', '/management-keys', { body: { name: 'limited', ...key } })
        callers.set(name, (method, path, options) =>
          server.call(method, path, { ...options, key: created.body.key }),
        )
        continue
      }
      const isCustom = everywhere.some(({ permissions }) => permissions === controller.permissions)
      const roles = isCustom ? [{ roleId: custom }] : (session?.roles ?? [])
      const caller = await createSessionCaller(server, { ...session, roles })
      callers.set(name, caller.call)
      users.set(name, caller.member.id)
    }
  })
  afterAll(() => server.stop())

  /** In the workspaces that samples created since. */
  async function joinWorkspaces({ name, inWorkspaces }: Profile): Promise<void> {
    const user_id = users.get(name)
    if (!inWorkspaces || !user_id) return
    const { db, clock } = server.gateway
    const role = inWorkspaces === workspaceRoles.admin ? ('admin' as const) : ('member' as const)
    const ids = await db
      .selectFrom('workspaces')
      .select('id')
      .where('organization_id', '=', server.own.organization.id)
      .where('deleted_at', 'is', null)
      .execute()
    const created_at = isoNow(clock)
    await db.deleteFrom('workspace_members').where('user_id', '=', user_id).execute()
    for (const { id } of ids) {
      const row = { id: newUuid(), workspace_id: id, user_id, role, is_manual: 1 as const, created_at }
      await db.insertInto('workspace_members').values(row).execute()
    }
  }

  const send = async (profile: Profile, operation: Operation, { path, body }: Sample) => {
    const call = callers.get(profile.name)
    if (!call) throw new Error(`${profile.name} is missing`)
    return call(operation.method, path, { body })
  }

  for (const operation of callable) {
    test(`${operation.method} ${operation.path}`, async () => {
      server.clock.advance(freeWindowMs)
      const refusedSample = await makeSample(server, operation.id, server.own)
      for (const profile of profiles) {
        const expected = expectationOf(profile, operation)
        const sample =
          expected === 'denied' ? refusedSample : await makeSample(server, operation.id, server.own)
        await joinWorkspaces(profile)
        const response = await send(profile, operation, sample)
        const outcome = `${profile.name}: ${response.status}`
        // The samples have the password, codes and passkeys of another member, who signed in a moment ago.
        if (operation.permission === 'account:write' && expected === 'allowed')
          expect(response.body?.error?.metadata.reason).not.toBe('permission_missing')
        else if (expected === 'allowed' && !boundToOwner.has(operation.id))
          expect(outcome).toBe(`${profile.name}: ${operation.status}`)
        else if (expected === 'denied' || createdByOthers.has(operation.id)) {
          expect(outcome).toBe(`${profile.name}: 403`)
          expectNamed(response, operation)
        } else expect([operation.status, 403, 404]).toContain(response.status)
      }
    }, 60_000)
  }

  const outside = callable.filter(({ permission, scope }) => {
    if (permission === 'public' || scope === 'organization') return false
    return /^(workspaces|budgets|members|keys):/.test(permission)
  })
  test.each(outside)('$method $path outside of the workspaces of an admin', async (operation) => {
    const sample = await makeSample(server, operation.id, server.own)
    if (!sample.owned) return
    const slug = `outside-${operation.id.toLowerCase()}`
    const { id } = (await server.call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
    const caller = await createSessionCaller(server, { workspaces: { [id]: 'admin' } })
    const response = await caller.call(operation.method, sample.path, { body: sample.body })
    expect(response.status).toBe(403)
    expectNamed(response, operation)
    const stranger = await createSessionCaller(server, { tenant: server.foreign, role: 'org:admin' })
    expect((await stranger.call(operation.method, sample.path, { body: sample.body })).status).toBe(404)
  })
})

/** One format has the message instead of the object, and the other fields next to it. */
function expectNamed({ body }: TestResponse, { permission }: Operation): void {
  const { message, metadata } =
    typeof body.error === 'string' ? { message: body.error, metadata: body.metadata } : body.error
  expect(message).toContain(permission)
  expect(metadata.permission).toBe(permission)
}
