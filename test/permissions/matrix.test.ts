import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { loadOperations } from '../../src/api/all.ts'
import type { Operation } from '../../src/http/operation.ts'
import { infoOf, keyPermissions, type Permission } from '../../src/identity/permissions/permissions.ts'
import {
  additionalRoles,
  organizationRoles,
  type Role,
  workspaceRoles,
} from '../../src/identity/permissions/roles.ts'
import { newUuid } from '../../src/platform/crypto/ids.ts'
import type { WorkspaceRole } from '../../src/platform/db/schema.ts'
import { isoNow } from '../../src/platform/time/clock.ts'
import { bwrapPath, formatContainerSettings } from '../support/containers.ts'
import {
  createSessionCaller,
  type DatabaseKind,
  databaseKinds,
  type SessionOptions,
  startTestServer,
  type TestResponse,
  type TestServer,
} from '../support/harness.ts'
import { makeSample, type Sample } from '../support/samples.ts'

const operations = await loadOperations()

/** Operations without those on containers, unless this machine can run them. */
const callable = operations.filter(
  ({ tag, permission }) => permission !== 'public' && (bwrapPath !== null || tag !== 'Containers'),
)

const controller: GrantedRole = {
  permissions: ['credits:read', 'members:read', 'budgets:write'],
  ownPermissions: ['keys:read', 'activity:read', 'generations:read'],
}
const keyLimit: Permission[] = ['keys:read', 'workspaces:read', 'models:read']

type GrantedRole = Pick<Role, 'permissions' | 'ownPermissions'>

/** A caller, and the roles that its expectation is derived from. */
interface Profile {
  name: string
  everywhere: GrantedRole[]
  /** Role in every workspace. */
  inWorkspaces?: GrantedRole
  session?: SessionOptions
  key?: { permissions?: Permission[] }
}

const member = organizationRoles['org:member']
const limitTo = (permissions: Iterable<Permission>) => ({ permissions: [...permissions], ownPermissions: [] })

const profiles: Profile[] = [
  { name: 'an admin', everywhere: [organizationRoles['org:admin']], session: { role: 'org:admin' } },
  { name: 'a member without a workspace', everywhere: [member], session: { workspaces: {} } },
  {
    name: 'a workspace admin',
    everywhere: [member],
    inWorkspaces: workspaceRoles.admin,
    session: { workspaces: {} },
  },
  {
    name: 'a workspace member',
    everywhere: [member],
    inWorkspaces: workspaceRoles.member,
    session: { workspaces: {} },
  },
  ...additionalRoles.map((role) => ({
    name: `a member with the role ${role.id}`,
    everywhere: [member, role],
    session: { workspaces: {}, roles: [{ roleId: role.id }] },
  })),
  {
    name: 'a member with a custom role',
    everywhere: [member, controller],
    session: { workspaces: {} },
  },
  {
    name: 'a member with a custom role in workspaces',
    everywhere: [member],
    inWorkspaces: controller,
    session: { workspaces: {} },
  },
  {
    name: 'a management key with some permissions',
    everywhere: [limitTo(keyLimit)],
    key: { permissions: keyLimit },
  },
  {
    name: 'a management key of some workspaces',
    everywhere: [],
    inWorkspaces: limitTo(keyPermissions.management),
    key: {},
  },
  {
    name: 'a management key with some permissions in some workspaces',
    everywhere: [],
    inWorkspaces: limitTo(keyLimit),
    key: { permissions: keyLimit },
  },
]

type Expectation = 'allowed' | 'denied' | 'own'

/** Derives the expectation from the roles alone, without the code that combines and enforces them. */
function expectationOf({ everywhere, inWorkspaces }: Profile, { permission, scope }: Operation): Expectation {
  if (permission === 'public') return 'allowed'
  const required = scope ?? infoOf(permission).scope
  if (everywhere.some(({ permissions }) => permissions.includes(permission))) return 'allowed'
  if (!inWorkspaces || required === 'organization') return 'denied'
  if (inWorkspaces.permissions.includes(permission)) return 'allowed'
  return required === 'own' && inWorkspaces.ownPermissions.includes(permission) ? 'own' : 'denied'
}

/** The samples of these belong to other members: with permissions for own records they are refused. */
const createdByOthers = new Set([
  'getKey',
  'updateKey',
  'rotateKey',
  'deleteKey',
  'getGeneration',
  'explainGeneration',
  'getGenerationContent',
  'submitGenerationFeedback',
])

/** Operations whose samples belong to the whole organization: with permissions in workspaces they are rejected. */
const ofOrganization = new Set([
  'createNotificationRule',
  'getNotificationRule',
  'updateNotificationRule',
  'deleteNotificationRule',
  'testNotificationRule',
  'updateNotification',
])

/** Operations whose samples are shared with the organization: these need another permission there. */
const sharedSamples: Readonly<Record<string, string>> = {
  createComparison: 'shared_comparisons:write',
  updateComparison: 'shared_comparisons:write',
  deleteComparison: 'shared_comparisons:write',
  createSavedView: 'shared_views:write',
  updateSavedView: 'shared_views:write',
  deleteSavedView: 'shared_views:write',
}

/** Whether the caller may act on the sample, and not only on some records. */
function isRefused({ everywhere }: Profile, { id, permission }: Operation, expected: Expectation): boolean {
  if (expected === 'denied') return true
  if (expected === 'own') return createdByOthers.has(id)
  const required = sharedSamples[id] ?? (ofOrganization.has(id) ? permission : null)
  if (required === null) return false
  return !everywhere.some(({ permissions }) => permissions.some((name) => name === required))
}

/** An API key has no session. */
function statusOf({ key }: Profile, { id, status }: Operation): number {
  return key && id === 'getSession' ? 404 : status
}

/** Time longer than the window in which requests to free models are counted: some samples make them. */
const freeWindowMs = 61_000

const onePerPermission = callable.filter(
  ({ permission }, i) => callable.findIndex((other) => other.permission === permission) === i,
)

/**
 * Selections for each database: on PostgreSQL one operation of each permission, and callers whose permissions come from
 * each table.
 */
const selections: Record<DatabaseKind, { operations: Operation[]; profiles: Profile[] }> = {
  sqlite: { operations: callable, profiles },
  postgres: {
    operations: onePerPermission,
    profiles: profiles.filter(({ inWorkspaces }) => inWorkspaces),
  },
}

/**
 * Access is decided by permission and scope: the first operation with these is called by everyone, any other by one
 * caller of each outcome, session or key, and place of the roles, in turn.
 */
function selectCallers(profiles: Profile[], operation: Operation): Profile[] {
  const similar = callable.filter(
    ({ permission, scope }) => permission === operation.permission && scope === operation.scope,
  )
  const turn = similar.indexOf(operation)
  if (turn === 0) return profiles
  const kinds = Map.groupBy(profiles, (profile) => {
    const expected = expectationOf(profile, operation)
    const isKey = profile.key !== undefined
    return [
      expected,
      isRefused(profile, operation, expected),
      isKey,
      profile.inWorkspaces !== undefined,
    ].join()
  })
  return [...kinds.values()].flatMap((kind) => kind[turn % kind.length] ?? [])
}

describe.each(databaseKinds)('S2 every operation, called by every role (%s)', (kind) => {
  let server: TestServer
  let callers: Callers
  const selection = selections[kind]
  beforeAll(async () => {
    const settings = `egress: { allow_private: ["127.0.0.1:9"] }\n${formatContainerSettings()}`
    server = await startTestServer(kind, { settings })
    await server.call('POST', '/credits/grants', { body: { amount: 100, kind: 'purchase' } })
    callers = await Callers.create(server, selection.profiles)
  })
  afterAll(() => server.stop())

  for (const operation of selection.operations) {
    test(`${operation.method} ${operation.path}`, async () => {
      server.clock.advance(freeWindowMs)
      await callers.restoreRoles()
      const sharedSample = await makeSample(server, operation.id, server.own)
      for (const profile of selectCallers(selection.profiles, operation)) {
        const expected = expectationOf(profile, operation)
        const isUnchanged = operation.method === 'GET' || isRefused(profile, operation, expected)
        const sample = isUnchanged ? sharedSample : await makeSample(server, operation.id, server.own)
        await callers.joinWorkspaces()
        const response = await callers.send(profile, operation, sample)
        const outcome = `${profile.name}: ${response.status}`
        if (isRefused(profile, operation, expected)) {
          expect(outcome).toBe(`${profile.name}: 403`)
          const isDenied = expected === 'denied'
          expectNamed(response, (!isDenied && sharedSamples[operation.id]) || operation.permission)
        } else if (operation.permission === 'account:write')
          // The samples have the password, codes and passkeys of another member: see own-records.test.ts.
          expect(response.body?.error?.metadata?.permission).toBeUndefined()
        else expect(outcome).toBe(`${profile.name}: ${statusOf(profile, operation)}`)
      }
    }, 60_000)
  }

  const outside = selection.operations.filter(({ permission, scope }) => {
    if (permission === 'public' || scope === 'organization') return false
    return /^(workspaces|budgets|members|keys):/.test(permission)
  })
  test.each(outside)('$method $path outside of the workspaces of an admin', async (operation) => {
    const sample = await makeSample(server, operation.id, server.own)
    if (!sample.owned) return
    const slug = `outside-${operation.id.toLowerCase()}`
    const { id } = (await server.call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
    const caller = await createSessionCaller(server, { workspaces: { [id]: 'admin' } })
    const key = (await createManagementKey(server, { workspace_ids: [id] })).body.key
    for (const response of [
      await caller.call(operation.method, sample.path, { body: sample.body }),
      await server.call(operation.method, sample.path, { body: sample.body, key }),
    ]) {
      expect(response.status).toBe(403)
      expectNamed(response, operation.permission)
    }
    const stranger = await createSessionCaller(server, { tenant: server.foreign, role: 'org:admin' })
    expect((await stranger.call(operation.method, sample.path, { body: sample.body })).status).toBe(404)
  })

  test('S2 a management key that has expired or is disabled may do nothing', async () => {
    const expires_at = new Date(server.clock.now() + 60_000).toISOString()
    const expired = (await createManagementKey(server, { expires_at })).body.key
    const disabled = (await createManagementKey(server, {})).body
    await server.call('PATCH', `/management-keys/${disabled.data.hash}`, { body: { disabled: true } })
    for (const key of [expired, disabled.key])
      expect((await server.call('GET', '/keys', { key })).status).toBe(key === expired ? 200 : 401)
    server.clock.advance(60_001)
    // Keys of the other kind are in operations.test.ts, with every operation.
    for (const { method, path } of onePerPermission) {
      for (const key of [expired, disabled.key]) {
        const { status } = await server.call(method, path.replace(/\{\w+\}/g, 'x'), { key })
        expect(`${method} ${path}: ${status}`).toBe(`${method} ${path}: 401`)
      }
    }
  }, 60_000)
})

function createManagementKey(server: TestServer, body: object): Promise<TestResponse> {
  return server.call('POST', '/management-keys', { body: { name: 'limited', ...body } })
}

/** A caller of each profile. */
class Callers {
  readonly #server: TestServer
  readonly #calls = new Map<string, TestServer['call']>()
  readonly #members = new Map<string, string>()
  readonly #keys = new Map<string, string>()
  readonly #joined = new Set<string>()
  readonly #profiles: Profile[]
  #customRole = ''

  constructor(server: TestServer, profiles: Profile[]) {
    this.#server = server
    this.#profiles = profiles
  }

  static async create(server: TestServer, profiles: Profile[]): Promise<Callers> {
    const callers = new Callers(server, profiles)
    const { permissions, ownPermissions: own_permissions } = controller
    const body = { name: 'Controller', permissions, own_permissions }
    callers.#customRole = (await server.call('POST', '/roles', { body })).body.data.id
    for (const profile of profiles) {
      if (profile.key) await callers.#addKey(profile)
      else await callers.#addMember(profile)
    }
    return callers
  }

  async #addKey({ name, key: limits, inWorkspaces }: Profile): Promise<void> {
    const place = inWorkspaces && { workspace_ids: [this.#server.own.workspace.id] }
    const { key, data } = (await createManagementKey(this.#server, { ...limits, ...place })).body
    this.#calls.set(name, (method, path, options) => this.#server.call(method, path, { ...options, key }))
    this.#keys.set(name, data.hash)
  }

  async #addMember({ name, session, everywhere }: Profile): Promise<void> {
    const roles = everywhere.includes(controller) ? [{ roleId: this.#customRole }] : (session?.roles ?? [])
    const caller = await createSessionCaller(this.#server, { ...session, roles })
    this.#calls.set(name, caller.call)
    this.#members.set(name, caller.member.id)
  }

  async send({ name }: Profile, { method }: Operation, { path, body }: Sample): Promise<TestResponse> {
    const call = this.#calls.get(name)
    if (!call) throw new Error(`${name} is missing`)
    return call(method, path, { body })
  }

  /** A SCIM sync resets roles in the default workspace to those of the organization. */
  async restoreRoles(): Promise<void> {
    for (const { name, inWorkspaces } of this.#profiles) {
      const userId = this.#members.get(name)
      const role = findRoleName(inWorkspaces)
      if (!userId || !role) continue
      await this.#server.gateway.db
        .updateTable('workspace_members')
        .set({ role })
        .where('user_id', '=', userId)
        .where('role', '!=', role)
        .execute()
    }
  }

  /** Adds those that samples created since. */
  async joinWorkspaces(): Promise<void> {
    const { gateway, own } = this.#server
    const rows = await gateway.db
      .selectFrom('workspaces')
      .select('id')
      .where('organization_id', '=', own.organization.id)
      .where('deleted_at', 'is', null)
      .execute()
    const ids = rows.map(({ id }) => id)
    const added = ids.filter((id) => !this.#joined.has(id))
    if (added.length === 0) return
    for (const id of added) this.#joined.add(id)
    for (const profile of this.#profiles) await this.#join(profile, ids, added)
  }

  async #join({ name, inWorkspaces }: Profile, ids: string[], added: string[]): Promise<void> {
    if (!inWorkspaces) return
    const { db } = this.#server.gateway
    const [userId, hash, role] = [this.#members.get(name), this.#keys.get(name), findRoleName(inWorkspaces)]
    if (hash) {
      const changes = { workspace_ids: JSON.stringify(ids) }
      await db.updateTable('api_keys').set(changes).where('hash', '=', hash).execute()
    } else if (userId && role) await this.#addMemberships(userId, added, role)
    else if (userId) await this.#assignRole(userId, added)
  }

  async #addMemberships(user_id: string, ids: string[], role: WorkspaceRole): Promise<void> {
    const { db, clock } = this.#server.gateway
    const shared = { user_id, role, is_manual: 1 as const, created_at: isoNow(clock) }
    const memberships = ids.map((workspace_id) => ({ ...shared, id: newUuid(), workspace_id }))
    await db.insertInto('workspace_members').values(memberships).execute()
  }

  async #assignRole(user_id: string, ids: string[]): Promise<void> {
    const { gateway, own } = this.#server
    const organization_id = own.organization.id
    const created_at = isoNow(gateway.clock)
    const shared = {
      organization_id,
      user_id,
      role_id: this.#customRole,
      source: 'manual' as const,
      created_at,
    }
    const assignments = ids.map((workspace_id) => ({ ...shared, id: newUuid(), workspace_id }))
    await gateway.db.insertInto('role_assignments').values(assignments).execute()
  }
}

function findRoleName(granted: GrantedRole | undefined): WorkspaceRole | undefined {
  return (['admin', 'member'] as const).find((name) => workspaceRoles[name] === granted)
}

/** One format has the message instead of the object, and the other fields next to it; another one has all at the top. */
function expectNamed({ body }: TestResponse, permission: string): void {
  const { error = body } = body
  const { message, metadata } =
    typeof error === 'string' ? { message: error, metadata: body.metadata } : error
  expect(message).toContain(permission)
  expect(metadata.permission).toBe(permission)
}
