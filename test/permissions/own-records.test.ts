import { beforeAll, expect, test } from 'bun:test'
import { loadOperations } from '../../src/api/all.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import type { Operation } from '../../src/http/operation.ts'
import { infoOf } from '../../src/identity/permissions/permissions.ts'
import { newId } from '../../src/platform/crypto/ids.ts'
import { insertMemberGeneration } from '../support/generations.ts'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type SessionCaller,
  type TestServer,
} from '../support/harness.ts'
import { makeSample, type Sample } from '../support/samples.ts'

const operations = await loadOperations()

const ownOperations = operations.filter(
  ({ permission, scope }) =>
    permission !== 'public' && (scope ?? infoOf(permission).scope) === 'own' && permission !== 'models:read',
)

/** The same for every member. */
const sharedData = (operation: Operation) =>
  operation.permission === 'datasets:read' || operation.id === 'getAnalyticsMeta'

/** The request acts for its caller, and names no record of a member. */
const inference = (operation: Operation) => operation.permission === 'inference:write'

/** Operations on one record: that of another member is 403. */
const onKeys = ['getKey', 'updateKey', 'rotateKey', 'deleteKey']
const onGenerations = [
  'getGeneration',
  'explainGeneration',
  'getGenerationContent',
  'submitGenerationFeedback',
]

/** Operations on the account of the caller; the status if only another member has what the request names. */
const onAccounts: Record<string, number> = {
  deleteSession: 404,
  deleteOtherSessions: 200,
  setAccountPassword: 200,
  deleteAccountPassword: 404,
  createAccountTotp: 201,
  confirmAccountTotp: 404,
  deleteAccountTotp: 404,
  createAccountRecoveryCodes: 409,
  createAccountPasskeyOptions: 200,
  createAccountPasskey: 400,
  deleteAccountPasskey: 404,
}

type Listing = (caller: SessionCaller, workspace: string, server: TestServer) => Promise<string[]>

/** Return or create records of the caller; the members that these belong to. */
const forCaller: Record<string, Listing> = {
  getCurrentKey: async ({ call }) => [(await call('GET', '/key')).body.data.creator_user_id],
  getSession: async ({ call }) => [(await call('GET', '/session')).body.data.member.id],
  getAccount: async ({ call, member }) => {
    const { passkeys, password_updated_at } = (await call('GET', '/account')).body.data
    return passkeys === 1 && password_updated_at === null ? [member.id] : []
  },
  listSessions: async ({ call }, _, { gateway }) => {
    const { data } = (await call('GET', '/sessions')).body
    return listOwners(gateway, 'sessions', data)
  },
  listAccountPasskeys: async ({ call }, _, { gateway }) => {
    const { data } = (await call('GET', '/account/passkeys')).body
    return listOwners(gateway, 'passkeys', data)
  },
  listKeys: async ({ call }, workspace) => {
    const { data } = (await call('GET', `/keys?workspace_id=${workspace}`)).body
    return [...new Set<string>(data.map((key: { creator_user_id: string }) => key.creator_user_id))]
  },
  listGenerations: async ({ call }) => {
    const { data } = (await call('GET', '/generations')).body
    return data.map(({ user }: { user: { id: string } }) => user.id)
  },
  countGenerations: async ({ call, member }) => {
    const { data } = (await call('GET', '/generations/histogram')).body
    const total = data.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0)
    return total === 1 ? [member.id] : []
  },
  searchObjects: async ({ call }, _, { gateway }) => {
    const { data } = (await call('GET', '/search?q=key&limit=50')).body
    const hashes = data.flatMap(({ kind, id }: { kind: string; id: string }) => (kind === 'key' ? [id] : []))
    const keys = gateway.db.selectFrom('api_keys').select('creator_user_id').distinct()
    const rows = await keys.where('hash', 'in', hashes).execute()
    return rows.map(({ creator_user_id }) => creator_user_id ?? '')
  },
  createKey: async ({ call }, workspace_id) => {
    const { data } = (await call('POST', '/keys', { body: { name: 'key', workspace_id } })).body
    return [data.creator_user_id]
  },
  createAuthCode: async ({ call }, workspace_id, server) => {
    const body = { callback_url: 'https://app.example.com/', workspace_id }
    const code = (await call('POST', '/auth/keys/code', { body })).body.data.id
    return [(await server.call('POST', '/auth/keys', { key: null, body: { code } })).body.user_id]
  },
}

async function listOwners(
  { db }: Gateway,
  table: 'sessions' | 'passkeys',
  records: { id: string }[],
): Promise<string[]> {
  const ids = records.map(({ id }) => id)
  const rows = await db.selectFrom(table).select('user_id').distinct().where('id', 'in', ids).execute()
  return rows.map(({ user_id }) => user_id)
}

/** See src/api/analytics/analytics/scope.test.ts. */
const provenWithAnalytics = ['getActivity', 'queryAnalytics']

/** Selects requests with the function of `listGenerations`. */
const provenWithList = ['streamGenerations']

/** See src/api/identity/saved-views/saved-views.test.ts. */
const provenWithViews = ['listSavedViews', 'createSavedView', 'updateSavedView', 'deleteSavedView']

/** See src/api/inference/comparisons/comparisons.test.ts. */
const provenWithComparisons = operations.filter(({ tag }) => tag === 'Comparisons').map(({ id }) => id)

const operationOf = (id: string) => {
  const found = operations.find((operation) => operation.id === id)
  if (!found) throw new Error(`${id} is no operation`)
  return found
}

test('every operation on own records is called below', () => {
  const covered = new Set([
    ...onKeys,
    ...onGenerations,
    ...Object.keys(onAccounts),
    ...Object.keys(forCaller),
    ...provenWithAnalytics,
    ...provenWithList,
    ...provenWithViews,
    ...provenWithComparisons,
  ])
  const others = ownOperations.filter((operation) => !sharedData(operation) && !inference(operation))
  expect(others.map(({ id }) => id).sort()).toEqual([...covered].sort())
})

describeOnEachDatabase('S2 operations on own records', (server) => {
  let workspace = ''
  let member: SessionCaller
  let colleague: SessionCaller
  const join = () => createSessionCaller(server(), { workspaces: { [workspace]: 'member' } })
  beforeAll(async () => {
    workspace = await createWorkspace(server())
    ;[member, colleague] = [await join(), await join()]
  })

  const send = (caller: SessionCaller, { method }: Operation, { path, body }: Sample) =>
    caller.call(method, path, { body })

  test.each([...onKeys, ...onGenerations])('%s', async (id) => {
    const operation = operationOf(id)
    const make = async ({ member, call }: SessionCaller): Promise<Sample> => {
      if (onKeys.includes(id)) {
        const { hash } = (await call('POST', '/keys', { body: { name: 'key', workspace_id: workspace } }))
          .body.data
        const path = operation.path.replace('{hash}', hash)
        return { path, ...(id === 'updateKey' && { body: { name: 'renamed' } }) }
      }
      const generation_id = await insertMemberGeneration(server(), member, workspace)
      if (id === 'submitGenerationFeedback')
        return { path: operation.path, body: { generation_id, category: 'latency' } }
      return { path: `${operation.path}?id=${generation_id}` }
    }
    const refused = await send(member, operation, await make(colleague))
    expect(refused.status).toBe(403)
    expect(refused.body.error.metadata.permission).toBe(operation.permission)
    expect((await send(member, operation, await make(member))).status).toBe(operation.status)
    // What a member created is nobody else's after they left, nor theirs.
    const leaver = await join()
    const left = await make(leaver)
    const memberships = server().gateway.db.deleteFrom('workspace_members')
    await memberships.where('user_id', '=', leaver.member.id).execute()
    for (const caller of [leaver, member]) expect((await send(caller, operation, left)).status).toBe(403)
  })

  test.each(Object.keys(onAccounts))('%s', async (id) => {
    const operation = operationOf(id)
    const [first, second] = [await join(), await join()]
    const sample = await makeSample(server(), id, { ...server().own, owner: second.member })
    const before = await describeAccount(second)
    expect((await send(first, operation, sample)).status).toBe(onAccounts[id] ?? 0)
    expect(await describeAccount(second)).toEqual(before)
    expect((await send(second, operation, sample)).status).toBe(operation.status)
  })

  const describeAccount = async ({ call }: SessionCaller) => {
    const paths = ['/account', '/account/passkeys', '/sessions']
    const responses = await Promise.all(paths.map((path) => call('GET', path)))
    return responses.map(({ body }) => ({
      ...body,
      data: Array.isArray(body.data) ? body.data.map(({ id }: { id: string }) => id) : body.data,
    }))
  }

  test.each(Object.keys(forCaller))('%s concerns the caller alone', async (id) => {
    const [first, second] = [await join(), await join()]
    for (const { member, call } of [first, second]) {
      await insertMemberGeneration(server(), member, workspace)
      await call('POST', '/keys', { body: { name: 'key', workspace_id: workspace } })
      await makeSample(server(), 'deleteAccountPasskey', { ...server().own, owner: member })
    }
    const seen = await forCaller[id]?.(first, workspace, server())
    expect(seen).toEqual([first.member.id])
  })

  test.each(ownOperations.filter(inference))(
    '$method $path is refused in the workspaces of others',
    async (operation) => {
      const sample = await makeSample(server(), operation.id, server().own)
      const headers = { 'x-headgate-workspace': server().own.workspace.id }
      const response = await member.call(operation.method, sample.path, { body: sample.body, headers })
      expect(response.status).toBe(403)
      expect(JSON.stringify(response.body)).toContain('inference:write')
    },
  )
})

async function createWorkspace({ call }: TestServer): Promise<string> {
  const slug = newId('w').replace('_', '-')
  return (await call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id
}
