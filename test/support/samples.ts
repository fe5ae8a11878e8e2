import { sha256 } from '../../src/lib/secret.ts'
import type { Answer, CallOptions, Tenant, TestServer } from './harness.ts'

/** One call of an operation that succeeds. The objects it needs are made in `tenant`. */
export interface Sample {
  path: string
  body?: unknown
  /** The path names an object that belongs to the tenant: for anyone else it is 404. */
  owned?: boolean
}

type MakeSample = (tenant: Tenant, call: TenantCall) => Promise<Sample>

/** Calls with the tenant's own management key. */
type TenantCall = (method: string, path: string, options?: CallOptions) => Promise<Answer>

let counter = 0
const fresh = (word: string) => `${word}-${++counter}`

async function keyHash(call: TenantCall): Promise<string> {
  return (await call('POST', '/keys', { body: { name: fresh('key') } })).body.data.hash
}

async function workspaceId(call: TenantCall): Promise<string> {
  const slug = fresh('workspace')
  return (await call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id
}

async function memberId(call: TenantCall): Promise<string> {
  const body = { email: `${fresh('member')}@example.com` }
  return (await call('POST', '/organization/members', { body })).body.data.id
}

function upload(): FormData {
  const form = new FormData()
  form.set('file', new File(['hello, file'], `${fresh('note')}.txt`, { type: 'text/plain' }))
  return form
}

async function fileId(call: TenantCall): Promise<string> {
  return (await call('POST', '/files', { body: upload() })).body.id
}

const fixed =
  (path: string, body?: unknown): MakeSample =>
  async () => ({ path, body })

async function budget(call: TenantCall): Promise<Sample> {
  const id = await workspaceId(call)
  await call('PUT', `/workspaces/${id}/budgets/weekly`, { body: { limit_usd: 10 } })
  return { path: `/workspaces/${id}/budgets/weekly`, owned: true }
}

const owned = async (path: string, body?: unknown): Promise<Sample> => ({ path, body, owned: true })

/** By operation id. The generic tests fail when an operation has no sample here. */
export const samples: Record<string, MakeSample> = {
  getCurrentKey: fixed('/key'),
  listKeys: fixed('/keys'),
  createKey: fixed('/keys', { name: 'sample', limit: 5 }),
  getKey: async (_, call) => owned(`/keys/${await keyHash(call)}`),
  updateKey: async (_, call) => owned(`/keys/${await keyHash(call)}`, { name: 'renamed' }),
  deleteKey: async (_, call) => owned(`/keys/${await keyHash(call)}`),

  createAuthCode: fixed('/auth/keys/code', { callback_url: 'https://app.example.com/callback' }),
  exchangeAuthCode: async (_, call) => {
    const made = await call('POST', '/auth/keys/code', { body: { callback_url: 'https://app.example.com/' } })
    return { path: '/auth/keys', body: { code: made.body.data.id } }
  },

  getCredits: fixed('/credits'),
  grantCredits: fixed('/credits/grants', { amount: 1 }),

  listOrganizationMembers: fixed('/organization/members'),
  createOrganizationMember: async () => ({
    path: '/organization/members',
    body: { email: `${fresh('new')}@example.com` },
  }),
  updateOrganizationMember: async (_, call) =>
    owned(`/organization/members/${await memberId(call)}`, { role: 'org:admin' }),
  deleteOrganizationMember: async (_, call) => owned(`/organization/members/${await memberId(call)}`),

  listWorkspaces: fixed('/workspaces'),
  createWorkspace: async () => ({ path: '/workspaces', body: { name: 'New', slug: fresh('new') } }),
  getWorkspace: async (_, call) => owned(`/workspaces/${await workspaceId(call)}`),
  updateWorkspace: async (_, call) => owned(`/workspaces/${await workspaceId(call)}`, { name: 'Renamed' }),
  deleteWorkspace: async (_, call) => owned(`/workspaces/${await workspaceId(call)}`),
  listWorkspaceMembers: async (tenant) => owned(`/workspaces/${tenant.workspace.id}/members`),
  addWorkspaceMembers: async (tenant, call) =>
    owned(`/workspaces/${await workspaceId(call)}/members/add`, { user_ids: [tenant.owner.id] }),
  removeWorkspaceMembers: async (_, call) =>
    owned(`/workspaces/${await workspaceId(call)}/members/remove`, { user_ids: ['user_unknown'] }),
  listWorkspaceBudgets: async (_, call) => owned(`/workspaces/${await workspaceId(call)}/budgets`),
  getWorkspaceBudget: async (_, call) => budget(call),
  putWorkspaceBudget: async (_, call) => ({ ...(await budget(call)), body: { limit_usd: 20.5 } }),
  deleteWorkspaceBudget: async (_, call) => budget(call),

  listFiles: fixed('/files'),
  uploadFile: async () => ({ path: '/files', body: upload() }),
  getFile: async (_, call) => owned(`/files/${await fileId(call)}`),
  downloadFile: async (_, call) => owned(`/files/${await fileId(call)}/content`),
  deleteFile: async (_, call) => owned(`/files/${await fileId(call)}`),

  listModels: fixed('/models'),
  countModels: fixed('/models/count'),
  listUserModels: fixed('/models/user'),
  getModel: fixed('/model/sandbox/echo'),
  listModelEndpoints: fixed('/models/sandbox/echo/endpoints'),
  listZdrEndpoints: fixed('/endpoints/zdr'),
  listProviders: fixed('/providers'),
  listImageModels: fixed('/images/models'),
  listImageEndpoints: fixed('/images/models/sandbox/painter/endpoints'),
  listEmbeddingModels: fixed('/embeddings/models'),
  listVideoModels: fixed('/videos/models'),
}

export async function makeSample(server: TestServer, operationId: string, tenant: Tenant): Promise<Sample> {
  const make = samples[operationId]
  if (!make) throw new Error(`test/support/samples.ts has no sample for ${operationId}`)
  return make(tenant, (method, path, options = {}) =>
    server.call(method, path, { key: tenant.managementKey, ...options }),
  )
}

/** A key of the tenant in a state that must be refused. */
export async function refusedKeys(server: TestServer): Promise<Record<string, string>> {
  const create = async (body: Record<string, unknown>) =>
    (await server.call('POST', '/keys', { body: { name: 'refused', ...body } })).body.key as string
  const disabled = await create({})
  await server.call('PATCH', `/keys/${sha256(disabled)}`, { body: { disabled: true } })
  const expired = await create({ expires_at: new Date(server.clock.now() + 60_000).toISOString() })
  await server.gateway.db
    .updateTable('api_keys')
    .set({ expires_at: '2020-01-01T00:00:00Z' })
    .where('hash', '=', sha256(expired))
    .execute()
  return { unknown: `sk-hg-v1-${'0'.repeat(64)}`, disabled, expired }
}
