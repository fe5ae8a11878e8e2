import { markManagedRecords } from '../http/managed-records.ts'
import type { Operation, RawRoute } from '../http/operation.ts'
import type { RouteGroup } from '../http/routes.ts'
import addresses from './addresses.json' with { type: 'json' }

type Areas<Route> = Record<string, () => Promise<readonly Route[]>>

/**
 * All operations of the API. An area is a folder here and one line in this list. It is loaded with the first request
 * to one of its addresses, which `npm run openapi` writes to addresses.json: schemas take time and memory.
 */
const operationAreas: Areas<Operation> = {
  chat: async () => (await import('./inference/chat/operations.ts')).chatOperations,
  completions: async () => (await import('./inference/completions/operations.ts')).completionOperations,
  messages: async () => (await import('./inference/messages/operations.ts')).messageOperations,
  responses: async () => (await import('./inference/responses/operations.ts')).responseOperations,
  conversations: async () => (await import('./inference/conversations/operations.ts')).conversationOperations,
  gemini: async () => (await import('./inference/gemini/operations.ts')).geminiOperations,
  ollama: async () => (await import('./inference/ollama/operations.ts')).ollamaOperations,
  cohere: async () => (await import('./inference/cohere/operations.ts')).cohereOperations,
  passthrough: async () => (await import('./inference/passthrough/operations.ts')).passthroughOperations,
  batches: async () => (await import('./inference/batches/operations.ts')).batchOperations,
  quote: async () => (await import('./inference/quote/operations.ts')).quoteOperations,
  generations: async () => (await import('./analytics/generations/operations.ts')).generationOperations,
  keys: async () => (await import('./identity/keys/operations.ts')).keyOperations,
  imports: async () => (await import('./imports/operations.ts')).importOperations,
  'management-keys': async () =>
    (await import('./identity/management-keys/operations.ts')).managementKeyOperations,
  oauth: async () => (await import('./identity/oauth/operations.ts')).oauthOperations,
  'workload-identity': async () =>
    (await import('./identity/workload-identity/operations.ts')).workloadIdentityOperations,
  credits: async () => (await import('./spending/credits/operations.ts')).creditOperations,
  ledger: async () => (await import('./spending/ledger/operations.ts')).ledgerOperations,
  system: async () => (await import('./system/system/operations.ts')).systemOperations,
  analytics: async () => (await import('./analytics/analytics/operations.ts')).analyticsOperations,
  datasets: async () => (await import('./analytics/datasets/operations.ts')).datasetOperations,
  organization: async () => (await import('./identity/organization/operations.ts')).organizationOperations,
  invitations: async () => (await import('./identity/invitations/operations.ts')).invitationOperations,
  search: async () => (await import('./system/search/operations.ts')).searchOperations,
  sessions: async () => (await import('./identity/sessions/operations.ts')).sessionOperations,
  roles: async () => (await import('./identity/roles/operations.ts')).roleOperations,
  account: async () => (await import('./identity/account/operations.ts')).accountOperations,
  workspaces: async () => (await import('./identity/workspaces/operations.ts')).workspaceOperations,
  budgets: async () => (await import('./spending/budgets/operations.ts')).budgetTreeOperations,
  endUsers: async () => (await import('./spending/end-users/operations.ts')).endUserOperations,
  limits: async () => (await import('./spending/limits/operations.ts')).limitOperations,
  tiers: async () => (await import('./spending/limits/tier-operations.ts')).tierOperations,
  guardrails: async () => (await import('./governance/guardrails/operations.ts')).guardrailOperations,
  observability: async () =>
    (await import('./governance/observability/operations.ts')).observabilityOperations,
  notifications: async () =>
    (await import('./governance/notifications/operations.ts')).notificationOperations,
  notificationRules: async () =>
    (await import('./governance/notifications/rule-operations.ts')).notificationRuleOperations,
  byok: async () => (await import('./catalog/byok/operations.ts')).byokOperations,
  scim: async () => (await import('./identity/scim/operations.ts')).scimOperations,
  sso: async () => (await import('./identity/sso/operations.ts')).ssoOperations,
  audit: async () => (await import('./governance/audit/operations.ts')).auditOperations,
  files: async () => (await import('./media/files/operations.ts')).fileOperations,
  containers: async () => (await import('./media/containers/operations.ts')).containerOperations,
  presets: async () => (await import('./inference/presets/operations.ts')).presetOperations,
  comparisons: async () => (await import('./inference/comparisons/operations.ts')).comparisonOperations,
  models: async () => (await import('./catalog/models/operations.ts')).modelOperations,
  endpoints: async () => (await import('./catalog/endpoints/operations.ts')).endpointOperations,
  providers: async () => (await import('./catalog/providers/operations.ts')).providerOperations,
  benchmarks: async () => (await import('./catalog/benchmarks/operations.ts')).benchmarkOperations,
  catalog: async () => (await import('./catalog/edits/operations.ts')).catalogOperations,
  modelAliases: async () => (await import('./catalog/aliases/operations.ts')).modelAliasOperations,
  routingRules: async () => (await import('./catalog/routing-rules/operations.ts')).routingRuleOperations,
  shadows: async () => (await import('./catalog/shadows/operations.ts')).shadowOperations,
  configuration: async () => (await import('./identity/configuration/operations.ts')).configurationOperations,
  savedViews: async () => (await import('./identity/saved-views/operations.ts')).savedViewOperations,
  images: async () => (await import('./media/images/operations.ts')).imageOperations,
  embeddings: async () => (await import('./media/embeddings/operations.ts')).embeddingOperations,
  rerank: async () => (await import('./media/rerank/operations.ts')).rerankOperations,
  speech: async () => (await import('./media/speech/operations.ts')).speechOperations,
  transcriptions: async () => (await import('./media/transcriptions/operations.ts')).transcriptionOperations,
  moderations: async () => (await import('./media/moderations/operations.ts')).moderationOperations,
  video: async () => (await import('./media/video/operations.ts')).videoOperations,
}

const pageAreas: Areas<RawRoute> = {
  link: async () => (await import('./identity/sign-in/link.ts')).linkPages,
  ssoSignIn: async () => (await import('./identity/sso/sign-in.ts')).ssoSignInPages,
  backchannel: async () => (await import('./identity/sso/backchannel-logout.ts')).backchannelPages,
  password: async () => (await import('./identity/sign-in/password.ts')).passwordPages,
  code: async () => (await import('./identity/sign-in/code.ts')).codePages,
  passkey: async () => (await import('./identity/sign-in/passkey.ts')).passkeyPages,
  invitation: async () => (await import('./identity/invitations/pages.ts')).invitationPages,
  consent: async () => (await import('./identity/oauth/consent.ts')).consentPages,
  scimServer: async () => (await import('./identity/scim/pages.ts')).scimServerPages,
}

export const operationGroups = groupRoutes(operationAreas, addresses.operations).map((group) => ({
  ...group,
  load: async () => (await group.load()).map(markManagedRecords),
}))

export const pageGroups = groupRoutes(pageAreas, addresses.pages)

function groupRoutes<Route>(
  areas: Areas<Route>,
  addressesByArea: Record<string, readonly string[]>,
): RouteGroup<Route>[] {
  return Object.entries(areas).map(([area, load]) => ({
    area,
    addresses: addressesByArea[area] ?? [],
    load,
  }))
}

/** Loads every operation, for code that describes or tests the whole API. */
export async function loadOperations(): Promise<Operation[]> {
  const loaded = await Promise.all(operationGroups.map(({ load }) => load()))
  return loaded.flat()
}
