import { sha256 } from '../../src/lib/secret.ts'
import { insertContent, insertGeneration } from './generations.ts'
import type { Answer, CallOptions, Tenant, TestServer } from './harness.ts'

/** One call of an operation that succeeds. The objects it needs are made in `tenant`. */
export interface Sample {
  path: string
  body?: unknown
  /** The path names an object that belongs to the tenant: for anyone else it is 404. */
  owned?: boolean
}

type MakeSample = (tenant: Tenant, call: TenantCall, server: TestServer) => Promise<Sample>

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

async function guardrailId(call: TenantCall): Promise<string> {
  return (await call('POST', '/guardrails', { body: { name: fresh('guardrail') } })).body.data.id
}

async function guardrailPath(call: TenantCall, rest: string): Promise<string> {
  return `/guardrails/${await guardrailId(call)}/assignments/${rest}`
}

function upload(): FormData {
  const form = new FormData()
  form.set('file', new File(['hello, file'], `${fresh('note')}.txt`, { type: 'text/plain' }))
  return form
}

async function fileId(call: TenantCall): Promise<string> {
  return (await call('POST', '/files', { body: upload() })).body.id
}

/** A workspace of its own, because one has few of a kind; an address that is refused before anything is sent. */
async function destinationBody(call: TenantCall): Promise<Record<string, unknown>> {
  const config = {
    url: 'https://127.0.0.1:9/events',
    headers: { authorization: 'Bearer sample-secret' },
  }
  return { type: 'webhook', name: 'sample', workspace_id: await workspaceId(call), config }
}

async function destinationPath(call: TenantCall, rest = ''): Promise<string> {
  const made = await call('POST', '/observability/destinations', { body: await destinationBody(call) })
  return `/observability/destinations/${made.body.data.id}${rest}`
}

const byokBody = { provider: 'groq', key: 'sample-credential-0123456789' }

async function byokPath(call: TenantCall): Promise<string> {
  return `/byok/${(await call('POST', '/byok', { body: byokBody })).body.data.id}`
}

const presetBody = {
  model: 'sandbox/echo',
  messages: [{ role: 'user', content: 'Hello' }],
  temperature: 0.2,
}

async function presetSlug(call: TenantCall): Promise<string> {
  const slug = fresh('preset')
  await call('POST', `/presets/${slug}/messages`, { body: presetBody })
  return slug
}

async function scimTokenId(call: TenantCall): Promise<string> {
  return (await call('POST', '/scim/tokens', { body: { name: 'sample' } })).body.data.id
}

/** Groups come from an identity provider. */
async function scimGroupId(call: TenantCall, server: TestServer): Promise<string> {
  const { token } = (await call('POST', '/scim/tokens', { body: { name: 'sample' } })).body
  const response = await fetch(`${server.url}/scim/v2/Groups`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
    body: JSON.stringify({ displayName: fresh('group') }),
  })
  return ((await response.json()) as { id: string }).id
}

async function mappingBody(call: TenantCall, server: TestServer): Promise<Record<string, string>> {
  const [scim_group_id, workspace_id] = [await scimGroupId(call, server), await workspaceId(call)]
  return { scim_group_id, workspace_id, role: 'member' }
}

async function mappingPath(call: TenantCall, server: TestServer): Promise<string> {
  const made = await call('POST', '/scim/group-mappings', { body: await mappingBody(call, server) })
  return `/scim/group-mappings/${made.body.data.id}`
}

/** Only the operator may do this, so it is always done with the operator's key. */
async function edited(server: TestServer, rest: string, body: unknown): Promise<Sample> {
  const path = `/catalogue/${rest}`
  await server.call('PUT', path, { body })
  return { path }
}

const catalogueProvider = { name: 'Sample', base_url: 'http://127.0.0.1:9/v1', dialects: ['chat'] }
const catalogueModel = { name: 'Sample', endpoints: [{ provider: 'sandbox', upstream_model: 'echo' }] }
const catalogueEndpoint = { pricing: { prompt: '0.000001', completion: '0.000002' } }

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
/** A response that is made in the background. */
async function backgroundResponse(tenant: Tenant, call: TenantCall): Promise<string> {
  const body = { model: 'sandbox/echo:free', input: 'Hello', background: true }
  return (await call('POST', '/responses', { key: tenant.inferenceKey, body })).body.id
}

/** A response that is stored; the free model can be asked by an organization without credits. */
async function storedResponse(tenant: Tenant, call: TenantCall): Promise<string> {
  const body = { model: 'sandbox/echo:free', input: 'Hello' }
  return (await call('POST', '/responses', { key: tenant.inferenceKey, body })).body.id
}

async function conversationPath(tenant: Tenant, call: TenantCall): Promise<string> {
  const body = { items: [{ role: 'user', content: 'Hello' }] }
  const made = await call('POST', '/conversations', { key: tenant.inferenceKey, body })
  return `/conversations/${made.body.id}`
}

async function conversationItemPath(tenant: Tenant, call: TenantCall): Promise<string> {
  const items = `${await conversationPath(tenant, call)}/items`
  const { data } = (await call('GET', items, { key: tenant.inferenceKey })).body
  return `${items}/${data[0].id}`
}

export const samples: Record<string, MakeSample> = {
  quoteRequest: fixed('/quote', { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  createChatCompletion: fixed('/chat/completions', {
    model: 'sandbox/echo',
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  createCompletion: fixed('/completions', { model: 'sandbox/echo', prompt: 'Hello' }),
  createMessage: fixed('/messages', {
    model: 'sandbox/echo',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  countMessageTokens: fixed('/messages/count_tokens', {
    model: 'sandbox/echo',
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  createResponse: fixed('/responses', { model: 'sandbox/echo', input: 'Hello' }),
  countResponseTokens: fixed('/responses/input_tokens', { model: 'sandbox/echo', input: 'Hello' }),
  compactResponse: fixed('/responses/compact', { model: 'sandbox/echo', input: 'Hello' }),
  createConversation: fixed('/conversations', { metadata: { topic: 'sample' } }),
  getConversation: async (tenant, call) => owned(await conversationPath(tenant, call)),
  updateConversation: async (tenant, call) =>
    owned(await conversationPath(tenant, call), { metadata: { topic: 'other' } }),
  deleteConversation: async (tenant, call) => owned(await conversationPath(tenant, call)),
  createConversationItems: async (tenant, call) =>
    owned(`${await conversationPath(tenant, call)}/items`, { items: [{ role: 'user', content: 'Hello' }] }),
  listConversationItems: async (tenant, call) => owned(`${await conversationPath(tenant, call)}/items`),
  getConversationItem: async (tenant, call) => owned(await conversationItemPath(tenant, call)),
  deleteConversationItem: async (tenant, call) => owned(await conversationItemPath(tenant, call)),
  getResponse: async (tenant, call) => owned(`/responses/${await storedResponse(tenant, call)}`),
  cancelResponse: async (tenant, call) =>
    owned(`/responses/${await backgroundResponse(tenant, call)}/cancel`),
  deleteResponse: async (tenant, call) => owned(`/responses/${await storedResponse(tenant, call)}`),
  listResponseInputItems: async (tenant, call) =>
    owned(`/responses/${await storedResponse(tenant, call)}/input_items`),
  generateContent: fixed('/v1beta/models/sandbox%2Fecho:generateContent', {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  }),
  generateContentOfAuthor: fixed('/v1beta/models/sandbox/echo:generateContent', {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  }),
  generateContentOfPublisher: fixed('/v1beta1/publishers/sandbox/models/echo:generateContent', {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  }),
  generateContentOfPublisherAndAuthor: fixed(
    '/v1beta1/publishers/google/models/sandbox/echo:generateContent',
    {
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    },
  ),
  listGeminiModels: fixed('/v1beta/models'),
  getGeminiModel: fixed('/v1beta/models/sandbox%2Fecho'),
  getGeminiModelOfAuthor: fixed('/v1beta/models/sandbox/echo'),
  listPublisherModels: fixed('/v1beta1/publishers/google/models'),
  getPublisherModel: fixed('/v1beta1/publishers/sandbox/models/echo'),

  ollamaChat: fixed('/api/chat', {
    model: 'sandbox/echo',
    stream: false,
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  ollamaGenerate: fixed('/api/generate', { model: 'sandbox/echo', stream: false, prompt: 'Hello' }),
  ollamaVersion: fixed('/api/version'),
  ollamaTags: fixed('/api/tags'),
  ollamaShow: fixed('/api/show', { model: 'sandbox/echo' }),

  createBatch: fixed('/batches', {}),
  listBatches: fixed('/batches'),
  getBatch: () => owned('/batches/batch_1'),
  cancelBatch: () => owned('/batches/batch_1/cancel'),
  createMessageBatch: fixed('/messages/batches', {}),
  listMessageBatches: fixed('/messages/batches'),
  getMessageBatch: () => owned('/messages/batches/msgbatch_1'),
  deleteMessageBatch: () => owned('/messages/batches/msgbatch_1'),
  getMessageBatchResults: () => owned('/messages/batches/msgbatch_1/results'),
  cancelMessageBatch: () => owned('/messages/batches/msgbatch_1/cancel'),
  listGeminiBatches: fixed('/v1beta/batches'),
  getGeminiBatch: () => owned('/v1beta/batches/1'),
  deleteGeminiBatch: () => owned('/v1beta/batches/1'),

  getGeneration: async (tenant, _, { gateway }) => ({
    path: `/generation?id=${await insertGeneration(gateway, tenant)}`,
  }),
  getGenerationContent: async (tenant, _, { gateway }) => {
    const id = await insertGeneration(gateway, tenant)
    await insertContent(gateway, tenant, id)
    return { path: `/generation/content?id=${id}` }
  },
  submitGenerationFeedback: async (tenant, _, { gateway }) => ({
    path: '/generation/feedback',
    body: { generation_id: await insertGeneration(gateway, tenant), category: 'latency' },
  }),

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

  getActivity: fixed('/activity'),
  getAnalyticsMeta: fixed('/analytics/meta'),
  queryAnalytics: fixed('/analytics/query', { metrics: ['request_count'], dimensions: ['model'] }),

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
  removeWorkspaceMembers: async (_, call) => {
    const [workspace, user] = [await workspaceId(call), await memberId(call)]
    await call('POST', `/workspaces/${workspace}/members/add`, { body: { user_ids: [user] } })
    return owned(`/workspaces/${workspace}/members/remove`, { user_ids: [user] })
  },
  listWorkspaceBudgets: async (_, call) => owned(`/workspaces/${await workspaceId(call)}/budgets`),
  getWorkspaceBudget: async (_, call) => budget(call),
  putWorkspaceBudget: async (_, call) => ({ ...(await budget(call)), body: { limit_usd: 20.5 } }),
  deleteWorkspaceBudget: async (_, call) => budget(call),

  listGuardrails: fixed('/guardrails'),
  createGuardrail: async () => ({ path: '/guardrails', body: { name: fresh('guardrail') } }),
  getGuardrail: async (_, call) => owned(`/guardrails/${await guardrailId(call)}`),
  updateGuardrail: async (_, call) => owned(`/guardrails/${await guardrailId(call)}`, { description: 'new' }),
  deleteGuardrail: async (_, call) => owned(`/guardrails/${await guardrailId(call)}`),
  listGuardrailKeyAssignments: fixed('/guardrails/assignments/keys'),
  listGuardrailMemberAssignments: fixed('/guardrails/assignments/members'),
  listGuardrailKeys: async (_, call) => owned(await guardrailPath(call, 'keys')),
  assignGuardrailKeys: async (_, call) =>
    owned(await guardrailPath(call, 'keys'), { key_hashes: [await keyHash(call)] }),
  unassignGuardrailKeys: async (_, call) =>
    owned(await guardrailPath(call, 'keys/remove'), { key_hashes: ['unknown'] }),
  listGuardrailMembers: async (_, call) => owned(await guardrailPath(call, 'members')),
  assignGuardrailMembers: async (tenant, call) =>
    owned(await guardrailPath(call, 'members'), { member_user_ids: [tenant.owner.id] }),
  unassignGuardrailMembers: async (_, call) =>
    owned(await guardrailPath(call, 'members/remove'), { member_user_ids: ['user_unknown'] }),
  getKeyPolicy: async (_, call) => owned(`/keys/${await keyHash(call)}/policy`),

  listObservabilityDestinations: fixed('/observability/destinations'),
  createObservabilityDestination: async (_, call) => ({
    path: '/observability/destinations',
    body: await destinationBody(call),
  }),
  getObservabilityDestination: async (_, call) => owned(await destinationPath(call)),
  updateObservabilityDestination: async (_, call) => owned(await destinationPath(call), { enabled: false }),
  deleteObservabilityDestination: async (_, call) => owned(await destinationPath(call)),
  testObservabilityDestination: async (_, call) => owned(await destinationPath(call, '/test')),

  listByokKeys: fixed('/byok?provider=sandbox'),
  createByokKey: fixed('/byok', byokBody),
  getByokKey: async (_, call) => owned(await byokPath(call)),
  updateByokKey: async (_, call) => owned(await byokPath(call), { disabled: true }),
  deleteByokKey: async (_, call) => owned(await byokPath(call)),

  listFiles: fixed('/files'),
  uploadFile: async () => ({ path: '/files', body: upload() }),
  getFile: async (_, call) => owned(`/files/${await fileId(call)}`),
  downloadFile: async (_, call) => owned(`/files/${await fileId(call)}/content`),
  deleteFile: async (_, call) => owned(`/files/${await fileId(call)}`),
  startGeminiUpload: fixed('/upload/v1beta/files', { file: { displayName: 'note.txt' } }),
  sendGeminiUpload: async (_, call) => {
    const { headers } = await call('POST', '/upload/v1beta/files', { body: {} })
    return { path: new URL(headers.get('x-goog-upload-url') ?? '').pathname }
  },
  listGeminiFiles: fixed('/v1beta/files'),
  getGeminiFile: async (_, call) => owned(`/v1beta/files/${await fileId(call)}`),
  deleteGeminiFile: async (_, call) => owned(`/v1beta/files/${await fileId(call)}`),

  listPresets: fixed('/presets'),
  getPreset: async (_, call) => owned(`/presets/${await presetSlug(call)}`),
  listPresetVersions: async (_, call) => owned(`/presets/${await presetSlug(call)}/versions`),
  getPresetVersion: async (_, call) => owned(`/presets/${await presetSlug(call)}/versions/1`),
  createPresetFromChat: async (_, call) =>
    owned(`/presets/${await presetSlug(call)}/chat/completions`, presetBody),
  createPresetFromMessages: async (_, call) =>
    owned(`/presets/${await presetSlug(call)}/messages`, presetBody),
  createPresetFromResponses: async (_, call) =>
    owned(`/presets/${await presetSlug(call)}/responses`, { model: 'sandbox/echo', input: 'Hello' }),
  updatePreset: async (_, call) => owned(`/presets/${await presetSlug(call)}`, { status: 'disabled' }),
  deletePreset: async (_, call) => owned(`/presets/${await presetSlug(call)}`),

  listScimGroups: fixed('/scim/groups'),
  listScimGroupMappings: fixed('/scim/group-mappings'),
  createScimGroupMapping: async (_, call, server) => ({
    path: '/scim/group-mappings',
    body: await mappingBody(call, server),
  }),
  getScimGroupMapping: async (_, call, server) => owned(await mappingPath(call, server)),
  updateScimGroupMapping: async (_, call, server) =>
    owned(await mappingPath(call, server), { role: 'admin' }),
  deleteScimGroupMapping: async (_, call, server) =>
    owned(`${await mappingPath(call, server)}?keep_members=false`),
  createScimSyncJob: fixed('/scim/sync-jobs'),
  getScimSyncJob: async (_, call) =>
    owned(`/scim/sync-jobs/${(await call('POST', '/scim/sync-jobs')).body.data.id}`),
  createScimToken: fixed('/scim/tokens', { name: 'Okta' }),
  listScimTokens: fixed('/scim/tokens'),
  deleteScimToken: async (_, call) => owned(`/scim/tokens/${await scimTokenId(call)}`),

  listModels: fixed('/models'),
  countModels: fixed('/models/count'),
  listUserModels: fixed('/models/user'),
  getModel: fixed('/model/sandbox/echo'),
  retrieveModel: fixed('/models/sandbox%2Fecho'),
  retrieveModelOfAuthor: fixed('/models/sandbox/echo'),
  listModelEndpoints: fixed('/models/sandbox/echo/endpoints'),
  listZdrEndpoints: fixed('/endpoints/zdr'),
  listProviders: fixed('/providers'),
  listCatalogueProviders: fixed('/catalogue/providers'),
  getCatalogueProvider: fixed('/catalogue/providers/sandbox'),
  putCatalogueProvider: async () => ({
    path: `/catalogue/providers/${fresh('sample')}`,
    body: catalogueProvider,
  }),
  deleteCatalogueProvider: async (_, __, server) =>
    edited(server, `providers/${fresh('sample')}`, catalogueProvider),
  listCatalogueModels: fixed('/catalogue/models'),
  getCatalogueModel: fixed('/catalogue/models/sandbox/echo'),
  putCatalogueModel: async () => ({ path: `/catalogue/models/sample/${fresh('new')}`, body: catalogueModel }),
  deleteCatalogueModel: async (_, __, server) =>
    edited(server, `models/sample/${fresh('old')}`, catalogueModel),
  putCatalogueEndpoint: fixed('/catalogue/models/sandbox/echo/endpoints/sandbox', catalogueEndpoint),
  deleteCatalogueEndpoint: async (_, __, server) =>
    edited(server, 'models/sandbox/echo/endpoints/sandbox', catalogueEndpoint),
  listImageModels: fixed('/images/models'),
  listImageEndpoints: fixed('/images/models/sandbox/painter/endpoints'),
  listEmbeddingModels: fixed('/embeddings/models'),
  listVideoModels: fixed('/videos/models'),
}

export async function makeSample(server: TestServer, operationId: string, tenant: Tenant): Promise<Sample> {
  const make = samples[operationId]
  if (!make) throw new Error(`test/support/samples.ts has no sample for ${operationId}`)
  const call: TenantCall = (method, path, options = {}) =>
    server.call(method, path, { key: tenant.managementKey, ...options })
  return make(tenant, call, server)
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
