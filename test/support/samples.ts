import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import { storePassword } from '../../src/identity/passwords.ts'
import { confirmTotp, createTotp, deleteTotp } from '../../src/identity/totp.ts'
import { runVideoJobs } from '../../src/inference/video/worker.ts'
import { postFunding } from '../../src/ledger/entries.ts'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import { newUuid } from '../../src/platform/crypto/ids.ts'
import { computeTotp, totpStepAt } from '../../src/platform/crypto/totp.ts'
import { Authenticator } from './authenticator.ts'
import { decodeBase32 } from './base32.ts'
import { createContainerFilePath } from './containers.ts'
import { insertContent, insertGeneration } from './generations.ts'
import type { CallOptions, Tenant, TestResponse, TestServer } from './harness.ts'
import { allowPassthrough } from './passthrough.ts'
import { inputAudio, silentWav } from './recordings.ts'
import { createSessionHeaders } from './sessions.ts'
import {
  allowIssuer,
  buildClaims,
  buildExchange,
  startTokenIssuer,
  tokenAudience,
  workloadSubject,
} from './token-issuer.ts'

/** One call of an operation that succeeds. The objects it needs are made in `tenant`. */
export interface Sample {
  path: string
  body?: unknown
  /** The path names an object of the tenant: for others it is 404. */
  owned?: boolean
}

type SampleFactory = (tenant: Tenant, call: TenantCall, server: TestServer) => Promise<Sample>

/** Calls with the tenant's own management key. */
type TenantCall = (method: string, path: string, options?: CallOptions) => Promise<TestResponse>

let counter = 0
const uniqueName = (word: string) => `${word}-${++counter}`

async function createKeyHash(call: TenantCall): Promise<string> {
  return (await call('POST', '/keys', { body: { name: uniqueName('key') } })).body.data.hash
}

async function createWorkspaceId(call: TenantCall): Promise<string> {
  const slug = uniqueName('workspace')
  return (await call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id
}

async function createMemberId(call: TenantCall): Promise<string> {
  const body = { email: `${uniqueName('member')}@example.com` }
  return (await call('POST', '/organization/members', { body })).body.data.id
}

async function createSessionId({ owner }: Tenant, server: TestServer): Promise<string> {
  const headers = await createSessionHeaders(server, owner)
  const response = await fetch(`${server.url}/api/v1/session`, { headers })
  return ((await response.json()) as { data: { session_id: string } }).data.session_id
}

async function createManagementKeyPath(call: TenantCall): Promise<string> {
  const body = { name: uniqueName('management'), permissions: ['keys:read'] }
  return `/management-keys/${(await call('POST', '/management-keys', { body })).body.data.hash}`
}
async function createRolePath(call: TenantCall): Promise<string> {
  const body = { name: uniqueName('role'), permissions: ['models:read'] }
  return `/roles/${(await call('POST', '/roles', { body })).body.data.id}`
}

const buildAssignment = ({ workspace }: Tenant) => ({ role_id: 'viewer', workspace_id: workspace.id })
async function buildPasskeyBody({ owner }: Tenant, call: TenantCall, server: TestServer) {
  await server.gateway.db.deleteFrom('passkeys').where('user_id', '=', owner.id).execute()
  const headers = await createSessionHeaders(server, owner)
  const { data } = (await call('POST', '/account/passkeys/options', { key: null, headers })).body
  return { name: 'Laptop', credential: new Authenticator(server.url).create(data) }
}

async function createGuardrailId(call: TenantCall): Promise<string> {
  return (await call('POST', '/guardrails', { body: { name: uniqueName('guardrail') } })).body.data.id
}

async function createGuardrailPath(call: TenantCall, rest: string): Promise<string> {
  return `/guardrails/${await createGuardrailId(call)}/assignments/${rest}`
}

/** One that can be removed. */
async function createAssignment(call: TenantCall, plural: string, body: object): Promise<Sample> {
  const path = await createGuardrailPath(call, plural)
  await call('POST', path, { body })
  return ownedSample(`${path}/remove`, body)
}

function buildUpload(): FormData {
  const form = new FormData()
  form.set('file', new File(['hello, file'], `${uniqueName('note')}.txt`, { type: 'text/plain' }))
  return form
}

function buildImageEdit(): FormData {
  const form = new FormData()
  form.set('model', 'sandbox/painter')
  form.set('prompt', 'Hello')
  form.set('image', new File([Buffer.from(greyPixelPng, 'base64')], 'grey.png', { type: 'image/png' }))
  return form
}

async function createFileId(call: TenantCall): Promise<string> {
  return (await call('POST', '/files', { body: buildUpload() })).body.id
}

/** Creates a job that has ended. */
async function createVideoId(
  tenant: Tenant,
  call: TenantCall,
  { gateway, clock }: TestServer,
): Promise<string> {
  await postFunding(gateway.db, {
    transactionId: uniqueName('funding'),
    organizationId: tenant.organization.id,
    kind: 'grant',
    note: null,
    amount: 1_000_000_000n,
    at: new Date(clock.now()).toISOString(),
  })
  const body = { model: 'sandbox/filmmaker', prompt: 'sandbox:slow=0 A fox', size: '1280x720' }
  const { id } = (await call('POST', '/videos', { key: tenant.inferenceKey, body })).body
  const due_at = new Date(clock.now()).toISOString()
  await gateway.db.updateTable('video_jobs').set({ due_at }).where('id', '=', id).execute()
  await runVideoJobs(gateway)
  await gateway.videoTasks.idle()
  return id
}

/** Builds a body with a separate workspace, because of its quotas; the address is rejected before anything is sent. */
async function buildDestinationBody(call: TenantCall): Promise<Record<string, unknown>> {
  const config = {
    url: 'https://127.0.0.1:9/events',
    headers: { authorization: 'Bearer sample-secret' },
  }
  return { type: 'webhook', name: 'sample', workspace_id: await createWorkspaceId(call), config }
}

async function createDestinationPath(call: TenantCall, rest = ''): Promise<string> {
  const created = await call('POST', '/observability/destinations', {
    body: await buildDestinationBody(call),
  })
  return `/observability/destinations/${created.body.data.id}${rest}`
}

function buildLimit({ id }: Tenant['workspace']) {
  const match = { workspace_id: id }
  return { name: 'Requests', measure: 'requests', window: 'minute', amount: 100_000, match, per: ['key'] }
}

async function createLimitPath(call: TenantCall, workspace: Tenant['workspace']): Promise<string> {
  const created = await call('POST', '/limits', { body: buildLimit(workspace) })
  return `/limits/${created.body.data.id}`
}

async function createTierPath(call: TenantCall): Promise<string> {
  const created = await call('POST', '/tiers', { body: { name: `tier-${newUuid()}` } })
  return `/tiers/${created.body.data.name}`
}

async function createNotificationRulePath(call: TenantCall, rest = ''): Promise<string> {
  const webhook = { url: 'https://127.0.0.1:9/events' }
  const created = await call('POST', '/notifications/rules', {
    body: { kind: 'budget', channels: { webhook } },
  })
  return `/notifications/rules/${created.body.data.id}${rest}`
}

/** Inserts a notification like an evaluation. */
async function createNotificationPath({ organization }: Tenant, { gateway }: TestServer): Promise<string> {
  const id = newUuid()
  await gateway.db
    .insertInto('notifications')
    .values({
      id,
      organization_id: organization.id,
      workspace_id: null,
      kind: 'low_balance',
      subject: `organization:${organization.id}`,
      level: ++counter,
      period: 'open',
      title: 'The balance is low',
      text: 'Add credits.',
      data: '{}',
      created_at: new Date().toISOString(),
      read_at: null,
    })
    .execute()
  return `/notifications/${id}`
}

const byokBody = { provider: 'groq', key: 'sample-credential-0123456789' }

const auditDestinationBody = { name: 'SIEM', type: 'webhook', config: { url: 'https://127.0.0.1:9/events' } }

async function createAuditDestinationPath(call: TenantCall): Promise<string> {
  const { body } = await call('POST', '/audit/destinations', { body: auditDestinationBody })
  return `/audit/destinations/${body.data.id}`
}

async function createByokPath(call: TenantCall, body = byokBody): Promise<string> {
  return `/byok/${(await call('POST', '/byok', { body })).body.data.id}`
}

/** The catalog has no model of it, so a test sends nothing. */
const untestableByokBody = { ...byokBody, provider: 'ai21' }

const presetBody = {
  model: 'sandbox/echo',
  messages: [{ role: 'user', content: 'Hello' }],
  temperature: 0.2,
}

async function createPresetSlug(call: TenantCall): Promise<string> {
  const slug = uniqueName('preset')
  await call('POST', `/presets/${slug}/messages`, { body: presetBody })
  return slug
}

async function createScimTokenId(call: TenantCall): Promise<string> {
  return (await call('POST', '/scim/tokens', { body: { name: 'sample' } })).body.data.id
}

function buildSsoConnection() {
  const issuer = `https://${uniqueName('idp')}.example.com`
  return { name: 'Company', issuer, client_id: 'headgate', client_secret: 'secret' }
}

async function createSsoConnectionPath(call: TenantCall): Promise<string> {
  const created = await call('POST', '/organization/sso/connections', { body: buildSsoConnection() })
  return `/organization/sso/connections/${created.body.data.id}`
}

async function createSsoDomainPath(call: TenantCall): Promise<string> {
  const body = { domain: `${uniqueName('sample')}.test` }
  return `/organization/sso/domains/${(await call('POST', '/organization/sso/domains', { body })).body.data.id}`
}

/** Creates a domain with the record that verifies it. */
async function createVerifiablePath(call: TenantCall, { gateway }: TestServer): Promise<string> {
  const path = await createSsoDomainPath(call)
  const { body } = await call('GET', '/organization/sso/domains')
  const values = body.data.map((row: { txt_record: { value: string } }) => row.txt_record.value)
  Object.assign(gateway.identity, { resolveTxt: async () => values })
  return `${path}/verify`
}

/** Identities are created when people sign in. */
async function createSsoIdentityPath(
  tenant: Tenant,
  call: TenantCall,
  { gateway }: TestServer,
): Promise<string> {
  const connection = await createSsoConnectionPath(call)
  const identity = {
    id: newUuid(),
    organization_id: tenant.organization.id,
    issuer: 'https://idp.example.com',
    subject: uniqueName('subject'),
    connection_id: connection.split('/').at(-1) ?? '',
    user_id: tenant.owner.id,
    created_at: new Date().toISOString(),
    last_signed_in_at: new Date().toISOString(),
  }
  await gateway.db.insertInto('sso_identities').values(identity).execute()
  return `/organization/sso/identities/${identity.id}`
}

function buildWorkloadIssuer(issuer = `https://${uniqueName('issuer')}.example.com`) {
  return { name: 'CI', issuer }
}

async function createWorkloadIssuerId(call: TenantCall, url?: string): Promise<string> {
  return (await call('POST', '/workload-identity/issuers', { body: buildWorkloadIssuer(url) })).body.data.id
}

async function buildWorkloadPolicy(call: TenantCall, issuerId?: string) {
  const issuer_id = issuerId ?? (await createWorkloadIssuerId(call))
  const key_hash = await createKeyHash(call)
  return { name: 'Deploy', issuer_id, audience: tokenAudience, subject: workloadSubject, key_hash }
}

async function createWorkloadPolicyId(call: TenantCall, issuerId?: string): Promise<string> {
  const body = await buildWorkloadPolicy(call, issuerId)
  return (await call('POST', '/workload-identity/policies', { body })).body.data.id
}

/** Groups come from an identity provider. */
async function createScimGroupId(call: TenantCall, server: TestServer): Promise<string> {
  const { token } = (await call('POST', '/scim/tokens', { body: { name: 'sample' } })).body
  const response = await fetch(`${server.url}/scim/v2/Groups`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
    body: JSON.stringify({ displayName: uniqueName('group') }),
  })
  return ((await response.json()) as { id: string }).id
}

async function buildMappingBody(call: TenantCall, server: TestServer): Promise<Record<string, string>> {
  const [scim_group_id, workspace_id] = [await createScimGroupId(call, server), await createWorkspaceId(call)]
  return { scim_group_id, workspace_id, role: 'member' }
}

async function createMappingPath(call: TenantCall, server: TestServer): Promise<string> {
  const created = await call('POST', '/scim/group-mappings', { body: await buildMappingBody(call, server) })
  return `/scim/group-mappings/${created.body.data.id}`
}

/** Creates an override with the operator's key, because only the operator may do this. */
async function createOverride(server: TestServer, rest: string, body: unknown): Promise<Sample> {
  const path = `/catalogue/${rest}`
  await server.call('PUT', path, { body })
  return { path }
}

const catalogProvider = { name: 'Sample', base_url: 'http://127.0.0.1:9/v1', dialects: ['chat'] }
const catalogModel = { name: 'Sample', endpoints: [{ provider: 'sandbox', upstream_model: 'echo' }] }
const catalogEndpoint = { pricing: { prompt: '0.000001', completion: '0.000002' } }

const fixedSample =
  (path: string, body?: unknown): SampleFactory =>
  async () => ({ path, body })

const passthroughSample =
  (body?: unknown): SampleFactory =>
  async (_tenant, _call, server) => {
    allowPassthrough(server)
    return { path: '/passthrough/accepting/things', body }
  }

async function createAliasPath(call: TenantCall): Promise<string> {
  const body = { name: uniqueName('alias'), models: ['sandbox/echo'] }
  return `/model-aliases/${(await call('POST', '/model-aliases', { body })).body.data.id}`
}

async function createRoutingRulePath({ workspace }: Tenant, call: TenantCall): Promise<string> {
  const body = { name: uniqueName('rule'), workspace_id: workspace.id, ...rejectingRule }
  return `/routing-rules/${(await call('POST', '/routing-rules', { body })).body.data.id}`
}

const sampleShadow = { name: 'Shadow', share: 0.1, daily_usd: 1 }

/** With the operator's key: what mirrors cost is the operator's. */
async function createShadowPath(server: TestServer, rest = ''): Promise<string> {
  const created = await server.call('POST', '/shadows', { body: sampleShadow })
  return `/shadows/${created.body.data.id}${rest}`
}

const shadowSample =
  (rest: string, body?: unknown): SampleFactory =>
  async (_tenant, _call, server) => ({ path: await createShadowPath(server, rest), body })

async function createSavedViewPath(call: TenantCall): Promise<string> {
  return `/saved-views/${(await call('POST', '/saved-views', { body: sampleView })).body.data.id}`
}

async function createComparisonPath(call: TenantCall): Promise<string> {
  return `/comparisons/${(await call('POST', '/comparisons', { body: sampleComparison })).body.data.id}`
}

async function createVotePath(call: TenantCall): Promise<string> {
  const path = `${await createComparisonPath(call)}/votes/0`
  await call('PUT', path, { body: { model: 0 } })
  return path
}

const sampleComparison = {
  name: 'Greetings',
  models: ['sandbox/echo', 'sandbox/lorem'],
  prompts: ['Say hello.', 'Say goodbye.'],
  parameters: { temperature: 0 },
  replies: [
    { prompt: 0, model: 0, text: 'Hello.' },
    { prompt: 0, model: 1, text: '', error: 'The provider is overloaded.' },
    { prompt: 1, model: 0, text: 'Goodbye.' },
  ],
  visibility: 'organization',
}

const sampleView = {
  screen: 'requests',
  name: 'Failures',
  search: { status: 'failed' },
  visibility: 'organization',
}

const sampleManagedRecord = {
  kind: 'Guardrail',
  id: 'sample',
  name: 'default/sample',
  set: 'platform',
  fields: ['limit_usd'],
  secrets: {},
}

const rejectingRule = { when: 'model == "sample/nothing"', then: { reject: { message: 'Not this one.' } } }

async function createBudget(call: TenantCall): Promise<Sample> {
  const id = await createWorkspaceId(call)
  await call('PUT', `/workspaces/${id}/budgets/weekly`, { body: { limit_usd: 10 } })
  return { path: `/workspaces/${id}/budgets/weekly`, owned: true }
}

const ownedSample = async (path: string, body?: unknown): Promise<Sample> => ({ path, body, owned: true })

/** A response that is made in the background. */
async function createBackgroundResponse(tenant: Tenant, call: TenantCall): Promise<string> {
  const body = { model: 'sandbox/echo:free', input: 'Hello', background: true }
  return (await call('POST', '/responses', { key: tenant.inferenceKey, body })).body.id
}

/** A response that is stored; organizations without credits can use the free model. */
async function createStoredResponse(tenant: Tenant, call: TenantCall): Promise<string> {
  const body = { model: 'sandbox/echo:free', input: 'Hello' }
  return (await call('POST', '/responses', { key: tenant.inferenceKey, body })).body.id
}

async function createConversationPath(tenant: Tenant, call: TenantCall): Promise<string> {
  const body = { items: [{ role: 'user', content: 'Hello' }] }
  const created = await call('POST', '/conversations', { key: tenant.inferenceKey, body })
  return `/conversations/${created.body.id}`
}

async function createConversationItemPath(tenant: Tenant, call: TenantCall): Promise<string> {
  const items = `${await createConversationPath(tenant, call)}/items`
  const { data } = (await call('GET', items, { key: tenant.inferenceKey })).body
  return `${items}/${data[0].id}`
}

/** Samples by operation id. The generic tests fail when an operation has none here. */
export const samples: Record<string, SampleFactory> = {
  quoteRequest: fixedSample('/quote', {
    model: 'sandbox/echo',
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  createSpeech: fixedSample('/audio/speech', { model: 'sandbox/speaker', input: 'Hello' }),
  createChatCompletion: fixedSample('/chat/completions', {
    model: 'sandbox/echo',
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  createCompletion: fixedSample('/completions', { model: 'sandbox/echo', prompt: 'Hello' }),
  createImages: fixedSample('/images', { model: 'sandbox/painter', prompt: 'Hello' }),
  editImages: async () => ({ path: '/images/edits', body: buildImageEdit() }),
  createTranscription: fixedSample('/audio/transcriptions', {
    model: 'sandbox/listener',
    input_audio: inputAudio(silentWav(1)),
  }),
  createTranslation: fixedSample('/audio/translations', {
    model: 'sandbox/listener',
    input_audio: inputAudio(silentWav(1)),
  }),
  createMessage: fixedSample('/messages', {
    model: 'sandbox/echo',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  countMessageTokens: fixedSample('/messages/count_tokens', {
    model: 'sandbox/echo',
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  createEmbeddings: fixedSample('/embeddings', { model: 'sandbox/embedder', input: 'Hello' }),
  rerankDocuments: fixedSample('/rerank', {
    model: 'sandbox/reranker',
    query: 'Hello',
    documents: ['Hello there', 'Goodbye'],
  }),
  createModeration: fixedSample('/moderations', { model: 'sandbox/moderator', input: 'Hello' }),
  createResponse: fixedSample('/responses', { model: 'sandbox/echo', input: 'Hello' }),
  countResponseTokens: fixedSample('/responses/input_tokens', { model: 'sandbox/echo', input: 'Hello' }),
  compactResponse: fixedSample('/responses/compact', { model: 'sandbox/echo', input: 'Hello' }),
  createConversation: fixedSample('/conversations', { metadata: { topic: 'sample' } }),
  getConversation: async (tenant, call) => ownedSample(await createConversationPath(tenant, call)),
  updateConversation: async (tenant, call) =>
    ownedSample(await createConversationPath(tenant, call), { metadata: { topic: 'other' } }),
  deleteConversation: async (tenant, call) => ownedSample(await createConversationPath(tenant, call)),
  createConversationItems: async (tenant, call) =>
    ownedSample(`${await createConversationPath(tenant, call)}/items`, {
      items: [{ role: 'user', content: 'Hello' }],
    }),
  listConversationItems: async (tenant, call) =>
    ownedSample(`${await createConversationPath(tenant, call)}/items`),
  getConversationItem: async (tenant, call) => ownedSample(await createConversationItemPath(tenant, call)),
  deleteConversationItem: async (tenant, call) => ownedSample(await createConversationItemPath(tenant, call)),
  getResponse: async (tenant, call) => ownedSample(`/responses/${await createStoredResponse(tenant, call)}`),
  cancelResponse: async (tenant, call) =>
    ownedSample(`/responses/${await createBackgroundResponse(tenant, call)}/cancel`),
  deleteResponse: async (tenant, call) =>
    ownedSample(`/responses/${await createStoredResponse(tenant, call)}`),
  listResponseInputItems: async (tenant, call) =>
    ownedSample(`/responses/${await createStoredResponse(tenant, call)}/input_items`),
  generateContent: fixedSample('/v1beta/models/sandbox%2Fecho:generateContent', {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  }),
  generateContentOfAuthor: fixedSample('/v1beta/models/sandbox/echo:generateContent', {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  }),
  generateContentOfPublisher: fixedSample('/v1beta1/publishers/sandbox/models/echo:generateContent', {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  }),
  generateContentOfPublisherAndAuthor: fixedSample(
    '/v1beta1/publishers/google/models/sandbox/echo:generateContent',
    {
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    },
  ),
  getGeminiOperation: async (tenant, call, server) =>
    ownedSample(`/v1beta/operations/${await createVideoId(tenant, call, server)}`),
  getGeminiModelOperation: async (tenant, call, server) =>
    ownedSample(`/v1beta/models/sandbox/filmmaker/operations/${await createVideoId(tenant, call, server)}`),
  listGeminiModels: fixedSample('/v1beta/models'),
  getGeminiModel: fixedSample('/v1beta/models/sandbox%2Fecho'),
  getGeminiModelOfAuthor: fixedSample('/v1beta/models/sandbox/echo'),
  listPublisherModels: fixedSample('/v1beta1/publishers/google/models'),
  getPublisherModel: fixedSample('/v1beta1/publishers/sandbox/models/echo'),

  passThroughGet: passthroughSample(),
  passThroughPost: passthroughSample({ name: 'Thing' }),
  passThroughPut: passthroughSample({ name: 'Thing' }),
  passThroughPatch: passthroughSample({ name: 'Thing' }),
  passThroughDelete: passthroughSample(),

  ollamaChat: fixedSample('/api/chat', {
    model: 'sandbox/echo',
    stream: false,
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  ollamaGenerate: fixedSample('/api/generate', { model: 'sandbox/echo', stream: false, prompt: 'Hello' }),
  ollamaEmbed: fixedSample('/api/embed', { model: 'sandbox/embedder', input: ['Hello', 'Goodbye'] }),
  ollamaEmbeddings: fixedSample('/api/embeddings', { model: 'sandbox/embedder', prompt: 'Hello' }),
  ollamaVersion: fixedSample('/api/version'),
  ollamaTags: fixedSample('/api/tags'),
  ollamaShow: fixedSample('/api/show', { model: 'sandbox/echo' }),

  cohereChat: fixedSample('/v2/chat', {
    model: 'sandbox/echo',
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  cohereEmbed: fixedSample('/v2/embed', {
    model: 'sandbox/embedder',
    input_type: 'search_query',
    embedding_types: ['float'],
    texts: ['Hello'],
  }),
  cohereRerank: fixedSample('/v2/rerank', {
    model: 'sandbox/reranker',
    query: 'Hello',
    documents: ['Hello there', 'Goodbye'],
  }),

  createBatch: fixedSample('/batches', {}),
  listBatches: fixedSample('/batches'),
  getBatch: () => ownedSample('/batches/batch_1'),
  cancelBatch: () => ownedSample('/batches/batch_1/cancel'),
  createMessageBatch: fixedSample('/messages/batches', {}),
  listMessageBatches: fixedSample('/messages/batches'),
  getMessageBatch: () => ownedSample('/messages/batches/msgbatch_1'),
  deleteMessageBatch: () => ownedSample('/messages/batches/msgbatch_1'),
  getMessageBatchResults: () => ownedSample('/messages/batches/msgbatch_1/results'),
  cancelMessageBatch: () => ownedSample('/messages/batches/msgbatch_1/cancel'),
  listGeminiBatches: fixedSample('/v1beta/batches'),
  getGeminiBatch: () => ownedSample('/v1beta/batches/1'),
  deleteGeminiBatch: () => ownedSample('/v1beta/batches/1'),

  listGenerations: fixedSample('/generations?limit=5'),
  countGenerations: fixedSample('/generations/histogram'),
  streamGenerations: fixedSample('/generations/stream?seconds=1'),
  explainGeneration: async (tenant, _, { gateway }) => ({
    path: `/generation/explanation?id=${await insertGeneration(gateway, tenant)}`,
  }),
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

  getCurrentKey: fixedSample('/key'),
  listKeys: fixedSample('/keys'),
  createKey: fixedSample('/keys', { name: 'sample', limit: 5 }),
  importKeys: async () => ({
    path: '/keys/import',
    body: { keys: [{ hash: sha256(uniqueName('imported')), name: 'imported', limit: 5, spend: 1.5 }] },
  }),
  planImport: fixedSample('/imports/plan', importSample('planned')),
  createImport: async () => ({ path: '/imports', body: importSample(uniqueName('created')) }),
  getKey: async (_, call) => ownedSample(`/keys/${await createKeyHash(call)}`),
  updateKey: async (_, call) => ownedSample(`/keys/${await createKeyHash(call)}`, { name: 'renamed' }),
  rotateKey: async (_, call) =>
    ownedSample(`/keys/${await createKeyHash(call)}/rotate`, { overlap_seconds: 60 }),
  deleteKey: async (_, call) => ownedSample(`/keys/${await createKeyHash(call)}`),

  getSession: fixedSample('/session'),
  listSessions: fixedSample('/sessions'),
  deleteSession: async (tenant, _, server) =>
    ownedSample(`/sessions/${await createSessionId(tenant, server)}`),
  deleteOtherSessions: async (tenant, _, server) => {
    await createSessionId(tenant, server)
    return { path: '/sessions' }
  },
  listMemberSessions: async (_, call) =>
    ownedSample(`/organization/members/${await createMemberId(call)}/sessions`),
  deleteMemberSessions: async (_, call, server) => {
    const id = await createMemberId(call)
    await createSessionHeaders(server, { id })
    return ownedSample(`/organization/members/${id}/sessions`)
  },

  listManagementKeys: fixedSample('/management-keys'),
  createManagementKey: fixedSample('/management-keys', { name: 'sample', permissions: ['keys:read'] }),
  getManagementKey: async (_, call) => ownedSample(await createManagementKeyPath(call)),
  updateManagementKey: async (_, call) =>
    ownedSample(await createManagementKeyPath(call), { name: 'renamed' }),
  deleteManagementKey: async (_, call) => ownedSample(await createManagementKeyPath(call)),
  listRoles: fixedSample('/roles'),
  createRole: async () => ({
    path: '/roles',
    body: { name: uniqueName('role'), permissions: ['models:read'], own_permissions: ['keys:read'] },
  }),
  getRole: async (_, call) => ownedSample(await createRolePath(call)),
  updateRole: async (_, call) => ownedSample(await createRolePath(call), { description: 'new' }),
  deleteRole: async (_, call) => ownedSample(await createRolePath(call)),
  listMemberRoles: async (_, call) =>
    ownedSample(`/organization/members/${await createMemberId(call)}/roles`),
  assignMemberRole: async (tenant, call) =>
    ownedSample(`/organization/members/${await createMemberId(call)}/roles`, buildAssignment(tenant)),
  removeMemberRole: async (tenant, call) => {
    const path = `/organization/members/${await createMemberId(call)}/roles`
    const { id } = (await call('POST', path, { body: buildAssignment(tenant) })).body.data
    return ownedSample(`${path}/${id}`)
  },
  createInvitation: async () => ({
    path: '/organization/invitations',
    body: { email: `${uniqueName('guest')}@example.com` },
  }),
  listInvitations: fixedSample('/organization/invitations'),
  deleteInvitation: async (_, call) => {
    const body = { email: `${uniqueName('guest')}@example.com` }
    const { data } = (await call('POST', '/organization/invitations', { body })).body
    return ownedSample(`/organization/invitations/${data.id}`)
  },
  getAccount: fixedSample('/account'),
  setAccountPassword: fixedSample('/account/password', { password: 'seven blue herons' }),
  deleteAccountPassword: async ({ owner }, _, { gateway }) => {
    await storePassword(gateway.db, gateway.clock, owner.id, 'not a hash')
    return { path: '/account/password' }
  },
  createAccountTotp: async ({ owner }, _, { gateway }) => {
    await deleteTotp(gateway.db, owner.id)
    return { path: '/account/totp' }
  },
  confirmAccountTotp: async ({ owner }, _, { gateway }) => {
    await deleteTotp(gateway.db, owner.id)
    const secret = decodeBase32(await createTotp(gateway.db, gateway, owner.id))
    const code = computeTotp(secret, totpStepAt(gateway.clock.now()))
    return { path: '/account/totp/confirm', body: { code } }
  },
  deleteAccountTotp: async ({ owner }, _, { gateway }) => {
    await deleteTotp(gateway.db, owner.id)
    await createTotp(gateway.db, gateway, owner.id)
    return { path: '/account/totp' }
  },
  createAccountRecoveryCodes: async ({ owner }, _, { gateway }) => {
    await deleteTotp(gateway.db, owner.id)
    await createTotp(gateway.db, gateway, owner.id)
    await confirmTotp(gateway.db, gateway.clock, owner.id)
    return { path: '/account/recovery-codes' }
  },
  listAccountPasskeys: fixedSample('/account/passkeys'),
  createAccountPasskeyOptions: fixedSample('/account/passkeys/options'),
  createAccountPasskey: async (tenant, call, server) => ({
    path: '/account/passkeys',
    body: await buildPasskeyBody(tenant, call, server),
  }),
  deleteAccountPasskey: async (tenant, call, server) => {
    const [body, headers] = [
      await buildPasskeyBody(tenant, call, server),
      await createSessionHeaders(server, tenant.owner),
    ]
    const { data } = (await call('POST', '/account/passkeys', { key: null, headers, body })).body
    return ownedSample(`/account/passkeys/${data.id}`)
  },
  createAuthCode: fixedSample('/auth/keys/code', { callback_url: 'https://app.example.com/callback' }),
  exchangeAuthCode: async (_, call) => {
    const created = await call('POST', '/auth/keys/code', {
      body: { callback_url: 'https://app.example.com/' },
    })
    return { path: '/auth/keys', body: { code: created.body.data.id } }
  },

  getCredits: fixedSample('/credits'),
  grantCredits: fixedSample('/credits/grants', { amount: 1 }),

  getActivity: fixedSample('/activity'),
  getTaskClassification: fixedSample('/classifications/task'),
  getAppRankings: fixedSample('/datasets/app-rankings'),
  getDailyRankings: fixedSample('/datasets/rankings-daily'),
  getSessionCost: fixedSample('/datasets/session-cost'),
  getAnalyticsMeta: fixedSample('/analytics/meta'),
  queryAnalytics: fixedSample('/analytics/query', { metrics: ['request_count'], dimensions: ['model'] }),

  getBenchmarks: fixedSample('/benchmarks'),

  listOrganizationMembers: fixedSample('/organization/members'),
  createOrganizationMember: async () => ({
    path: '/organization/members',
    body: { email: `${uniqueName('new')}@example.com` },
  }),
  getOrganizationMember: async (_, call) =>
    ownedSample(`/organization/members/${await createMemberId(call)}`),
  updateOrganizationMember: async (_, call) =>
    ownedSample(`/organization/members/${await createMemberId(call)}`, { role: 'org:admin' }),
  deleteOrganizationMember: async (_, call) =>
    ownedSample(`/organization/members/${await createMemberId(call)}`),

  listWorkspaces: fixedSample('/workspaces'),
  createWorkspace: async () => ({ path: '/workspaces', body: { name: 'New', slug: uniqueName('new') } }),
  getWorkspace: async (_, call) => ownedSample(`/workspaces/${await createWorkspaceId(call)}`),
  updateWorkspace: async (_, call) =>
    ownedSample(`/workspaces/${await createWorkspaceId(call)}`, { name: 'Renamed' }),
  deleteWorkspace: async (_, call) => ownedSample(`/workspaces/${await createWorkspaceId(call)}`),
  listWorkspaceMembers: async (tenant) => ownedSample(`/workspaces/${tenant.workspace.id}/members`),
  addWorkspaceMembers: async (tenant, call) =>
    ownedSample(`/workspaces/${await createWorkspaceId(call)}/members/add`, { user_ids: [tenant.owner.id] }),
  removeWorkspaceMembers: async (_, call) => {
    const [workspace, user] = [await createWorkspaceId(call), await createMemberId(call)]
    await call('POST', `/workspaces/${workspace}/members/add`, { body: { user_ids: [user] } })
    return ownedSample(`/workspaces/${workspace}/members/remove`, { user_ids: [user] })
  },
  listWorkspaceBudgets: async (_, call) =>
    ownedSample(`/workspaces/${await createWorkspaceId(call)}/budgets`),
  getWorkspaceBudget: async (_, call) => createBudget(call),
  putWorkspaceBudget: async (_, call) => ({ ...(await createBudget(call)), body: { limit_usd: 20.5 } }),
  deleteWorkspaceBudget: async (_, call) => createBudget(call),

  listGuardrails: fixedSample('/guardrails'),
  createGuardrail: async () => ({ path: '/guardrails', body: { name: uniqueName('guardrail') } }),
  getGuardrail: async (_, call) => ownedSample(`/guardrails/${await createGuardrailId(call)}`),
  updateGuardrail: async (_, call) =>
    ownedSample(`/guardrails/${await createGuardrailId(call)}`, { description: 'new' }),
  deleteGuardrail: async (_, call) => ownedSample(`/guardrails/${await createGuardrailId(call)}`),
  listGuardrailKeyAssignments: fixedSample('/guardrails/assignments/keys'),
  listGuardrailMemberAssignments: fixedSample('/guardrails/assignments/members'),
  listGuardrailKeys: async (_, call) => ownedSample(await createGuardrailPath(call, 'keys')),
  assignGuardrailKeys: async (_, call) =>
    ownedSample(await createGuardrailPath(call, 'keys'), { key_hashes: [await createKeyHash(call)] }),
  unassignGuardrailKeys: async (_, call) =>
    createAssignment(call, 'keys', { key_hashes: [await createKeyHash(call)] }),
  listGuardrailMembers: async (_, call) => ownedSample(await createGuardrailPath(call, 'members')),
  assignGuardrailMembers: async (tenant, call) =>
    ownedSample(await createGuardrailPath(call, 'members'), { member_user_ids: [tenant.owner.id] }),
  unassignGuardrailMembers: async (tenant, call) =>
    createAssignment(call, 'members', { member_user_ids: [tenant.owner.id] }),
  listBuiltinFilters: fixedSample('/guardrails/filters'),
  listGuardrailHits: fixedSample('/guardrails/hits'),
  summarizeGuardrailHits: fixedSample('/guardrails/hits/summary'),
  listAllowedPhrases: fixedSample('/guardrails/allowed-phrases'),
  createAllowedPhrase: async () => ({
    path: '/guardrails/allowed-phrases',
    body: { phrase: uniqueName('ignore previous instructions') },
  }),
  deleteAllowedPhrase: async (_, call) => {
    const body = { phrase: uniqueName('ignore all instructions') }
    const { id } = (await call('POST', '/guardrails/allowed-phrases', { body })).body.data
    return ownedSample(`/guardrails/allowed-phrases/${id}`)
  },
  previewGuardrail: fixedSample('/guardrails/preview', {
    guardrail: { content_filter_builtins: [{ slug: 'email', action: 'redact' }] },
    request: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Write to ada@example.com' }] },
  }),
  previewGuardrailHistory: async (tenant, _, { gateway }) => {
    await insertContent(gateway, tenant, await insertGeneration(gateway, tenant))
    const guardrail = { content_filter_builtins: [{ slug: 'email', action: 'redact' }] }
    return { path: '/guardrails/preview/history', body: { guardrail } }
  },
  previewGuardrailRequests: fixedSample('/guardrails/preview/requests', {
    guardrail: { allowed_models: ['sandbox/echo'] },
    max_requests: 10,
  }),
  getPrivacySettings: fixedSample('/organization/privacy'),
  updatePrivacySettings: fixedSample('/organization/privacy', { enable_free_model_training: null }),
  getDefaultPlugins: fixedSample('/organization/plugins'),
  replaceDefaultPlugins: fixedSample('/organization/plugins', { plugins: [{ id: 'response-healing' }] }),
  listCreditEntries: fixedSample('/credits/entries'),
  checkLedger: fixedSample('/ledger/check'),
  getSystem: fixedSample('/system'),
  listEndpointHealth: fixedSample('/endpoints/health'),
  listBudgetNodes: fixedSample('/budgets'),
  listNearBudgets: fixedSample('/budgets/nearest'),
  searchObjects: fixedSample('/search?q=key'),
  getKeyPolicy: async (_, call) => ownedSample(`/keys/${await createKeyHash(call)}/policy`),

  listObservabilityDestinations: fixedSample('/observability/destinations'),
  createObservabilityDestination: async (_, call) => ({
    path: '/observability/destinations',
    body: await buildDestinationBody(call),
  }),
  getObservabilityDestination: async (_, call) => ownedSample(await createDestinationPath(call)),
  updateObservabilityDestination: async (_, call) =>
    ownedSample(await createDestinationPath(call), { enabled: false }),
  deleteObservabilityDestination: async (_, call) => ownedSample(await createDestinationPath(call)),
  testObservabilityDestination: async (_, call) => ownedSample(await createDestinationPath(call, '/test')),
  getObservabilityDeliveryStatus: async (_, call) =>
    ownedSample(await createDestinationPath(call, '/status')),
  pauseObservabilityDelivery: async (_, call) => ownedSample(await createDestinationPath(call, '/pause')),
  resumeObservabilityDelivery: async (_, call) => ownedSample(await createDestinationPath(call, '/resume')),
  redeliverObservabilityEvents: async (_, call) =>
    ownedSample(await createDestinationPath(call, '/redeliver'), { event_ids: ['gen-1'] }),
  listObservabilityDeliveryFailures: async (_, call) =>
    ownedSample(await createDestinationPath(call, '/failures')),

  listAuditEntries: fixedSample('/audit'),
  exportAuditEntries: fixedSample('/audit/export?format=csv'),
  listAuditDestinations: fixedSample('/audit/destinations'),
  createAuditDestination: fixedSample('/audit/destinations', auditDestinationBody),
  getAuditDestination: async (_, call) => ownedSample(await createAuditDestinationPath(call)),
  updateAuditDestination: async (_, call) =>
    ownedSample(await createAuditDestinationPath(call), { enabled: false }),
  deleteAuditDestination: async (_, call) => ownedSample(await createAuditDestinationPath(call)),
  testAuditDestination: async (_, call) => ownedSample(`${await createAuditDestinationPath(call)}/test`),
  listNotifications: fixedSample('/notifications'),
  updateNotification: async (tenant, _, server) =>
    ownedSample(await createNotificationPath(tenant, server), { read: true }),
  readAllNotifications: fixedSample('/notifications/read'),
  listEndUsers: fixedSample('/end-users'),
  getEndUser: async (_, call) => {
    const path = `/end-users/${newUuid()}`
    await call('PATCH', path, { body: { blocked: true } })
    return ownedSample(path)
  },
  updateEndUser: fixedSample('/end-users/sample-user', { blocked: true }),
  eraseEndUserData: fixedSample('/end-users/sample-user/data'),
  listErasures: fixedSample('/end-user-erasures'),
  getErasure: async (_, call) => {
    const erased = await call('DELETE', `/end-users/${newUuid()}/data`)
    return ownedSample(`/end-user-erasures/${erased.body.data.id}`)
  },
  listLimits: fixedSample('/limits'),
  listLimitUsage: fixedSample('/limits/usage'),
  createLimit: async ({ workspace }) => ({ path: '/limits', body: buildLimit(workspace) }),
  getLimit: async ({ workspace }, call) => ownedSample(await createLimitPath(call, workspace)),
  updateLimit: async ({ workspace }, call) =>
    ownedSample(await createLimitPath(call, workspace), { amount: 100_001 }),
  deleteLimit: async ({ workspace }, call) => ownedSample(await createLimitPath(call, workspace)),
  listTiers: fixedSample('/tiers'),
  createTier: async () => ({ path: '/tiers', body: { name: `tier-${newUuid()}` } }),
  updateTier: async (_, call) => ownedSample(await createTierPath(call), { description: 'For batches' }),
  deleteTier: async (_, call) => ownedSample(await createTierPath(call)),

  listNotificationRules: fixedSample('/notifications/rules'),
  createNotificationRule: fixedSample('/notifications/rules', { kind: 'low_balance', threshold: 50 }),
  getNotificationRule: async (_, call) => ownedSample(await createNotificationRulePath(call)),
  updateNotificationRule: async (_, call) =>
    ownedSample(await createNotificationRulePath(call), { enabled: false }),
  deleteNotificationRule: async (_, call) => ownedSample(await createNotificationRulePath(call)),
  testNotificationRule: async (_, call) => ownedSample(await createNotificationRulePath(call, '/test')),

  listByokKeys: fixedSample('/byok?provider=sandbox'),
  createByokKey: fixedSample('/byok', byokBody),
  listByokHealth: fixedSample('/byok/health?provider=sandbox'),
  orderByokKeys: async (_, call) => {
    const provider = 'cerebras'
    const list = async () => (await call('GET', `/byok?provider=${provider}`)).body.data as { id: string }[]
    while ((await list()).length < 2) await call('POST', '/byok', { body: { ...byokBody, provider } })
    const ids = (await list()).map(({ id }) => id).reverse()
    return { path: '/byok/order', body: { provider, ids } }
  },
  testByokDraft: fixedSample('/byok/test', untestableByokBody),
  testByokKey: async (_, call) => ownedSample(`${await createByokPath(call, untestableByokBody)}/test`),
  getByokKey: async (_, call) => ownedSample(await createByokPath(call)),
  updateByokKey: async (_, call) => ownedSample(await createByokPath(call), { disabled: true }),
  deleteByokKey: async (_, call) => ownedSample(await createByokPath(call)),

  listFiles: fixedSample('/files'),
  uploadFile: async () => ({ path: '/files', body: buildUpload() }),
  getFile: async (_, call) => ownedSample(`/files/${await createFileId(call)}`),
  downloadFile: async (_, call) => ownedSample(`/files/${await createFileId(call)}/content`),
  deleteFile: async (_, call) => ownedSample(`/files/${await createFileId(call)}`),
  listContainerFiles: async (tenant, _, server) =>
    ownedSample((await createContainerFilePath(server, tenant)).replace(/\/[^/]*$/, '')),
  getContainerFile: async (tenant, _, server) => ownedSample(await createContainerFilePath(server, tenant)),
  downloadContainerFile: async (tenant, _, server) =>
    ownedSample(`${await createContainerFilePath(server, tenant)}/content`),
  promoteContainerFile: async (tenant, _, server) =>
    ownedSample(`${await createContainerFilePath(server, tenant)}/promote`),
  startGeminiUpload: fixedSample('/upload/v1beta/files', { file: { displayName: 'note.txt' } }),
  sendGeminiUpload: async (_, call) => {
    const { headers } = await call('POST', '/upload/v1beta/files', { body: {} })
    return { path: new URL(headers.get('x-goog-upload-url') ?? '').pathname }
  },
  listGeminiFiles: fixedSample('/v1beta/files'),
  getGeminiFile: async (_, call) => ownedSample(`/v1beta/files/${await createFileId(call)}`),
  deleteGeminiFile: async (_, call) => ownedSample(`/v1beta/files/${await createFileId(call)}`),

  listPresets: fixedSample('/presets'),
  getPreset: async (_, call) => ownedSample(`/presets/${await createPresetSlug(call)}`),
  listPresetVersions: async (_, call) => ownedSample(`/presets/${await createPresetSlug(call)}/versions`),
  getPresetVersion: async (_, call) => ownedSample(`/presets/${await createPresetSlug(call)}/versions/1`),
  createPresetFromChat: async (_, call) =>
    ownedSample(`/presets/${await createPresetSlug(call)}/chat/completions`, presetBody),
  createPresetFromMessages: async (_, call) =>
    ownedSample(`/presets/${await createPresetSlug(call)}/messages`, presetBody),
  createPresetFromResponses: async (_, call) =>
    ownedSample(`/presets/${await createPresetSlug(call)}/responses`, {
      model: 'sandbox/echo',
      input: 'Hello',
    }),
  updatePreset: async (_, call) =>
    ownedSample(`/presets/${await createPresetSlug(call)}`, { status: 'disabled' }),
  deletePreset: async (_, call) => ownedSample(`/presets/${await createPresetSlug(call)}`),

  listScimGroups: fixedSample('/scim/groups'),
  listScimGroupMappings: fixedSample('/scim/group-mappings'),
  createScimGroupMapping: async (_, call, server) => ({
    path: '/scim/group-mappings',
    body: await buildMappingBody(call, server),
  }),
  getScimGroupMapping: async (_, call, server) => ownedSample(await createMappingPath(call, server)),
  updateScimGroupMapping: async (_, call, server) =>
    ownedSample(await createMappingPath(call, server), { role: 'admin' }),
  deleteScimGroupMapping: async (_, call, server) =>
    ownedSample(`${await createMappingPath(call, server)}?keep_members=false`),
  createScimSyncJob: fixedSample('/scim/sync-jobs'),
  getScimSyncJob: async (_, call) =>
    ownedSample(`/scim/sync-jobs/${(await call('POST', '/scim/sync-jobs')).body.data.id}`),
  createScimToken: fixedSample('/scim/tokens', { name: 'Okta' }),
  listScimTokens: fixedSample('/scim/tokens'),
  deleteScimToken: async (_, call) => ownedSample(`/scim/tokens/${await createScimTokenId(call)}`),

  getSsoPolicy: fixedSample('/organization/sso'),
  updateSsoPolicy: fixedSample('/organization/sso', { enforced: false }),
  listSsoConnections: fixedSample('/organization/sso/connections'),
  createSsoConnection: async () => ({ path: '/organization/sso/connections', body: buildSsoConnection() }),
  getSsoConnection: async (_, call) => ownedSample(await createSsoConnectionPath(call)),
  updateSsoConnection: async (_, call) => ownedSample(await createSsoConnectionPath(call), { jit: true }),
  deleteSsoConnection: async (_, call) => ownedSample(await createSsoConnectionPath(call)),
  testSsoConnection: async (_, call) => ownedSample(`${await createSsoConnectionPath(call)}/test`),
  listSsoDomains: fixedSample('/organization/sso/domains'),
  createSsoDomain: async () => ({
    path: '/organization/sso/domains',
    body: { domain: `${uniqueName('sample')}.test` },
  }),
  verifySsoDomain: async (_, call, server) => ownedSample(await createVerifiablePath(call, server)),
  deleteSsoDomain: async (_, call) => ownedSample(await createSsoDomainPath(call)),
  listSsoIdentities: fixedSample('/organization/sso/identities'),
  deleteSsoIdentity: async (tenant, call, server) =>
    ownedSample(await createSsoIdentityPath(tenant, call, server)),
  exchangeToken: async (_, call, server) => {
    const issuer = await startTokenIssuer()
    allowIssuer(server, issuer)
    const policyId = await createWorkloadPolicyId(call, await createWorkloadIssuerId(call, issuer.url))
    const token = await issuer.sign(buildClaims(server, issuer))
    return { path: '/oauth/token', body: new URLSearchParams(buildExchange(policyId, token)) }
  },
  getOAuthJwks: fixedSample('/oauth/jwks'),
  createWorkloadIssuer: async () => ({ path: '/workload-identity/issuers', body: buildWorkloadIssuer() }),
  listWorkloadIssuers: fixedSample('/workload-identity/issuers'),
  getWorkloadIssuer: async (_, call) =>
    ownedSample(`/workload-identity/issuers/${await createWorkloadIssuerId(call)}`),
  updateWorkloadIssuer: async (_, call) =>
    ownedSample(`/workload-identity/issuers/${await createWorkloadIssuerId(call)}`, { name: 'CI' }),
  deleteWorkloadIssuer: async (_, call) =>
    ownedSample(`/workload-identity/issuers/${await createWorkloadIssuerId(call)}`),
  createWorkloadPolicy: async (_, call) => ({
    path: '/workload-identity/policies',
    body: await buildWorkloadPolicy(call),
  }),
  listWorkloadPolicies: fixedSample('/workload-identity/policies'),
  getWorkloadPolicy: async (_, call) =>
    ownedSample(`/workload-identity/policies/${await createWorkloadPolicyId(call)}`),
  updateWorkloadPolicy: async (_, call) =>
    ownedSample(`/workload-identity/policies/${await createWorkloadPolicyId(call)}`, { enabled: false }),
  deleteWorkloadPolicy: async (_, call) =>
    ownedSample(`/workload-identity/policies/${await createWorkloadPolicyId(call)}`),

  listModels: fixedSample('/models'),
  countModels: fixedSample('/models/count'),
  listUserModels: fixedSample('/models/user'),
  getModel: fixedSample('/model/sandbox/echo'),
  retrieveModel: fixedSample('/models/sandbox%2Fecho'),
  retrieveModelOfAuthor: fixedSample('/models/sandbox/echo'),
  listModelEndpoints: fixedSample('/models/sandbox/echo/endpoints'),
  listZdrEndpoints: fixedSample('/endpoints/zdr'),
  listProviders: fixedSample('/providers'),
  listProviderHealth: fixedSample('/providers/health'),
  listModelAliases: fixedSample('/model-aliases'),
  createModelAlias: async () => ({
    path: '/model-aliases',
    body: { name: uniqueName('alias'), targets: [{ model: 'sandbox/echo', weight: 1, tag: 'arm=a' }] },
  }),
  getModelAlias: async (_, call) => ownedSample(await createAliasPath(call)),
  updateModelAlias: async (_, call) =>
    ownedSample(await createAliasPath(call), { models: ['sandbox/reasoner'] }),
  deleteModelAlias: async (_, call) => ownedSample(await createAliasPath(call)),
  listShadows: fixedSample('/shadows'),
  createShadow: fixedSample('/shadows', sampleShadow),
  getShadow: shadowSample(''),
  updateShadow: shadowSample('', { enabled: false }),
  deleteShadow: shadowSample(''),
  getShadowReport: shadowSample('/report'),
  listShadowComparisons: shadowSample('/comparisons'),
  compareShadowExchanges: shadowSample('/exchanges', {
    request: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] },
    error: 'timeout',
  }),
  listRoutingRules: fixedSample('/routing-rules'),
  createRoutingRule: async ({ workspace }) => ({
    path: '/routing-rules',
    body: { name: uniqueName('rule'), workspace_id: workspace.id, ...rejectingRule },
  }),
  dryRunRoutingRules: fixedSample('/routing-rules/dry-run', { rule: rejectingRule, max_requests: 10 }),
  getRoutingRule: async (tenant, call) => ownedSample(await createRoutingRulePath(tenant, call)),
  updateRoutingRule: async (tenant, call) =>
    ownedSample(await createRoutingRulePath(tenant, call), { enabled: false }),
  deleteRoutingRule: async (tenant, call) => ownedSample(await createRoutingRulePath(tenant, call)),
  listComparisons: fixedSample('/comparisons'),
  createComparison: fixedSample('/comparisons', sampleComparison),
  getComparison: async (_, call) => ownedSample(await createComparisonPath(call)),
  updateComparison: async (_, call) => ownedSample(await createComparisonPath(call), { name: 'Farewells' }),
  deleteComparison: async (_, call) => ownedSample(await createComparisonPath(call)),
  setComparisonVote: async (_, call) =>
    ownedSample(`${await createComparisonPath(call)}/votes/0`, { model: 0 }),
  deleteComparisonVote: async (_, call) => ownedSample(await createVotePath(call)),
  listSavedViews: fixedSample('/saved-views'),
  createSavedView: fixedSample('/saved-views', sampleView),
  updateSavedView: async (_, call) => ownedSample(await createSavedViewPath(call), { name: 'All failures' }),
  deleteSavedView: async (_, call) => ownedSample(await createSavedViewPath(call)),
  listManagedRecords: fixedSample('/configuration/records'),
  saveManagedRecord: fixedSample('/configuration/records', sampleManagedRecord),
  deleteManagedRecord: async (_, call) => {
    const id = uniqueName('record')
    await call('PUT', '/configuration/records', { body: { ...sampleManagedRecord, id, name: id } })
    return ownedSample(`/configuration/records?kind=Guardrail&id=${id}`)
  },
  listCatalogueProviders: fixedSample('/catalogue/providers'),
  getCatalogueProvider: fixedSample('/catalogue/providers/sandbox'),
  putCatalogueProvider: async () => ({
    path: `/catalogue/providers/${uniqueName('sample')}`,
    body: catalogProvider,
  }),
  deleteCatalogueProvider: async (_, __, server) =>
    createOverride(server, `providers/${uniqueName('sample')}`, catalogProvider),
  testCatalogueProvider: fixedSample('/catalogue/providers/sandbox/test'),
  inspectCatalogueProvider: fixedSample('/catalogue/providers/sandbox/inspect'),
  refreshCatalogueProviderModels: fixedSample('/catalogue/providers/sandbox/models/refresh'),
  listCatalogueProviderModels: fixedSample('/catalogue/providers/sandbox/models'),
  declareCatalogueProviderModels: async () => ({
    path: '/catalogue/providers/sandbox/models',
    body: { models: [{ upstream_model: 'echo', id: `sample/${uniqueName('declared')}` }] },
  }),
  listCatalogueModelChanges: fixedSample('/catalogue/model-changes'),
  listCatalogueModels: fixedSample('/catalogue/models'),
  getCatalogueModel: fixedSample('/catalogue/models/sandbox/echo'),
  putCatalogueModel: async () => ({
    path: `/catalogue/models/sample/${uniqueName('new')}`,
    body: catalogModel,
  }),
  deleteCatalogueModel: async (_, __, server) =>
    createOverride(server, `models/sample/${uniqueName('old')}`, catalogModel),
  putCatalogueEndpoint: fixedSample('/catalogue/models/sandbox/echo/endpoints/sandbox', catalogEndpoint),
  deleteCatalogueEndpoint: async (_, __, server) =>
    createOverride(server, 'models/sandbox/echo/endpoints/sandbox', catalogEndpoint),
  listImageModels: fixedSample('/images/models'),
  listImageEndpoints: fixedSample('/images/models/sandbox/painter/endpoints'),
  listEmbeddingModels: fixedSample('/embeddings/models'),
  listVideoModels: fixedSample('/videos/models'),
  createVideo: fixedSample('/videos', { model: 'sandbox/filmmaker', prompt: 'A fox' }),
  listVideos: fixedSample('/videos'),
  getVideo: async (tenant, call, server) =>
    ownedSample(`/videos/${await createVideoId(tenant, call, server)}`),
  getVideoContent: async (tenant, call, server) =>
    ownedSample(`/videos/${await createVideoId(tenant, call, server)}/content`),
  deleteVideo: async (tenant, call, server) =>
    ownedSample(`/videos/${await createVideoId(tenant, call, server)}`),
}

export async function makeSample(server: TestServer, operationId: string, tenant: Tenant): Promise<Sample> {
  const make = samples[operationId]
  if (!make) throw new Error(`test/support/samples.ts has no sample for ${operationId}`)
  const call: TenantCall = (method, path, options = {}) =>
    server.call(method, path, { key: tenant.managementKey, ...options })
  return make(tenant, call, server)
}

/** A key of the tenant in a state that must be rejected. */
export async function createRefusedKeys(server: TestServer): Promise<Record<string, string>> {
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

function importSample(name: string) {
  return { files: [{ name: 'keys.jsonl', content: JSON.stringify({ hash: sha256(name), name }) }] }
}
