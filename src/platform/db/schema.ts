import type { ColumnType, Generated } from 'kysely'
import type { GenerationTable } from './generation-table.ts'

/**
 * The tables, in the subset that SQLite and PostgreSQL share: times are ISO text, flags are 0 or 1, JSON is
 * text, money is an integer of nano-dollars in a column named `..._nanos`.
 */
export interface Schema {
  instance: InstanceTable
  account_revision: AccountRevisionTable
  organizations: OrganizationTable
  members: MemberTable
  workspaces: WorkspaceTable
  workspace_members: WorkspaceMemberTable
  workspace_budgets: WorkspaceBudgetTable
  api_keys: ApiKeyTable
  meters: MeterTable
  meter_days: MeterDayTable
  ledger_journals: LedgerJournalTable
  lease_recalls: LeaseRecallTable
  nodes: NodeTable
  holds: HoldTable
  ledger_entries: LedgerEntryTable
  opening_spend: OpeningSpendTable
  imported_values: ImportedValueTable
  apps: AppTable
  auth_codes: AuthCodeTable
  signin_links: SignInLinkTable
  sessions: SessionTable
  ended_sessions: EndedSessionTable
  member_passwords: MemberPasswordTable
  member_totp: MemberTotpTable
  recovery_codes: RecoveryCodeTable
  passkeys: PasskeyTable
  used_challenges: UsedChallengeTable
  invitations: InvitationTable
  files: FileTable
  containers: ContainerTable
  allowed_phrases: AllowedPhraseTable
  guardrails: GuardrailTable
  guardrail_hits: GuardrailHitTable
  refused_requests: RefusedRequestTable
  routing_plans: RoutingPlanTable
  guardrail_keys: GuardrailKeyTable
  guardrail_members: GuardrailMemberTable
  presets: PresetTable
  preset_versions: PresetVersionTable
  destinations: DestinationTable
  destination_states: DestinationStateTable
  outbox_events: OutboxEventTable
  outbox_deliveries: OutboxDeliveryTable
  byok_keys: ByokKeyTable
  audit_entries: AuditEntryTable
  audit_chains: AuditChainTable
  audit_anchors: AuditAnchorTable
  member_limits: MemberLimitTable
  blocked_end_users: BlockedEndUserTable
  erasures: ErasureTable
  limit_tiers: LimitTierTable
  limits: LimitTable
  limit_counts: LimitCountTable
  audit_destinations: AuditDestinationTable
  notification_rules: NotificationRuleTable
  notifications: NotificationTable
  notification_deliveries: NotificationDeliveryTable
  failing_endpoints: FailingEndpointTable
  roles: RoleTable
  role_assignments: RoleAssignmentTable
  workload_issuers: WorkloadIssuerTable
  workload_policies: WorkloadPolicyTable
  signing_keys: SigningKeyTable
  scim_tokens: ScimTokenTable
  scim_users: ScimUserTable
  scim_groups: ScimGroupTable
  scim_group_members: ScimGroupMemberTable
  scim_group_mappings: ScimGroupMappingTable
  scim_sync_jobs: ScimSyncJobTable
  sso_connections: SsoConnectionTable
  sso_domains: SsoDomainTable
  sso_mappings: SsoMappingTable
  sso_mapping_members: SsoMappingMemberTable
  sso_policies: SsoPolicyTable
  sso_break_glass: SsoBreakGlassTable
  sso_identities: SsoIdentityTable
  sso_sessions: SsoSessionTable
  sso_used_tokens: SsoUsedTokenTable
  generations: GenerationTable
  corrections: CorrectionTable
  generation_contents: GenerationContentTable
  generation_feedback: GenerationFeedbackTable
  generation_lines: GenerationLineTable
  usage_segments: UsageSegmentTable
  usage_columns: UsageColumnTable
  unrolled_generations: UnrolledGenerationTable
  clickhouse_stream: ClickHouseStreamTable
  clickhouse_queue: ClickHouseQueueTable
  key_days: KeyDayTable
  key_hours: KeyHourTable
  stored_responses: StoredResponseTable
  stored_pages: StoredPageTable
  stored_item_ids: StoredItemIdTable
  conversations: ConversationTable
  conversation_items: ConversationItemTable
  semantic_cache_entries: SemanticCacheEntryTable
  background_responses: BackgroundResponseTable
  video_jobs: VideoJobTable
  catalogue_edits: CatalogEditTable
  model_aliases: ModelAliasTable
  routing_rules: RoutingRuleTable
  shadows: ShadowTable
  shadow_comparisons: ShadowComparisonTable
  shadow_skips: ShadowSkipTable
  saved_views: SavedViewTable
  comparisons: ComparisonTable
  comparison_replies: ComparisonReplyTable
  comparison_votes: ComparisonVoteTable
  managed_records: ManagedRecordTable
  endpoint_health: EndpointHealthTable
  model_lists: ModelListTable
  model_list_changes: ModelListChangeTable
  daily_requests: DailyRequestTable
  idempotency_keys: IdempotencyKeyTable
  benchmark_results: BenchmarkResultTable
  generation_tasks: GenerationTaskTable
  dataset_contributions: DatasetContributionTable
  dataset_days: DatasetDayTable
  dataset_sessions: DatasetSessionTable
  dataset_figures: DatasetFigureTable
  dataset_apps: DatasetAppTable
}

export type Flag = 0 | 1

/** Properties of this installation, one row each. */
export interface InstanceTable {
  name: string
  value: string
}

/** One row. Triggers increase the number with every change of what is cached of accounts: see `watchTable`. */
export interface AccountRevisionTable {
  id: number
  revision: number
}

export interface OrganizationTable {
  id: string
  name: string
  /** The first organization runs the installation: its management keys may call operator operations. */
  is_operator: Flag
  /** Privacy settings may not be weakened: see `governance/privacy-lock.ts`. */
  privacy_locked: Generated<Flag>
  /** JSON: the plugins of requests that do not name them; null if there are none. */
  default_plugins: Generated<string | null>
  created_at: string
}

export type OrganizationRole = 'org:admin' | 'org:member'

export interface MemberTable {
  id: string
  organization_id: string
  email: string
  first_name: string | null
  last_name: string | null
  role: OrganizationRole
  /** 0 while an identity provider has the person deactivated. */
  active: Generated<Flag>
  created_at: string
}

/** The spending limit of all keys of a member together. */
export interface MemberLimitTable {
  user_id: string
  limit_nanos: bigint
  /** Null: it never resets. */
  limit_reset: LimitReset | null
  updated_at: string
}

/** An end user whose requests an organization rejects. */
export interface BlockedEndUserTable {
  organization_id: string
  name: string
  reason: string | null
  created_at: string
}

/** The deletion of what is stored of an end user, and its receipt: see `src/gateway/erasure`. */
export interface ErasureTable {
  id: string
  organization_id: string
  /** SHA-256 of the name that clients send. */
  end_user_hash: string
  /** The encrypted name; null when nothing is left to do. */
  sealed_end_user: string | null
  /** Stands for the name in the records that are kept. */
  pseudonym: string
  /** JSON: the actor. */
  requested_by: string
  requested_at: string
  completed_at: string | null
  /** JSON: how many records of each kind were deleted or changed. */
  counts: string
  /** JSON: where it continues. */
  progress: string
  /** Entries of the response cache that all nodes have deleted. */
  cached_replies: Generated<number>
  /** The time of the next slice; null when nothing is left to do. */
  due_at: string | null
  /** The node that works on it, and until when no other may. */
  lease_owner: string | null
  lease_until: string | null
}

/** A named set of limits that keys refer to. */
export interface LimitTierTable {
  organization_id: string
  name: string
  description: string | null
  /** The tier of new keys that name none; one in an organization. */
  is_default: Flag
  /** 1: headgate.yaml declares it. */
  from_settings: Flag
  created_at: string
  updated_at: string
}

/** A declared limit: see `src/governance/limits/limit-rule.ts`. */
export interface LimitTable {
  id: string
  organization_id: string
  name: string
  measure: string
  /** The window; null for concurrent requests. */
  period: string | null
  /** Nano-dollars, or a count. */
  amount: bigint
  include_byok: Flag
  enabled: Flag
  workspace_id: string | null
  user_id: string | null
  key_id: number | null
  tier: string | null
  end_user: string | null
  /** JSON arrays. */
  tags: string
  models: string
  providers: string
  per: string
  /** 1: headgate.yaml declares it. */
  from_settings: Flag
  created_at: string
  updated_at: string
}

/** What a limit had counted in a window of requests or tokens, for a start that must not forget it. */
export interface LimitCountTable {
  name: string
  limit_id: string
  /** Milliseconds since the epoch. */
  period_start: bigint
  used: bigint
  counted_at: string
}

export interface WorkspaceTable {
  id: string
  organization_id: string
  slug: string
  name: string
  description: string | null
  is_default: Flag
  default_text_model: string | null
  default_image_model: string | null
  default_provider_sort: string | null
  include_byok_in_budgets: Flag
  io_logging_enabled: Flag
  io_logging_sampling_rate: number
  /** JSON array of numeric key ids, or null for all keys. */
  io_logging_api_key_ids: string | null
  data_discount_logging_enabled: Flag
  broadcast_enabled: Flag
  /** JSON array of tool names. */
  disabled_server_tools: string | null
  /** The URL that is notified of the end of a video job, unless the request names another one. */
  video_callback_url: string | null
  sealed_video_secret: string | null
  /** JSON: the rules about the tags of its requests. */
  tag_rules: string | null
  /** 0: no breakpoints for the prompt caches of providers are added to its requests. */
  prompt_caching: Flag
  created_by: string | null
  created_at: string
  updated_at: string | null
  /** Set when deleted: keys and past records still refer to their workspace. */
  deleted_at: string | null
}

export interface WorkspaceMemberTable {
  id: string
  workspace_id: string
  user_id: string
  role: WorkspaceRole
  /** 1 when the member was added manually; otherwise a SCIM mapping grants the row. */
  is_manual: Generated<Flag>
  created_at: string
}

export type WorkspaceRole = 'admin' | 'member'

export type BudgetInterval = 'daily' | 'weekly' | 'monthly' | 'lifetime'

export interface WorkspaceBudgetTable {
  id: string
  workspace_id: string
  interval: BudgetInterval
  limit_nanos: bigint
  created_at: string
  updated_at: string
}

export type KeyKind = 'inference' | 'management'
export type KeyPriority = 'low' | 'normal' | 'high'
export type LimitReset = 'daily' | 'weekly' | 'monthly'

export interface ApiKeyTable {
  id: Generated<number>
  /** The name of the key in the API: SHA-256 of its first secret. */
  hash: string
  organization_id: string
  workspace_id: string
  kind: KeyKind
  name: string
  label: string
  creator_user_id: string | null
  limit_nanos: bigint | null
  limit_reset: LimitReset | null
  include_byok_in_limit: Flag
  disabled: Flag
  /** 1 while the member who created it is deactivated; it is rejected like a disabled one. */
  suspended: Generated<Flag>
  expires_at: string | null
  external_user: string | null
  /** SHA-256 of a secret the partner chose, which authenticates as this key too. */
  external_hash: string | null
  /** SHA-256 of the present secret; null until the key is rotated, when it is `hash`. */
  secret_hash: Generated<string | null>
  /** SHA-256 of the secret before it, and when that one ends. */
  previous_hash: Generated<string | null>
  previous_valid_until: Generated<string | null>
  /**
   * `environment` for the key of HEADGATE_MANAGEMENT_KEY, so that a changed value replaces it; `session` for
   * the requests of a member who is signed in.
   */
  source: 'api' | 'environment' | 'session'
  /** JSON arrays that limit a management key; null: no limit. */
  permissions: Generated<string | null>
  workspace_ids: Generated<string | null>
  /** The name of the tier whose limits apply to it. */
  tier: Generated<string | null>
  /** JSON: the rules about the tags of its requests. */
  tag_rules: string | null
  /** The priority of its requests, and the highest that a request may have: null for the same. */
  priority: Generated<KeyPriority>
  max_priority: Generated<KeyPriority | null>
  created_at: string
  updated_at: string | null
}

/** An action in an organization, and its actor. Append-only; see `src/governance/audit`. */
export interface AuditEntryTable {
  /** The organization, or `installation`. */
  chain_id: string
  seq: number
  id: string
  created_at: string
  action: string
  outcome: 'success' | 'refused'
  actor_type: 'member' | 'key' | 'workload' | 'scim' | 'job' | 'command' | 'anonymous'
  actor_id: string | null
  actor_name: string | null
  ip: string | null
  user_agent: string | null
  request_id: string | null
  workspace_id: string | null
  target_type: string
  target_id: string
  target_name: string | null
  /** JSON: the fields that changed, before and after. */
  changes: string | null
  previous_hash: string
  hash: string
}

/** The last entry of each chain, and the first that has not been deleted. */
export interface AuditChainTable {
  chain_id: string
  seq: number
  hash: string
  signature: string
  first_seq: Generated<number>
  /** The hash of the entry before the first. */
  first_hash: Generated<string>
  /** Empty while no entry has been deleted. */
  first_signature: Generated<string>
}

/** The last head of a chain that the chain of anchors records. */
export interface AuditAnchorTable {
  chain_id: string
  seq: number
}

/** A receiver of the entries of a chain. */
export interface AuditDestinationTable {
  id: string
  organization_id: string
  chain_id: string
  name: string
  type: 'webhook' | 'syslog'
  /** JSON, without the secrets. */
  config: string
  sealed_secrets: string
  /** A JSON array; null: all actions. */
  action_prefixes: string | null
  enabled: Flag
  /** The last entry that was delivered, or that the filters exclude. */
  position: number
  delivered: Generated<number>
  /** Entries that retention deleted before they were delivered. */
  missed: Generated<number>
  failures: Generated<number>
  retry_at: string | null
  last_success_at: string | null
  last_error: string | null
  last_error_at: string | null
  lease_owner: string | null
  lease_until: string | null
  created_at: string
  updated_at: string
}

export type NotificationKind =
  | 'low_balance'
  | 'budget'
  | 'key_expiring'
  | 'destination_failing'
  | 'provider_failing'
  | 'unusual_spend'

/** A condition that an organization is notified of, and the channels; see `src/delivery/notifications`. */
export interface NotificationRuleTable {
  id: string
  organization_id: string
  /** Null: the whole organization. */
  workspace_id: string | null
  kind: NotificationKind
  /** The value that triggers a notification; its unit depends on the kind. */
  threshold: number
  /** JSON array. */
  emails: string
  webhook_url: string | null
  sealed_webhook_secret: string | null
  digest: 'immediate' | 'daily'
  enabled: Flag
  created_at: string
  updated_at: string
}

/** A notification; there is at most one for each subject, level and period. */
export interface NotificationTable {
  id: string
  organization_id: string
  workspace_id: string | null
  kind: NotificationKind
  /** The record it is about, such as `key:17`. */
  subject: string
  /** The threshold that was reached. */
  level: number
  /** The calendar period it is about. `open` while a condition without one holds, then the time it ended. */
  period: string
  title: string
  text: string
  /** JSON object for programs. */
  data: string
  created_at: string
  read_at: string | null
}

/** A notification that is to be sent to one address, or was. */
export interface NotificationDeliveryTable {
  id: string
  notification_id: string
  rule_id: string
  organization_id: string
  channel: 'email' | 'webhook'
  /** An e-mail address, or a URL. */
  address: string
  /** Deliveries with the same one are sent together. The same at every attempt. */
  message_id: string
  is_digest: Generated<Flag>
  state: 'pending' | 'delivered' | 'failed'
  attempts: Generated<number>
  due_at: string
  /** The node that sends it, and until when no other may. */
  lease_owner: string | null
  lease_until: string | null
  error: string | null
}

/** An endpoint that a node has not reached for a while, with one credential. */
export interface FailingEndpointTable {
  node_id: string
  /** See `healthIdOf`. */
  health_id: string
  provider: string
  model: string
  byok_key_id: string | null
  since: string
  last_failure_at: string
}

/** A role that an organization defined; the others are in `src/identity/permissions/roles.ts`. */
export interface RoleTable {
  id: string
  organization_id: string
  name: string
  description: string | null
  /** JSON arrays. */
  permissions: string
  own_permissions: string
  created_at: string
  updated_at: string
}

export interface RoleAssignmentTable {
  id: string
  organization_id: string
  user_id: string
  /** The id of a `roles` row, or of a built-in role. */
  role_id: string
  /** Null: the whole organization. */
  workspace_id: string | null
  /** The origin of the assignment, which may remove it. */
  source: 'manual' | 'oidc'
  created_at: string
}

/** Issues tokens to workloads, such as a CI system or a cluster. */
export interface WorkloadIssuerTable {
  id: string
  organization_id: string
  name: string
  /** The `iss` of its tokens. */
  issuer: string
  /** Null: from its OpenID configuration. */
  jwks_uri: string | null
  /** JSON array. */
  algorithms: string
  created_at: string
  updated_at: string
}

/** A rule that exchanges matching tokens of an issuer for access with a key. */
export interface WorkloadPolicyTable {
  id: string
  organization_id: string
  issuer_id: string
  name: string
  audience: string
  subject: string | null
  /** An expression over the claims; see `platform/cel`. */
  condition: string | null
  /** The hash of an API key, which may no longer exist. */
  target_key: string
  enabled: Flag
  created_at: string
  updated_at: string
}

/** Key pairs of this installation. One of each purpose signs; retired ones verify for some time. */
export interface SigningKeyTable {
  kid: string
  purpose: 'access_token'
  public_jwk: string
  sealed_private_jwk: string
  created_at: string
  retired_at: string | null
}

/**
 * The amounts that one subject (an organization, a workspace, a key, a member in a workspace) has spent and held: in
 * total, and in the UTC day, Monday week and month named by `day`, `week` and `month`. Written only together with the
 * holds and charges it sums. Outlives its subject.
 */
export interface MeterTable {
  subject: string
  total_nanos: bigint
  day_nanos: bigint
  week_nanos: bigint
  month_nanos: bigint
  byok_total_nanos: bigint
  byok_day_nanos: bigint
  byok_week_nanos: bigint
  byok_month_nanos: bigint
  held_total_nanos: bigint
  held_day_nanos: bigint
  held_week_nanos: bigint
  held_month_nanos: bigint
  held_byok_total_nanos: bigint
  held_byok_day_nanos: bigint
  held_byok_week_nanos: bigint
  held_byok_month_nanos: bigint
  day: string
  week: string
  month: string
  /** Requests to free variants, in this day and in this minute. */
  minute: string
  free_day: number
  free_minute: number
  /** The time a request of this subject last began or ended; null before the first one. */
  used_at: string | null
}

/** The totals of a meter on a day that is not the meter's current one. */
export interface MeterDayTable {
  subject: string
  day: string
  spent_nanos: bigint
  byok_nanos: bigint
  held_nanos: bigint
  held_byok_nanos: bigint
  free: number
}

export interface ImportedValueTable {
  /** The kind and the id of what was imported, such as `key:7`. */
  subject: string
  organization_id: string
  /** What the import has set, as JSON. */
  fields: string
  updated_at: string
}

/** What the subject of a meter had spent elsewhere when it was last imported. */
export interface OpeningSpendTable {
  subject: string
  organization_id: string
  amount_nanos: bigint
  /** The day that the part in the present window of its limit counts on; null if there is no such part. */
  day: string | null
  day_nanos: bigint
  created_at: string
}

/** A running process. */
export interface NodeTable {
  id: string
  started_at: string
  seen_at: string
  /** The last migration that it knows; null for a version that did not record it. */
  schema: string | null
}

/** Money held for a request in progress, with all that is needed to settle it when its process is gone. */
export interface HoldTable {
  /** The id of the generation. */
  id: string
  owner: string
  /** The meters it counts in, separated by spaces. */
  subjects: string
  amount_nanos: bigint
  byok_nanos: bigint
  /** The day it counts on. */
  day: string
  expires_at: string
  /** JSON: what is known of the generation at admission, prices included. */
  draft: string
  /** JSON: the progress of the reply at its last checkpoint. */
  checkpoint: string | null
}

/** The journal of a node with leases: see docs/internals/leases.md. */
export interface LedgerJournalTable {
  id: string
  node_id: string
  /** The last segment that is in the database. */
  flushed: number
  renewed_at: string
  /** Set when another node has taken over the leases: from then on nothing is flushed. */
  taken_at: string | null
}

/** A meter on which no node holds a lease until a time. */
export interface LeaseRecallTable {
  subject: string
  until: string
}

/** Append-only. The entries of one `transaction_id` sum to zero. */
export interface LedgerEntryTable {
  id: Generated<number>
  transaction_id: string
  organization_id: string
  account: string
  amount_nanos: bigint
  kind: string
  note: string | null
  /** The time of the entry; of the earliest one, if it replaces several. */
  created_at: string
  /** The number of entries it replaces, and the time of the last of them; null for a single entry. */
  entry_count: Generated<number | null>
  last_entry_at: Generated<string | null>
}

export interface AppTable {
  id: Generated<number>
  organization_id: string
  url: string
  name: string
  created_at: string
}

export interface AuthCodeTable {
  code_hash: string
  organization_id: string
  workspace_id: string
  user_id: string | null
  app_id: number
  callback_url: string | null
  code_challenge: string | null
  code_challenge_method: 'S256' | 'plain' | null
  key_name: string
  key_limit_nanos: bigint | null
  key_limit_reset: LimitReset | null
  key_expires_at: string | null
  created_at: string
  expires_at: string
  used_at: string | null
  /** The key it was exchanged for. */
  key_id: number | null
}

export interface SignInLinkTable {
  token_hash: string
  user_id: string
  expires_at: string
  used_at: string | null
  /** `link` from the command line, `email` from a mail. */
  method: Generated<'link' | 'email'>
}

/** A browser in which a member signed in. */
export interface SessionTable {
  token_hash: string
  /** Names it in the API; the hash is never shown. */
  id: string
  user_id: string
  method: SignInMethod
  ip: string | null
  user_agent: string | null
  created_at: string
  /** Written at most once a minute. */
  last_seen_at: string
  expires_at: string
}

/** `revoked`: by an admin, from another session, or with what the member may sign in with. */
export type SessionEnd = 'signed_out' | 'idle' | 'expired' | 'revoked'

/** A session that was deleted. */
export interface EndedSessionTable {
  token_hash: string
  user_id: string
  reason: SessionEnd
  /** The time the row is deleted. */
  expires_at: string
}

export type SignInMethod = 'link' | 'email' | 'password' | 'passkey' | 'invitation' | 'oidc'

export interface MemberPasswordTable {
  user_id: string
  /** Argon2id. */
  password_hash: string
  updated_at: string
}

/** One-time codes of an authenticator app. */
export interface MemberTotpTable {
  user_id: string
  sealed_secret: string
  /** Null until the member has entered a first code; without effect until then. */
  confirmed_at: string | null
  /** The period of the last code that was accepted: no code is accepted twice. */
  last_step: Generated<number>
  /** Wrong codes since the last right one. */
  failures: Generated<number>
  failed_at: string | null
  created_at: string
}

/** Each replaces a one-time code, once. */
export interface RecoveryCodeTable {
  code_hash: string
  user_id: string
  used_at: string | null
  created_at: string
}

export interface PasskeyTable {
  /** The authenticator's id of the credential, in base64url. */
  credential_id: string
  id: string
  user_id: string
  name: string
  /** COSE, in base64url. */
  public_key: string
  counter: Generated<number>
  /** JSON array. */
  transports: string
  created_at: string
  last_used_at: string | null
}

/** Challenges of passkeys that were answered, until they expire. */
export interface UsedChallengeTable {
  challenge_hash: string
  expires_at: string
}

export interface InvitationTable {
  id: string
  organization_id: string
  email: string
  role: OrganizationRole
  /** JSON array; the default workspace needs no entry. */
  workspace_ids: string
  token_hash: string
  /** The member who sent it; null for a key without a creator. */
  invited_by: string | null
  created_at: string
  expires_at: string
  accepted_at: string | null
  revoked_at: string | null
}

export interface FileTable {
  /** Order of upload, used for pagination. */
  seq: Generated<number>
  id: string
  organization_id: string
  workspace_id: string
  filename: string
  mime_type: string
  size_bytes: number
  purpose: string
  created_at: string
  /** The storage of the bytes: see `storage/file-storage.ts`. Null: on the disk. */
  storage: string | null
}

/** A home in which models run shell commands, see `src/containers`. */
export interface ContainerTable {
  workspace_id: string
  /** The id without the suffix of a restart. */
  id: string
  organization_id: string
  /** The folder that has the home: that of one node, or one that nodes share. */
  folder_id: string
  /** The name of the home in that folder. */
  home: string
  /** JSON. */
  network_policy: string
  /** A random suffix since the last start with another network policy; null before. */
  nonce: string | null
  /** Bytes in the home after the last command. */
  size_bytes: number
  created_at: string
  last_used_at: string
}

/** Lists are JSON arrays, null when not set; switches are 0, 1 or null. */
export interface GuardrailTable {
  id: string
  organization_id: string
  /** Null for the one guardrail of the whole organization. */
  workspace_id: string | null
  name: string
  description: string | null
  limit_nanos: bigint | null
  reset_interval: LimitReset | null
  include_byok_in_budgets: Flag
  allowed_data_regions: string | null
  allowed_models: string | null
  ignored_models: string | null
  allowed_providers: string | null
  ignored_providers: string | null
  content_filter_builtins: string | null
  content_filters: string | null
  enable_free_model_publication: Flag | null
  enable_free_model_training: Flag | null
  enable_paid_model_training: Flag | null
  enforce_zdr: Flag | null
  enforce_zdr_vendor_a: Flag | null
  enforce_zdr_vendor_b: Flag | null
  enforce_zdr_vendor_c: Flag | null
  enforce_zdr_vendor_d: Flag | null
  enforce_zdr_other: Flag | null
  dry_run: Flag
  unscannable_content: 'allow' | 'block' | null
  /** JSON object. */
  moderation: string | null
  external_checks: string | null
  /** Encrypted JSON object: the secrets of each external check by its name. */
  sealed_check_secrets: string | null
  created_at: string
  updated_at: string
}

/** A finding of the guardrails in a request or its reply, without the text. */
export interface GuardrailHitTable {
  id: string
  organization_id: string
  workspace_id: string
  key_id: number
  /** The member who created the key. */
  user_id: string | null
  /** The id of the request; a rejected request has no record. */
  generation_id: string
  /** The slug of a detector, the label of a custom filter, or the field of another rule. */
  rule: string
  action: 'flag' | 'redact' | 'block'
  /** 0: a dry run, which only records. */
  enforced: Flag
  direction: 'input' | 'output'
  /** The kind of content or the name of the rule, and the role of the message. */
  part: string
  role: string | null
  count: number
  /** JSON arrays: the kinds a detector recognized, and the layers whose rule it is. */
  kinds: string
  layers: string
  created_at: string
}

/** A request to a model that was refused before a provider was called. It has no content. */
export interface RefusedRequestTable {
  id: string
  organization_id: string
  workspace_id: string
  key_id: number
  /** The member who created the key. */
  user_id: string | null
  created_at: string
  error_code: string
  http_status: number
  message: string
  /** JSON object: what the error says about its reason. */
  details: string
  /** Null if it was refused before its model was known. */
  requested_model: string | null
  dialect: string
  api_type: string | null
  streamed: Flag
  latency_ms: number
  preset_id: string | null
  session_id: string | null
  app_url: string | null
  app_title: string | null
  external_user: string | null
  tags: string | null
  request_id: string | null
  routing_plan_id: string | null
  /** Number of requests this row represents: more than one where too many were rejected to record each. */
  requests: number
}

/** A routing decision, which many requests may share. */
export interface RoutingPlanTable {
  /** The UTC day and a hash of the content. */
  id: string
  /** JSON. */
  content: string
}

/** A line of the bill of a request with plugins or server tools. */
export interface GenerationLineTable {
  generation_id: string
  position: number
  kind: 'turn' | 'tool' | 'plugin' | 'request'
  /** The model, the tool or the plugin. */
  name: string
  /** The provider or engine that was paid. */
  provider: string | null
  quantity: number
  tokens_prompt: number | null
  tokens_completion: number | null
  cost_nanos: bigint
  duration_ms: number
  /** From the arrival of the request; null if it is not recorded. */
  started_ms: number | null
  /** A request with a record of its own, which is charged there. */
  nested_id: string | null
}

/** A phrase that is no injection, for all keys of the organization. */
export interface AllowedPhraseTable {
  id: string
  organization_id: string
  phrase: string
  /** The phrase in lower case: unique. */
  folded: string
  created_by: string | null
  created_at: string
}

/** A key has at most one guardrail of its own. */
export interface GuardrailKeyTable {
  id: string
  organization_id: string
  guardrail_id: string
  key_id: number
  assigned_by: string | null
  created_at: string
}

/** A member has at most one guardrail in each workspace, whose id is repeated here for that constraint. */
export interface GuardrailMemberTable {
  id: string
  organization_id: string
  guardrail_id: string
  workspace_id: string | null
  user_id: string
  assigned_by: string | null
  created_at: string
}

export type PresetStatus = 'active' | 'disabled' | 'archived'

export interface PresetTable {
  id: string
  organization_id: string
  workspace_id: string | null
  slug: string
  name: string
  description: string | null
  status: PresetStatus
  status_updated_at: string | null
  designated_version_id: string | null
  creator_user_id: string | null
  created_at: string
  updated_at: string
}

export type PresetFormat = 'chat' | 'messages' | 'responses'

export interface PresetVersionTable {
  id: string
  preset_id: string
  version: number
  /** The format whose field names the configuration uses. */
  format: PresetFormat
  system_prompt: string | null
  /** JSON object. */
  config: string
  creator_id: string
  created_at: string
  updated_at: string
}

export interface DestinationTable {
  id: string
  organization_id: string
  workspace_id: string
  type: string
  name: string | null
  enabled: Flag
  privacy_mode: Flag
  broadcast_generation_cost: Flag
  broadcast_generation_identity: Flag
  broadcast_generation_request_context: Flag
  sampling_rate: number
  /** JSON arrays. */
  regions: string
  api_key_hashes: string | null
  /** JSON object. */
  filter_rules: string | null
  /** JSON object of the settings that are not secret. */
  config: string
  /** Encrypted JSON object of the secrets. */
  sealed_secrets: string
  /** The origin that the secrets were entered for: they are never sent elsewhere. */
  secrets_origin: string | null
  created_at: string
  updated_at: string
  deleted_at: string | null
}

/** The state of the delivery to a destination. A row exists once something was delivered, or someone paused it. */
export interface DestinationStateTable {
  destination_id: string
  /** The node that delivers to it, and until when no other may. */
  lease_owner: string | null
  lease_until: string | null
  /** The time a node last took the lease: the destination that has waited longest is next. */
  served_at: string | null
  /** Consecutive requests that failed. */
  failures: Generated<number>
  /** Nothing is sent before. */
  retry_at: string | null
  last_success_at: string | null
  last_error_at: string | null
  /** Sealed: it may quote the destination. */
  sealed_error: string | null
  paused: Generated<Flag>
  /** The reason the gateway disabled it. */
  disabled_reason: string | null
  /** Events, since the destination was created. */
  delivered: Generated<number>
  dropped: Generated<number>
}

/** A finished request, until every destination has it. */
export interface OutboxEventTable {
  /** The generation. */
  id: string
  organization_id: string
  workspace_id: string
  /** Encrypted JSON of a `GenerationEvent`, bound to the id. */
  sealed_event: string
  /** Bytes of the JSON. */
  size: number
  created_at: string
}

/** An event that a destination does not have yet. */
export interface OutboxDeliveryTable {
  destination_id: string
  event_id: string
  created_at: string
  /** Bytes of the event's JSON. */
  size: number
  /** The parts the destination was allowed to receive when the request ended: see `sharedParts`. */
  shared_parts: number
  /** `failed`: the destination rejected the event itself. It is kept for a while, and sent again on request. */
  state: 'pending' | 'failed'
  attempts: Generated<number>
  sealed_error: string | null
}

export interface ByokKeyTable {
  id: string
  organization_id: string
  /** Null for a credential of every workspace. */
  workspace_id: string | null
  provider: string
  name: string | null
  label: string
  /** Null once deleted: the key material is wiped. */
  sealed_key: string | null
  /** The origin of the provider when the key was entered; null when unknown. */
  origin: string | null
  disabled: Flag
  is_fallback: Flag
  is_byok_only: Flag
  is_required: Flag
  declared_zdr: Flag | null
  /** JSON arrays, null for no restriction. */
  allowed_models: string | null
  allowed_api_key_hashes: string | null
  allowed_user_ids: string | null
  sort_order: number
  created_at: string
  updated_at: string
  deleted_at: string | null
}

export interface ScimTokenTable {
  id: string
  organization_id: string
  token_hash: string
  label: string
  name: string
  created_at: string
}

/** A member as an identity provider sees them. External ids never equal internal ids. */
export interface ScimUserTable {
  id: string
  organization_id: string
  user_id: string
  user_name: string
  external_id: string | null
  /** JSON of the attributes that have no column. */
  resource: string
  created_at: string
  updated_at: string
}

export interface ScimGroupTable {
  id: string
  organization_id: string
  external_id: string | null
  display_name: string
  created_at: string
  updated_at: string
}

export interface ScimGroupMemberTable {
  group_id: string
  scim_user_id: string
}

export interface ScimGroupMappingTable {
  id: string
  organization_id: string
  scim_group_id: string
  workspace_id: string
  role: WorkspaceRole
  created_at: string
  updated_at: string
}

export interface ScimSyncJobTable {
  id: string
  organization_id: string
  status: 'queued' | 'running' | 'succeeded' | 'failed'
  created_at: string
  started_at: string | null
  finished_at: string | null
  synced_groups: number | null
  deleted_groups: number | null
  error_message: string | null
}

/** An OpenID Connect provider of an organization. */
export interface SsoConnectionTable {
  id: string
  organization_id: string
  name: string
  issuer: string
  client_id: string
  sealed_client_secret: string
  client_auth: SsoClientAuth
  /** JSON array. */
  scopes: string
  /** JSON: the names of the claims that are read. */
  claims: string
  /** `org:member`, or a role that every member who signs in has in addition. */
  default_role: string
  /** 1: people who are not members yet become members. */
  jit: Flag
  created_at: string
  updated_at: string
}

export type SsoClientAuth = 'client_secret_basic' | 'client_secret_post'

/** A domain of e-mail addresses. Without `verified_at` it has no effect. */
export interface SsoDomainTable {
  id: string
  organization_id: string
  /** Lower case, in ASCII. */
  domain: string
  /** Null: the oldest connection of the organization. */
  connection_id: string | null
  verification_token: string
  verified_by: 'dns' | 'operator' | null
  verified_at: string | null
  created_at: string
}

/** A role for members whose claim has the value. */
export interface SsoMappingTable {
  id: string
  organization_id: string
  connection_id: string
  claim: string
  value: string
  /** Null: the whole organization. */
  workspace_id: string | null
  /** `admin` or `member` of the workspace, or the id of another role. */
  role: string
}

/** A member matched the mapping at the last sign-in. */
export interface SsoMappingMemberTable {
  mapping_id: string
  user_id: string
}

export interface SsoPolicyTable {
  organization_id: string
  /** 1: members sign in with a connection only. */
  enforced: Flag
  updated_at: string
}

/** Admins who may sign in with other methods too. */
export interface SsoBreakGlassTable {
  user_id: string
  organization_id: string
}

export interface SsoIdentityTable {
  id: string
  organization_id: string
  issuer: string
  subject: string
  /** The one that was used last. */
  connection_id: string
  user_id: string
  created_at: string
  last_signed_in_at: string
}

/** The provider's view of a session, to end it when the member signs out there. */
export interface SsoSessionTable {
  token_hash: string
  connection_id: string
  issuer: string
  subject: string
  sid: string | null
  sealed_id_token: string
}

/** The states of sign-ins and the ids of logout tokens that were used. */
export interface SsoUsedTokenTable {
  token_hash: string
  expires_at: string
}

/**
 * A generation that was settled for a node considered dead, and that the node itself settled later. Never
 * deleted.
 */
export interface CorrectionTable {
  generation_id: string
  organization_id: string
  /** The first charge, and the posting that it is part of. */
  previous_posting_id: string | null
  previous_cost_nanos: bigint
  previous_byok_nanos: bigint
  /** The additional charge, or a refund where it is negative, and the posting that it is part of. */
  posting_id: string | null
  difference_nanos: bigint
  created_at: string
}

/** The content of a request and its reply, stored only where the workspace enables it. */
export interface GenerationContentTable {
  generation_id: string
  organization_id: string
  workspace_id: string
  /** Encrypted JSON; empty once it is in a pack. */
  sealed_content: string
  created_at: string
  /** The object in the bucket that has the content, among others; null while it is here. */
  pack: string | null
  /** Its first byte in the pack, and how many. */
  pack_offset: number | null
  pack_length: number | null
  /** What finds it by its words, in a form that depends on the database; null before it is indexed. */
  search_entry: ColumnType<unknown, undefined, null>
}

export interface GenerationFeedbackTable {
  id: string
  organization_id: string
  generation_id: string
  category: string
  comment: string | null
  created_at: string
}

/**
 * Requests of one organization that began on one UTC day, as columns. Never changed, only replaced by a
 * larger one.
 */
export interface UsageSegmentTable {
  id: string
  organization_id: string
  /** The labels it distinguishes; `request` has one row for each request. */
  level: 'request' | 'hour' | 'day' | 'ends' | 'people' | 'models' | 'keys'
  day: string
  /** Number of rows. */
  size: number
  /** The rows of `request` that they are the sums of; null in segments from before it was recorded. */
  requests: number | null
}

export interface UsageColumnTable {
  segment_id: string
  /** `*` for all columns of a small segment together. */
  name: string
  body: Uint8Array
}

/** A generation that the roll-ups have not counted yet, or counted before it was corrected. */
export interface UnrolledGenerationTable {
  generation_id: string
  organization_id: string
  /** JSON: what the roll-ups count of it and must reverse; null when they have not counted it. */
  previous: string | null
}

/** What ClickHouse has. One row, which exists once generations are streamed there. */
export interface ClickHouseStreamTable {
  name: 'generations'
  /** Identifies the tables in ClickHouse that the row describes. */
  stream_id: string
  /** The first UTC day on and after which ClickHouse has every request that is in no queue; null before the first. */
  covered_from: string | null
  /** Generations that ended earlier have been deleted for their age. */
  retained_from: string | null
  /** The end of the generations that are still to be backfilled; null before the first batch. */
  backfill_position: string | null
  /** The backfill ends at this time; null: with the oldest generation. */
  backfill_until: string | null
  is_backfilled: 0 | 1
  /** Whether nothing is queued, because no node has sent anything for days. */
  is_ended: 0 | 1
  /** The generations that were sent, repeated ones included. */
  exported: number
  exported_at: string | null
  /** The last time that a node with CLICKHOUSE_URL was running. */
  seen_at: string
  /** The last time that old rows were deleted in ClickHouse. */
  trimmed_at: string | null
  lease_owner: string | null
  lease_until: string | null
}

/** Generations that are rolled up, and that ClickHouse has not acknowledged yet. */
export interface ClickHouseQueueTable {
  generation_id: string
  organization_id: string
  /** Grows with every change of the generation, and decides which row of it ClickHouse counts. */
  version: number
  /** An earlier arrival under which ClickHouse may have it; null if that has not changed. */
  moved_from: string | null
}

/** The spending of a key on requests that began on a day, as far as they are rolled up. Never deleted. */
export interface KeyDayTable {
  key_id: number
  day: string
  organization_id: string
  workspace_id: string
  /** Empty when there was no user. */
  user_id: string
  requests: number
  usage_nanos: bigint
  /** Cost at list prices of requests that the provider billed to a BYOK key. */
  byok_usage_nanos: bigint
}

/** The spending of a key in a UTC hour of the last weeks, from the same roll-up. */
export interface KeyHourTable {
  key_id: number
  /** `2027-01-31T23` */
  hour: string
  usage_nanos: bigint
}

/** A stored response: its own items are in `stored_pages`, those before it in the response it follows. */
export interface StoredResponseTable {
  id: string
  organization_id: string
  workspace_id: string
  previous_response_id: string | null
  /** Number of input items; the output items follow them. */
  input_count: number
  /** Bytes of the JSON of its items, and of everything stored for it. */
  item_bytes: number
  stored_bytes: number
  created_at: string
  expires_at: string
  /** Encrypted JSON of the response object without its output. */
  body: string
}

/** A response that is created in the background, until it is complete and stored. */
export interface BackgroundResponseTable {
  id: string
  organization_id: string
  workspace_id: string
  /** The node that creates it. */
  node_id: string
  status: 'queued' | 'in_progress'
  is_cancelled: Flag
  /** Encrypted JSON of the response object, without output. */
  body: string
  created_at: string
}

export interface VideoJobTable {
  id: string
  organization_id: string
  workspace_id: string
  key_id: number
  /** The id of its generation and its hold. */
  generation_id: string
  status: 'pending' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'expired'
  /**
   * The progress of submission to a provider; after a crash in `sending`, it is unknown whether the provider has it.
   */
  step: 'created' | 'sending' | 'sent'
  model: string
  /** The endpoint it was sent to last, and the BYOK key that pays for it; null: the installation's credential. */
  endpoint_id: string
  byok_key_id: string | null
  region: string
  /** Encrypted JSON: the call without its pictures, and what a webhook needs. */
  request: string
  /** JSON: what its settlement needs of the endpoint and of the attempts before it. */
  sent: string | null
  /** The provider's id of the job. */
  upstream_id: string | null
  /** Percent. */
  progress: number
  /** Encrypted JSON: where the provider has the videos. */
  contents: string | null
  error: string | null
  created_at: string
  ended_at: string | null
  /** The time the job expires. */
  deadline_at: string
  /** The time its videos are deleted. */
  content_expires_at: string | null
  /** The time of the next poll; null once it has ended. */
  due_at: string | null
  polls: number
  /** The node that works on it, and until when no other may. */
  lease_owner: string | null
  lease_until: string | null
  webhook_due_at: string | null
  webhook_attempts: number
}

/** Consecutive items, encrypted together: a row for each would be many times their size. */
export interface StoredPageTable {
  response_id: string
  /** The position of the first one. */
  first: number
  count: number
  /** Encrypted JSON array. */
  items: string
}

/** The position of an item that has an id of its own. */
export interface StoredItemIdTable {
  item_id: string
  response_id: string
  position: number
}

/** A conversation that responses are added to. */
/** A reply of the semantic cache. */
export interface SemanticCacheEntryTable {
  /** The generation that produced it. */
  id: string
  organization_id: string
  workspace_id: string
  /** A keyed hash, equal for requests that may share replies if their texts are similar. */
  scope: string
  created_at: string
  expires_at: string
  /** Encrypted: float32 numbers, little-endian, of length 1 as a vector. */
  vector: Uint8Array
  /** Encrypted JSON. */
  reply: string
}

export interface ConversationTable {
  id: string
  organization_id: string
  workspace_id: string
  /** Encrypted JSON. */
  metadata: string
  created_at: string
  /** Extended with every addition. */
  expires_at: string
}

export interface ConversationItemTable {
  conversation_id: string
  /** Grows with time, so that nodes can add items without coordination. */
  place: string
  item_id: string
  /** Encrypted JSON. */
  item: string
}

/** A change of the catalog by an operator at run time. */
/** The models of a provider as it lists them itself. */
export interface ModelListTable {
  provider: string
  /** The list, in JSON. */
  models: string
  /** The last reading; null: none has succeeded. */
  refreshed_at: string | null
  /** The last attempt to read it. */
  checked_at: string
  /** Why the last attempt failed. */
  problem: string | null
}

/** What was different in a provider's list at a reading. */
export interface ModelListChangeTable {
  id: string
  provider: string
  model: string
  kind: 'appeared' | 'disappeared' | 'price_changed' | 'changed'
  /** The entry of the list, in JSON. */
  before: string | null
  after: string | null
  created_at: string
}

/** A name for one model or several, in a workspace or the whole organization. */
export interface ModelAliasTable {
  id: string
  organization_id: string
  /** Null: in every workspace of the organization. */
  workspace_id: string | null
  name: string
  /** The models that it stands for, in the order they are tried, in JSON. */
  models: string
  /** Targets with weights, among which requests are divided, in JSON; null: the models are tried in their order. */
  split: string | null
  /** What it stands for in the rules of guardrails, in JSON. */
  rules: string
  /** When requests move to the replacement. */
  expires_at: string | null
  replacement: string | null
  created_at: string
  updated_at: string
}

/** A rule of a workspace or the whole organization about where requests are routed. */
export interface RoutingRuleTable {
  id: string
  organization_id: string
  /** Null: for every workspace of the organization. */
  workspace_id: string | null
  name: string
  description: string | null
  /** Rules are tried in this order; ties by age. */
  position: number
  enabled: Flag
  /** An expression over a request; see `governance/routing-rules`. */
  condition: string
  /** What is done with a request that meets it, in JSON. */
  action: string
  created_at: string
  updated_at: string
}

/** Which requests are mirrored, where to, and what that may cost. */
export interface ShadowTable {
  id: string
  organization_id: string
  /** Null: the requests of every workspace of the organization. */
  workspace_id: string | null
  /** The key that mirrors are charged to. */
  key_id: number
  name: string
  enabled: Flag
  /** Millionths of the requests. */
  share_ppm: number
  /** JSON array of the models whose requests are mirrored; null: all. */
  models: string | null
  /** Where mirrors are sent, in JSON. */
  target: string
  daily_nanos: bigint
  max_body_bytes: number
  timeout_ms: number
  /** Mirrors of a node at a time. */
  concurrency: number
  created_at: string
  updated_at: string
}

export interface ShadowComparisonTable {
  id: string
  shadow_id: string
  created_at: string
  differs: Flag
  /** JSON of `storage/shadows/comparison.ts`. */
  record: string
}

/** Requests that a shadow has not mirrored, by UTC day and reason. */
export interface ShadowSkipTable {
  shadow_id: string
  day: string
  reason: string
  requests: bigint
}

/** The search of a screen of the console, by name. */
export interface SavedViewTable {
  id: string
  organization_id: string
  /** Set if the view is shared with a workspace. */
  workspace_id: string | null
  visibility: 'private' | 'workspace' | 'organization'
  /** `member <id>` or `key <id>`. */
  creator: string
  screen: string
  name: string
  /** The query of the address, in JSON. */
  search: string
  created_at: string
  updated_at: string
}

export interface ComparisonTable {
  id: string
  organization_id: string
  /** Set if the comparison is shared with a workspace. */
  workspace_id: string | null
  visibility: 'private' | 'workspace' | 'organization'
  /** `member <id>` or `key <id>`. */
  creator: string
  name: string
  /** In JSON. The votes and replies refer to their order. */
  models: string
  prompt_count: number
  is_blind: Flag
  /** Prompts and parameters, in JSON. */
  sealed_prompts: string
  created_at: string
  updated_at: string
}

/** Attempts of all processes at an endpoint, in five minutes. */
export interface EndpointHealthTable {
  /** The time, in units of five minutes since 1970. */
  slot: number
  /** As `catalog/health/health-id.ts` writes it. */
  endpoint: string
  succeeded: number
  failed: number
  /** In JSON. */
  last_failure: string | null
}

/** A record that a set of configuration files declares. */
export interface ManagedRecordTable {
  organization_id: string
  kind: string
  record_id: string
  /** What the files call it. */
  name: string
  set_name: string
  /** The fields that the files declare, in JSON. */
  fields: string
  /** A salted hash of each secret that was applied, by its field, in JSON. */
  secrets: string
  created_at: string
  updated_at: string
}

export interface ComparisonReplyTable {
  comparison_id: string
  prompt: number
  model: number
  generation_id: string | null
  provider: string | null
  /** Text and error, in JSON. */
  sealed_reply: string
  has_error: Flag
  /** What the generation cost here and, with a BYOK key, at the provider. */
  cost_nanos: bigint | null
  first_token_ms: number | null
  latency_ms: number | null
}

export interface ComparisonVoteTable {
  comparison_id: string
  prompt: number
  /** `member <id>` or `key <id>`. */
  voter: string
  model: number
  created_at: string
}

export interface CatalogEditTable {
  kind: 'provider' | 'model' | 'endpoint'
  /** The slug of the provider, or the id of the model. */
  name: string
  /** The endpoint of the model; empty for the other kinds. */
  tag: string
  /** The body that was sent, without secrets. */
  fields: string
  /** The secrets of a provider, with the origin they were entered for. */
  sealed_secrets: string | null
  updated_at: string
}

/** A request that must not run twice: see `http/idempotency.ts`. */
export interface IdempotencyKeyTable {
  /** SHA-256 of the caller, the operation and the key. */
  id: string
  organization_id: string
  /** SHA-256 of the request. */
  fingerprint: string
  /** Sealed: see `StoredResponse`. Null while the request runs, and if it is not stored. */
  response: string | null
  /** Null while the request runs, or if the server was stopped meanwhile. `unknown`: it may have had an effect. */
  outcome: 'succeeded' | 'unknown' | null
  /** The length of `response`. */
  bytes: number
  /** The API key that sent it; null for a session. */
  key_id: number | null
  /** The member whose session sent it; null for an API key. */
  user_id: string | null
  created_at: string
}

/** Requests of an organization to operations that have a daily limit. */
export interface DailyRequestTable {
  organization_id: string
  /** The limit they count in. */
  name: string
  /** UTC. */
  day: string
  requests: number
}

/** The scores of models in benchmarks, imported or measured here. */
export interface BenchmarkResultTable {
  source: 'artificial-analysis' | 'design-arena' | 'service'
  /** The name of an index, `arena/category`, or the name of a benchmark. */
  benchmark: string
  /** The canonical slug. */
  model: string
  /** The tag of the endpoint that was measured; empty: the model as it is routed by default. */
  endpoint: string
  /** Distinguishes configurations of the same benchmark; empty: there is only one. */
  variant: string
  /** Empty for a published score, which a newer one replaces. */
  run_id: string
  display_name: string
  score: number
  deviation: number | null
  /** The average per task. */
  cost_nanos: bigint | null
  latency_ms: number | null
  tasks: number | null
  measured_at: string
  /** JSON: what only some sources publish. */
  details: string
  source_url: string | null
  imported_at: string
}

/** The task of a sampled request: no text of it. */
export interface GenerationTaskTable {
  generation_id: string
  tag: string
  category: string | null
  language: 'natural' | 'programming'
  /** Number of requests the sample represents. */
  weight: number
  /** The datasets have counted it. */
  counted: Generated<Flag>
}

/**
 * The kinds of datasets. `model`: tokens by model, modality and context. `app`: by app. `task` and `topic`: sampled, by
 * task, and by subject and language of a week.
 */
export type DatasetKind = 'model' | 'app' | 'task' | 'topic'

/** The contribution of an organization to a figure. */
export interface DatasetContributionTable {
  kind: DatasetKind
  /** The UTC day; for `topic`, the Monday of its week. */
  day: string
  /** The subject of the figure, one value on each line. */
  subject: string
  organization_id: string
  /** The title of an app. */
  label: string | null
  requests: number
  tokens: number
  /** Cost at list prices, BYOK requests included. */
  cost_nanos: bigint
}

/** The days that have contributions, and which of their changes are in the figures. */
export interface DatasetDayTable {
  kind: DatasetKind
  day: string
  changes: number
  published_changes: number
  published_at: string | null
}

/** The requests of a session to a model through an app. */
export interface DatasetSessionTable {
  organization_id: string
  session_id: string
  app_url: string
  model: string
  /** The day of the last request. */
  day: string
  turns: number
  cost_nanos: bigint
}

/** A figure of all organizations together. Of `session` the cost is the median, and the requests are sessions. */
export interface DatasetFigureTable {
  kind: DatasetKind | 'session'
  day: string
  subject: string
  requests: number
  tokens: number
  cost_nanos: bigint
  /** Number of organizations that contributed. */
  organizations: number
}

/** An app of any organization, by its address. */
export interface DatasetAppTable {
  id: Generated<number>
  /** Host and path. */
  url: string
  slug: string
  title: string | null
}
