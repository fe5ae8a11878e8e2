import type { SchemaMigration } from '../migrate/steps.ts'
import { foundation } from './001-foundation.ts'
import { policies } from './002-policies.ts'
import { inference } from './003-inference.ts'
import { money } from './004-money.ts'
import { rollups } from './005-rollups.ts'
import { responseCache } from './006-response-cache.ts'
import { catalogue } from './007-catalogue.ts'
import { ownKeyOrigin } from './008-own-key-origin.ts'
import { settlementOrder } from './009-settlement-order.ts'
import { corrections } from './010-corrections.ts'
import { entrySummaries } from './011-entry-summaries.ts'
import { storedResponses } from './012-stored-responses.ts'
import { conversations } from './013-conversations.ts'
import { authCodeKey } from './014-auth-code-key.ts'
import { backgroundResponses } from './015-background-responses.ts'
import { conversationOwners } from './016-conversation-owners.ts'
import { uncompactedEntries } from './016-uncompacted-entries.ts'
import { fileStorage } from './017-file-storage.ts'
import { billedUnits } from './018-billed-units.ts'
import { videoJobs } from './019-video-jobs.ts'
import { outbox } from './020-outbox.ts'
import { contentFilters } from './021-content-filters.ts'
import { guardrailAdmin } from './022-guardrail-admin.ts'
import { containers } from './023-containers.ts'
import { datasets } from './024-datasets.ts'
import { benchmarks } from './025-benchmarks.ts'
import { generationLines } from './026-generation-lines.ts'
import { defaultPlugins } from './027-default-plugins.ts'
import { taskSpending } from './029-task-spending.ts'
import { permissions } from './031-permissions.ts'
import { sessions } from './032-sessions.ts'
import { audit } from './033-audit.ts'
import { signInMethods } from './034-sign-in-methods.ts'
import { oidc } from './035-oidc.ts'
import { workloadIdentity } from './036-workload-identity.ts'
import { notifications } from './037-notifications.ts'
import { auditDelivery } from './039-audit-delivery.ts'
import { requestLog } from './040-request-log.ts'
import { explanations } from './041-explanations.ts'
import { administration } from './042-administration.ts'
import { lastUse } from './043-last-use.ts'
import { keySearch } from './044-key-search.ts'
import { largeInstallations } from './045-large-installations.ts'
import { accountRevision } from './046-account-revision.ts'
import { extendedHolds } from './047-extended-holds.ts'
import { idempotencyKeys } from './051-idempotency-keys.ts'
import { workspaceRecords } from './053-workspace-records.ts'
import { auditAnchors } from './054-audit-anchors.ts'
import { memberLimits } from './055-member-limits.ts'
import { owners } from './056-owners.ts'
import { idempotencyOutcomes } from './058-idempotency-outcomes.ts'
import { endedSessions } from './059-ended-sessions.ts'
import { ledgerLeases } from './060-ledger-leases.ts'
import { nodeSchemas } from './061-node-schemas.ts'
import { monthlyGenerations } from './062-monthly-generations.ts'
import { clickhouseStream } from './064-clickhouse-stream.ts'
import { limits } from './070-limits.ts'
import { contentPacks } from './071-content-packs.ts'
import { generationTags } from './072-generation-tags.ts'
import { tagRules } from './073-tag-rules.ts'
import { modelAliases } from './074-model-aliases.ts'
import { modelLists } from './075-model-lists.ts'
import { blockedEndUsers } from './076-blocked-end-users.ts'
import { aliasTargets } from './077-alias-targets.ts'
import { routingRules } from './078-routing-rules.ts'
import { priorities } from './079-priorities.ts'
import { erasures } from './080-erasures.ts'
import { promptCaching } from './081-prompt-caching.ts'
import { semanticCache } from './082-semantic-cache.ts'
import { settingsLimits } from './083-settings-limits.ts'
import { contentSearch } from './084-content-search.ts'
import { savedViews } from './085-saved-views.ts'
import { openingSpend } from './086-opening-spend.ts'
import { comparisons } from './088-comparisons.ts'
import { requestIds } from './089-request-ids.ts'
import { lineStarts } from './090-line-starts.ts'
import { importedValues } from './091-imported-values.ts'
import { managedRecords } from './092-managed-records.ts'
import { shadows } from './093-shadows.ts'
import { endpointHealth } from './094-endpoint-health.ts'
import { externalChecks } from './095-external-checks.ts'

/** Up to this one, migrations run only while all nodes are stopped; later ones while they serve. */
export const lastOfflineMigration = '059-ended-sessions'

export const migrations: Record<string, SchemaMigration> = {
  '001-foundation': foundation,
  '002-policies': policies,
  '003-inference': inference,
  '004-money': money,
  '005-rollups': rollups,
  '006-response-cache': responseCache,
  '007-catalogue': catalogue,
  '008-own-key-origin': ownKeyOrigin,
  '009-settlement-order': settlementOrder,
  '010-corrections': corrections,
  '011-entry-summaries': entrySummaries,
  '012-stored-responses': storedResponses,
  '013-conversations': conversations,
  '014-auth-code-key': authCodeKey,
  '015-background-responses': backgroundResponses,
  '016-uncompacted-entries': uncompactedEntries,
  '016-conversation-owners': conversationOwners,
  '017-file-storage': fileStorage,
  '018-billed-units': billedUnits,
  '019-video-jobs': videoJobs,
  '020-outbox': outbox,
  '021-content-filters': contentFilters,
  '022-guardrail-admin': guardrailAdmin,
  '023-containers': containers,
  '024-datasets': datasets,
  '025-benchmarks': benchmarks,
  '026-generation-lines': generationLines,
  '027-default-plugins': defaultPlugins,
  '029-task-spending': taskSpending,
  '031-permissions': permissions,
  '032-sessions': sessions,
  '033-audit': audit,
  '034-sign-in-methods': signInMethods,
  '035-oidc': oidc,
  '036-workload-identity': workloadIdentity,
  '037-notifications': notifications,
  '039-audit-delivery': auditDelivery,
  '040-request-log': requestLog,
  '041-explanations': explanations,
  '042-administration': administration,
  '043-last-use': lastUse,
  '044-key-search': keySearch,
  '045-large-installations': largeInstallations,
  '046-account-revision': accountRevision,
  '047-extended-holds': extendedHolds,
  '051-idempotency-keys': idempotencyKeys,
  '053-workspace-records': workspaceRecords,
  '054-audit-anchors': auditAnchors,
  '055-member-limits': memberLimits,
  '056-owners': owners,
  '058-idempotency-outcomes': idempotencyOutcomes,
  '059-ended-sessions': endedSessions,
  '060-ledger-leases': ledgerLeases,
  '061-node-schemas': nodeSchemas,
  '062-monthly-generations': monthlyGenerations,
  '064-clickhouse-stream': clickhouseStream,
  '070-limits': limits,
  '071-content-packs': contentPacks,
  '072-generation-tags': generationTags,
  '073-tag-rules': tagRules,
  '074-model-aliases': modelAliases,
  '075-model-lists': modelLists,
  '076-blocked-end-users': blockedEndUsers,
  '077-alias-targets': aliasTargets,
  '078-routing-rules': routingRules,
  '079-priorities': priorities,
  '080-erasures': erasures,
  '081-prompt-caching': promptCaching,
  '082-semantic-cache': semanticCache,
  '083-settings-limits': settingsLimits,
  '084-content-search': contentSearch,
  '085-saved-views': savedViews,
  '086-opening-spend': openingSpend,
  '088-comparisons': comparisons,
  '089-request-ids': requestIds,
  '090-line-starts': lineStarts,
  '091-imported-values': importedValues,
  '092-managed-records': managedRecords,
  '093-shadows': shadows,
  '094-endpoint-health': endpointHealth,
  '095-external-checks': externalChecks,
}
