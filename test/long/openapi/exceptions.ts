const prompt = 'the model must be known, and what a message may hold depends on its role and its model'
const recording = 'the model must be known, and the recording must be what it claims to be'
const models = 'the models and providers it names must be known'
const keys = 'the keys, members and models it names must be known'
const vendor = 'a vendor requires a key for it'
const amount = 'an amount is at least a nano-dollar where it must be more than 0'
const cursor = 'a page begins after an entry of the list'
const past = 'a time must not be in the past'
const period = 'a period must not end before it begins'
const address = 'addresses must be public'
const roles = 'the roles, workspaces and members it names must be known'
const workload = 'the issuer and the key it names must be known; conditions are CEL'

/**
 * Operations with a rule that JSON Schema cannot express: a request that the document allows may be rejected with
 * 400. All other checks apply to them too.
 */
export const unstated: Record<string, string> = {
  getAppRankings:
    'the period must not end before it begins, nor before 2025; a subcategory must be of the category',
  getDailyRankings: 'the period must not end before it begins, nor before 2025; filters exclude each other',
  createChatCompletion: prompt,
  createCompletion: prompt,
  createMessage: prompt,
  countMessageTokens: prompt,
  createResponse: prompt,
  countResponseTokens: prompt,
  compactResponse: prompt,
  generateContent: prompt,
  generateContentOfAuthor: prompt,
  generateContentOfPublisher: prompt,
  generateContentOfPublisherAndAuthor: prompt,
  ollamaChat: prompt,
  ollamaGenerate: prompt,
  quoteRequest: prompt,
  createSpeech: 'the model must be known, and have the voice and the format',
  createTranscription: recording,
  createTranslation: recording,
  createPresetFromChat: 'reasoning_effort must not contradict reasoning.effort; no key is `__proto__`',
  createPresetFromMessages: 'no key is `__proto__`',
  createPresetFromResponses: 'the body has at least one field of the format',
  updatePreset: 'the version must exist',
  listConversationItems: cursor,
  listResponseInputItems: cursor,
  listModels: cursor,
  listUserModels: cursor,
  listEmbeddingModels: cursor,
  listGeminiModels: cursor,
  listPublisherModels: cursor,
  listGeminiFiles: cursor,
  startGeminiUpload: 'requires the headers of the resumable protocol',
  sendGeminiUpload: 'requires the headers of the resumable protocol',
  listFiles: `${vendor}; ${cursor}; only one of cursor, after and after_id`,
  uploadFile: vendor,
  getFile: vendor,
  deleteFile: vendor,
  downloadFile: vendor,
  createKey: `${past}; ${amount}; a partner's secret has ten different characters`,
  updateKey: `${past}; ${amount}`,
  createAuthCode: `${past}; ${amount}`,
  grantCredits: amount,
  putWorkspaceBudget: `${amount}; a shorter interval has the smaller budget`,
  createGuardrail: `${models}; ${amount}; patterns are RE2`,
  updateGuardrail: `${models}; ${amount}; patterns are RE2`,
  createByokKey: `${keys}; the key has the form of its provider`,
  updateByokKey: `${keys}; the key has the form of its provider`,
  listByokKeys: models,
  createObservabilityDestination: `${keys}; addresses must be public`,
  updateObservabilityDestination: `${keys}; the fields depend on the kind of destination`,
  getActivity: 'the day is one of the last thirty',
  queryAnalytics: 'the length of the time range depends on the granularity and the metrics',
  deleteWorkspace: 'the default workspace is deleted only when that is confirmed',
  removeWorkspaceMembers: 'members cannot leave the default workspace',
  setAccountPassword: 'a password must not be easy to guess',
  confirmAccountTotp: 'the code is that of the authenticator app',
  createAccountPasskey: 'the credential answers a challenge of this server',
  createManagementKey: `${past}; ${roles}`,
  updateManagementKey: `${past}; ${roles}`,
  assignMemberRole: roles,
  createInvitation: `${roles}; addresses are checked beyond their form`,
  createNotificationRule: `the range of a threshold depends on the kind; ${address}; mail needs a mail server`,
  updateNotificationRule: `the range of a threshold depends on the kind; ${address}; mail needs a mail server`,
  listAuditEntries: `${cursor}; ${period}`,
  exportAuditEntries: period,
  createAuditDestination: address,
  updateAuditDestination: `${address}; the fields depend on the kind of destination`,
  updateSsoPolicy: 'single sign-on is enforced with a connection and a break-glass admin only',
  createSsoConnection: `${address}; ${roles}`,
  updateSsoConnection: `${address}; ${roles}; a new issuer needs its secret`,
  createSsoDomain: 'domains are checked beyond their form',
  verifySsoDomain: 'the domain must have the record',
  createWorkloadIssuer: address,
  updateWorkloadIssuer: address,
  createWorkloadPolicy: workload,
  updateWorkloadPolicy: workload,
  exchangeToken: 'the token must be of a known issuer, and fit the policy',
  putCatalogueProvider: 'the required fields depend on whether the provider exists',
  putCatalogueModel: models,
  putCatalogueEndpoint: models,
}
