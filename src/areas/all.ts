import type { Operation, RawRoute } from '../http/operation.ts'
import { accountOperations } from './account/operations.ts'
import { analyticsOperations } from './analytics/operations.ts'
import { auditOperations } from './audit/operations.ts'
import { batchOperations } from './batches/operations.ts'
import { benchmarkOperations } from './benchmarks/operations.ts'
import { budgetTreeOperations } from './budgets/operations.ts'
import { byokOperations } from './byok/operations.ts'
import { catalogueOperations } from './catalogue/operations.ts'
import { chatOperations } from './chat/operations.ts'
import { completionOperations } from './completions/operations.ts'
import { containerOperations } from './containers/operations.ts'
import { conversationOperations } from './conversations/operations.ts'
import { creditOperations } from './credits/operations.ts'
import { datasetOperations } from './datasets/operations.ts'
import { embeddingOperations } from './embeddings/operations.ts'
import { endpointOperations } from './endpoints/operations.ts'
import { fileOperations } from './files/operations.ts'
import { geminiOperations } from './gemini/operations.ts'
import { generationOperations } from './generations/operations.ts'
import { guardrailOperations } from './guardrails/operations.ts'
import { imageOperations } from './images/operations.ts'
import { invitationOperations } from './invitations/operations.ts'
import { invitationPages } from './invitations/pages.ts'
import { keyOperations } from './keys/operations.ts'
import { ledgerOperations } from './ledger/operations.ts'
import { managementKeyOperations } from './management-keys/operations.ts'
import { messageOperations } from './messages/operations.ts'
import { modelOperations } from './models/operations.ts'
import { moderationOperations } from './moderations/operations.ts'
import { notificationOperations } from './notifications/operations.ts'
import { notificationRuleOperations } from './notifications/rule-operations.ts'
import { consentPages } from './oauth/consent.ts'
import { oauthOperations } from './oauth/operations.ts'
import { observabilityOperations } from './observability/operations.ts'
import { ollamaOperations } from './ollama/operations.ts'
import { organizationOperations } from './organization/operations.ts'
import { presetOperations } from './presets/operations.ts'
import { providerOperations } from './providers/operations.ts'
import { quoteOperations } from './quote/operations.ts'
import { rerankOperations } from './rerank/operations.ts'
import { responseOperations } from './responses/operations.ts'
import { roleOperations } from './roles/operations.ts'
import { scimOperations } from './scim/operations.ts'
import { scimServerPages } from './scim/pages.ts'
import { searchOperations } from './search/operations.ts'
import { sessionOperations } from './sessions/operations.ts'
import { codePages } from './sign-in/code.ts'
import { linkPages } from './sign-in/link.ts'
import { passkeyPages } from './sign-in/passkey.ts'
import { passwordPages } from './sign-in/password.ts'
import { speechOperations } from './speech/operations.ts'
import { backchannelPages } from './sso/backchannel-logout.ts'
import { ssoOperations } from './sso/operations.ts'
import { ssoSignInPages } from './sso/sign-in.ts'
import { systemOperations } from './system/operations.ts'
import { transcriptionOperations } from './transcriptions/operations.ts'
import { videoOperations } from './video/operations.ts'
import { workloadIdentityOperations } from './workload-identity/operations.ts'
import { workspaceOperations } from './workspaces/operations.ts'

/** All operations of the API. An area is a folder here and one line in this list. */
export const operations: Operation[] = [
  ...chatOperations,
  ...completionOperations,
  ...messageOperations,
  ...responseOperations,
  ...conversationOperations,
  ...geminiOperations,
  ...ollamaOperations,
  ...batchOperations,
  ...quoteOperations,
  ...generationOperations,
  ...keyOperations,
  ...managementKeyOperations,
  ...oauthOperations,
  ...workloadIdentityOperations,
  ...creditOperations,
  ...ledgerOperations,
  ...systemOperations,
  ...analyticsOperations,
  ...datasetOperations,
  ...organizationOperations,
  ...invitationOperations,
  ...searchOperations,
  ...sessionOperations,
  ...roleOperations,
  ...accountOperations,
  ...workspaceOperations,
  ...budgetTreeOperations,
  ...guardrailOperations,
  ...observabilityOperations,
  ...notificationOperations,
  ...notificationRuleOperations,
  ...byokOperations,
  ...scimOperations,
  ...ssoOperations,
  ...auditOperations,
  ...fileOperations,
  ...containerOperations,
  ...presetOperations,
  ...modelOperations,
  ...endpointOperations,
  ...providerOperations,
  ...benchmarkOperations,
  ...catalogueOperations,
  ...imageOperations,
  ...embeddingOperations,
  ...rerankOperations,
  ...speechOperations,
  ...transcriptionOperations,
  ...moderationOperations,
  ...videoOperations,
]

export const pages: RawRoute[] = [
  ...linkPages,
  ...ssoSignInPages,
  ...backchannelPages,
  ...passwordPages,
  ...codePages,
  ...passkeyPages,
  ...invitationPages,
  ...consentPages,
  ...scimServerPages,
]
