import type { Operation, RawRoute } from '../http/operation.ts'
import type { RouteGroup } from '../http/routes.ts'
import addresses from './addresses.json' with { type: 'json' }

type Areas<Route> = Record<string, () => Promise<readonly Route[]>>

/**
 * All operations of the API. An area is a folder here and one line in this list. It is loaded with the first request
 * to one of its addresses, which `npm run openapi` writes to addresses.json: schemas take time and memory.
 */
const operationAreas: Areas<Operation> = {
  chat: async () => (await import('./chat/operations.ts')).chatOperations,
  completions: async () => (await import('./completions/operations.ts')).completionOperations,
  messages: async () => (await import('./messages/operations.ts')).messageOperations,
  responses: async () => (await import('./responses/operations.ts')).responseOperations,
  conversations: async () => (await import('./conversations/operations.ts')).conversationOperations,
  gemini: async () => (await import('./gemini/operations.ts')).geminiOperations,
  ollama: async () => (await import('./ollama/operations.ts')).ollamaOperations,
  cohere: async () => (await import('./cohere/operations.ts')).cohereOperations,
  batches: async () => (await import('./batches/operations.ts')).batchOperations,
  quote: async () => (await import('./quote/operations.ts')).quoteOperations,
  generations: async () => (await import('./generations/operations.ts')).generationOperations,
  keys: async () => (await import('./keys/operations.ts')).keyOperations,
  'management-keys': async () => (await import('./management-keys/operations.ts')).managementKeyOperations,
  oauth: async () => (await import('./oauth/operations.ts')).oauthOperations,
  'workload-identity': async () =>
    (await import('./workload-identity/operations.ts')).workloadIdentityOperations,
  credits: async () => (await import('./credits/operations.ts')).creditOperations,
  ledger: async () => (await import('./ledger/operations.ts')).ledgerOperations,
  system: async () => (await import('./system/operations.ts')).systemOperations,
  analytics: async () => (await import('./analytics/operations.ts')).analyticsOperations,
  datasets: async () => (await import('./datasets/operations.ts')).datasetOperations,
  organization: async () => (await import('./organization/operations.ts')).organizationOperations,
  invitations: async () => (await import('./invitations/operations.ts')).invitationOperations,
  search: async () => (await import('./search/operations.ts')).searchOperations,
  sessions: async () => (await import('./sessions/operations.ts')).sessionOperations,
  roles: async () => (await import('./roles/operations.ts')).roleOperations,
  account: async () => (await import('./account/operations.ts')).accountOperations,
  workspaces: async () => (await import('./workspaces/operations.ts')).workspaceOperations,
  budgets: async () => (await import('./budgets/operations.ts')).budgetTreeOperations,
  guardrails: async () => (await import('./guardrails/operations.ts')).guardrailOperations,
  observability: async () => (await import('./observability/operations.ts')).observabilityOperations,
  notifications: async () => (await import('./notifications/operations.ts')).notificationOperations,
  notificationRules: async () =>
    (await import('./notifications/rule-operations.ts')).notificationRuleOperations,
  byok: async () => (await import('./byok/operations.ts')).byokOperations,
  scim: async () => (await import('./scim/operations.ts')).scimOperations,
  sso: async () => (await import('./sso/operations.ts')).ssoOperations,
  audit: async () => (await import('./audit/operations.ts')).auditOperations,
  files: async () => (await import('./files/operations.ts')).fileOperations,
  containers: async () => (await import('./containers/operations.ts')).containerOperations,
  presets: async () => (await import('./presets/operations.ts')).presetOperations,
  models: async () => (await import('./models/operations.ts')).modelOperations,
  endpoints: async () => (await import('./endpoints/operations.ts')).endpointOperations,
  providers: async () => (await import('./providers/operations.ts')).providerOperations,
  benchmarks: async () => (await import('./benchmarks/operations.ts')).benchmarkOperations,
  catalogue: async () => (await import('./catalogue/operations.ts')).catalogueOperations,
  images: async () => (await import('./images/operations.ts')).imageOperations,
  embeddings: async () => (await import('./embeddings/operations.ts')).embeddingOperations,
  rerank: async () => (await import('./rerank/operations.ts')).rerankOperations,
  speech: async () => (await import('./speech/operations.ts')).speechOperations,
  transcriptions: async () => (await import('./transcriptions/operations.ts')).transcriptionOperations,
  moderations: async () => (await import('./moderations/operations.ts')).moderationOperations,
  video: async () => (await import('./video/operations.ts')).videoOperations,
}

const pageAreas: Areas<RawRoute> = {
  link: async () => (await import('./sign-in/link.ts')).linkPages,
  ssoSignIn: async () => (await import('./sso/sign-in.ts')).ssoSignInPages,
  backchannel: async () => (await import('./sso/backchannel-logout.ts')).backchannelPages,
  password: async () => (await import('./sign-in/password.ts')).passwordPages,
  code: async () => (await import('./sign-in/code.ts')).codePages,
  passkey: async () => (await import('./sign-in/passkey.ts')).passkeyPages,
  invitation: async () => (await import('./invitations/pages.ts')).invitationPages,
  consent: async () => (await import('./oauth/consent.ts')).consentPages,
  scimServer: async () => (await import('./scim/pages.ts')).scimServerPages,
}

export const operationGroups = groupRoutes(operationAreas, addresses.operations)

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

/** For what describes or tests the whole API. */
export async function loadOperations(): Promise<Operation[]> {
  const loaded = await Promise.all(operationGroups.map(({ load }) => load()))
  return loaded.flat()
}
