import type { Generated } from 'kysely'

/**
 * The tables, in the subset SQLite and PostgreSQL share: times are ISO text, flags are 0 or 1,
 * JSON is text, money is an integer of nano-dollars in a column named `..._nanos`.
 */
export interface Schema {
  instance: InstanceTable
  organizations: OrganizationTable
  members: MemberTable
  workspaces: WorkspaceTable
  workspace_members: WorkspaceMemberTable
  workspace_budgets: WorkspaceBudgetTable
  api_keys: ApiKeyTable
  key_usage: KeyUsageTable
  ledger_entries: LedgerEntryTable
  apps: AppTable
  auth_codes: AuthCodeTable
  signin_links: SigninLinkTable
  sessions: SessionTable
  files: FileTable
}

export type Flag = 0 | 1

/** Facts about this installation, one row each. */
export interface InstanceTable {
  name: string
  value: string
}

export interface OrganizationTable {
  id: string
  name: string
  /** The first organization runs the installation: its management keys may use operator operations. */
  is_operator: Flag
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
  created_at: string
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
  created_by: string | null
  created_at: string
  updated_at: string | null
  /** Set when deleted: keys and records of the past still name their workspace. */
  deleted_at: string | null
}

export interface WorkspaceMemberTable {
  id: string
  workspace_id: string
  user_id: string
  role: 'admin' | 'member'
  created_at: string
}

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
export type LimitReset = 'daily' | 'weekly' | 'monthly'

export interface ApiKeyTable {
  id: Generated<number>
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
  expires_at: string | null
  external_user: string | null
  /** SHA-256 of a secret the partner chose, which authenticates as this key too. */
  external_hash: string | null
  /** `environment` for the key that HEADGATE_MANAGEMENT_KEY names, so that a changed value replaces it. */
  source: 'api' | 'environment'
  created_at: string
  updated_at: string | null
}

/** Spend of one key on one UTC day: what `usage_*` fields are summed from. Outlives the key. */
export interface KeyUsageTable {
  key_id: number
  organization_id: string
  day: string
  usage_nanos: bigint
  byok_usage_nanos: bigint
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
  created_at: string
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
}

export interface SigninLinkTable {
  token_hash: string
  user_id: string
  expires_at: string
  used_at: string | null
}

export interface SessionTable {
  token_hash: string
  user_id: string
  created_at: string
  expires_at: string
}

export interface FileTable {
  /** Order of upload: what pages are cut by. */
  seq: Generated<number>
  id: string
  organization_id: string
  workspace_id: string
  filename: string
  mime_type: string
  size_bytes: number
  purpose: string
  created_at: string
}
