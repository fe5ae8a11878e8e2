interface RecordKind {
  /** The field of a record, and the parameter of its path, by which it is known. Null: there is one for an organization. */
  id: string | null
  /** Operations that return such records as `data`. */
  returnedBy: readonly string[]
  /** The operation that deletes one. */
  deletedBy?: string
}

/** The records that configuration files can declare. */
export const recordKinds = {
  Workspace: {
    id: 'id',
    returnedBy: ['listWorkspaces', 'createWorkspace', 'getWorkspace', 'updateWorkspace'],
    deletedBy: 'deleteWorkspace',
  },
  Role: {
    id: 'id',
    returnedBy: ['listRoles', 'createRole', 'getRole', 'updateRole'],
    deletedBy: 'deleteRole',
  },
  Member: {
    id: 'id',
    returnedBy: [
      'listOrganizationMembers',
      'createOrganizationMember',
      'getOrganizationMember',
      'updateOrganizationMember',
    ],
    deletedBy: 'deleteOrganizationMember',
  },
  Invitation: {
    id: 'id',
    returnedBy: ['listInvitations', 'createInvitation'],
    deletedBy: 'deleteInvitation',
  },
  Tier: { id: 'name', returnedBy: ['listTiers', 'createTier', 'updateTier'], deletedBy: 'deleteTier' },
  Provider: {
    id: 'slug',
    returnedBy: ['listCatalogueProviders', 'getCatalogueProvider', 'putCatalogueProvider'],
    deletedBy: 'deleteCatalogueProvider',
  },
  Model: {
    id: 'id',
    returnedBy: ['listCatalogueModels', 'getCatalogueModel', 'putCatalogueModel'],
    deletedBy: 'deleteCatalogueModel',
  },
  Key: {
    id: 'hash',
    returnedBy: ['listKeys', 'createKey', 'getKey', 'updateKey', 'rotateKey'],
    deletedBy: 'deleteKey',
  },
  ManagementKey: {
    id: 'hash',
    returnedBy: ['listManagementKeys', 'createManagementKey', 'getManagementKey', 'updateManagementKey'],
    deletedBy: 'deleteManagementKey',
  },
  /** The guardrail of the organization or of a workspace, which exists without being created. */
  DefaultGuardrail: {
    id: 'id',
    returnedBy: ['getGuardrail', 'updateGuardrail'],
    deletedBy: 'deleteGuardrail',
  },
  Guardrail: {
    id: 'id',
    returnedBy: ['listGuardrails', 'createGuardrail', 'getGuardrail', 'updateGuardrail'],
    deletedBy: 'deleteGuardrail',
  },
  AllowedPhrase: {
    id: 'id',
    returnedBy: ['listAllowedPhrases', 'createAllowedPhrase'],
    deletedBy: 'deleteAllowedPhrase',
  },
  PrivacySettings: { id: null, returnedBy: ['getPrivacySettings', 'updatePrivacySettings'] },
  DefaultPlugins: { id: null, returnedBy: ['getDefaultPlugins', 'replaceDefaultPlugins'] },
  Limit: {
    id: 'id',
    returnedBy: ['listLimits', 'createLimit', 'getLimit', 'updateLimit'],
    deletedBy: 'deleteLimit',
  },
  ModelAlias: {
    id: 'id',
    returnedBy: ['listModelAliases', 'createModelAlias', 'getModelAlias', 'updateModelAlias'],
    deletedBy: 'deleteModelAlias',
  },
  Preset: {
    id: 'slug',
    returnedBy: [
      'listPresets',
      'getPreset',
      'createPresetFromChat',
      'createPresetFromMessages',
      'createPresetFromResponses',
      'updatePreset',
    ],
    deletedBy: 'deletePreset',
  },
  RoutingRule: {
    id: 'id',
    returnedBy: ['listRoutingRules', 'createRoutingRule', 'getRoutingRule', 'updateRoutingRule'],
    deletedBy: 'deleteRoutingRule',
  },
  ByokKey: {
    id: 'id',
    returnedBy: ['listByokKeys', 'createByokKey', 'getByokKey', 'updateByokKey', 'orderByokKeys'],
    deletedBy: 'deleteByokKey',
  },
  Destination: {
    id: 'id',
    returnedBy: [
      'listObservabilityDestinations',
      'createObservabilityDestination',
      'getObservabilityDestination',
      'updateObservabilityDestination',
    ],
    deletedBy: 'deleteObservabilityDestination',
  },
  AuditDestination: {
    id: 'id',
    returnedBy: [
      'listAuditDestinations',
      'createAuditDestination',
      'getAuditDestination',
      'updateAuditDestination',
    ],
    deletedBy: 'deleteAuditDestination',
  },
  NotificationRule: {
    id: 'id',
    returnedBy: [
      'listNotificationRules',
      'createNotificationRule',
      'getNotificationRule',
      'updateNotificationRule',
    ],
    deletedBy: 'deleteNotificationRule',
  },
  SsoConnection: {
    id: 'id',
    returnedBy: ['listSsoConnections', 'createSsoConnection', 'getSsoConnection', 'updateSsoConnection'],
    deletedBy: 'deleteSsoConnection',
  },
  SsoDomain: {
    id: 'id',
    returnedBy: ['listSsoDomains', 'createSsoDomain', 'verifySsoDomain'],
    deletedBy: 'deleteSsoDomain',
  },
  SsoPolicy: { id: null, returnedBy: ['getSsoPolicy', 'updateSsoPolicy'] },
  ScimGroupMapping: {
    id: 'id',
    returnedBy: [
      'listScimGroupMappings',
      'createScimGroupMapping',
      'getScimGroupMapping',
      'updateScimGroupMapping',
    ],
    deletedBy: 'deleteScimGroupMapping',
  },
  WorkloadIssuer: {
    id: 'id',
    returnedBy: ['listWorkloadIssuers', 'createWorkloadIssuer', 'getWorkloadIssuer', 'updateWorkloadIssuer'],
    deletedBy: 'deleteWorkloadIssuer',
  },
  WorkloadPolicy: {
    id: 'id',
    returnedBy: ['listWorkloadPolicies', 'createWorkloadPolicy', 'getWorkloadPolicy', 'updateWorkloadPolicy'],
    deletedBy: 'deleteWorkloadPolicy',
  },
  SavedView: {
    id: 'id',
    returnedBy: ['listSavedViews', 'createSavedView', 'updateSavedView'],
    deletedBy: 'deleteSavedView',
  },
  Shadow: {
    id: 'id',
    returnedBy: ['listShadows', 'createShadow', 'getShadow', 'updateShadow'],
    deletedBy: 'deleteShadow',
  },
} as const satisfies Record<string, RecordKind>

export type RecordKindName = keyof typeof recordKinds

export const recordKindNames = Object.keys(recordKinds) as [RecordKindName, ...RecordKindName[]]

/** The id of the only record of its kind. */
export const soleRecordId = 'organization'

export function recordKind(name: RecordKindName): RecordKind {
  return recordKinds[name]
}
