import type { Selectable } from 'kysely'
import { type DataRegion, vendorNames } from '../../formats/vocabulary.ts'
import type { GuardrailTable, LimitReset } from '../../platform/db/schema.ts'
import { booleanOf, decodeList } from '../../platform/db/values.ts'
import type { DetectorSlug } from '../filters/detectors.ts'

export type GuardrailRow = Selectable<GuardrailTable>

/** Weakest first: if several apply, the strongest wins. */
export const filterActions = ['flag', 'redact', 'block'] as const
export type FilterAction = (typeof filterActions)[number]

/** Narrowest first. */
export const scanScopes = ['user_only', 'all_messages'] as const
export type ScanScope = (typeof scanScopes)[number]

/** Sides of an exchange that a filter can read; the prompt by default. */
export const filterScopes = ['input', 'output', 'both'] as const
export type FilterScope = (typeof filterScopes)[number]

/** Actions for content that filters cannot read, such as images. Weakest first. */
export const unscannableActions = ['allow', 'block'] as const
export type UnscannableAction = (typeof unscannableActions)[number]

/** The only detector with a configurable scan scope. */
export const scopedBuiltin: DetectorSlug = 'regex-prompt-injection'

export interface BuiltinFilter {
  slug: DetectorSlug
  action: FilterAction
  scan_scope?: ScanScope
  scope?: FilterScope
  /** The score from which a text counts as a prompt injection; undefined for the default. */
  threshold?: number
  /** Whether matches in a prompt are restored in its reply. */
  reversible?: boolean
}

export interface CustomFilter {
  pattern: string
  action: FilterAction
  label: string | null
  scope?: FilterScope
  reversible?: boolean
}

/** A model classifies the prompt. */
export interface ModerationRule {
  action: Exclude<FilterAction, 'redact'>
  /** Null: the moderation model of the installation. */
  model: string | null
  /** The categories that count; null for all. */
  categories: string[] | null
}

/** The groups of models that zero data retention can be set for. */
export const zdrGroups = [...vendorNames, 'other'] as const
export type ZdrGroup = (typeof zdrGroups)[number]

/** What happens to a text that a service has not checked. */
export const failureModes = ['open', 'closed'] as const
export type FailureMode = (typeof failureModes)[number]

/** A service that texts are sent to. Its secrets are stored apart from it. */
export interface ExternalCheck {
  name: string
  type: string
  scope: FilterScope
  action: FilterAction
  on_failure: FailureMode
  /** Milliseconds for all calls of one prompt, or of one text of a reply. */
  timeout_ms: number
  /** Seconds that a verdict is kept; 0: it is not. */
  cache_seconds: number
  /** Characters of one call. */
  max_characters: number
  /** Calls for one prompt, or for one reply. */
  max_calls: number
  /** Calls at the same time on one node. */
  concurrency: number
  config: Readonly<Record<string, unknown>>
}

/** The checks of one guardrail. */
export interface ExternalChecks {
  guardrailId: string
  checks: readonly ExternalCheck[]
  /** Their secrets by name, encrypted; null if they have none. */
  sealed: string | null
}

/** Binds encrypted secrets to their guardrail. */
export function sealContextOf(guardrailId: string): string {
  return `guardrail-checks/${guardrailId}`
}

type OptionalBoolean = boolean | null

/** A guardrail in its enforced form: lists are parsed, and the deprecated field is resolved. */
export interface Guardrail extends Record<`enforce_zdr_${ZdrGroup}`, OptionalBoolean> {
  id: string
  workspace_id: string | null
  name: string
  description: string | null
  limit_nanos: bigint | null
  reset_interval: LimitReset | null
  include_byok_in_budgets: boolean
  allowed_data_regions: DataRegion[] | null
  allowed_models: string[] | null
  ignored_models: string[] | null
  allowed_providers: string[] | null
  ignored_providers: string[] | null
  content_filter_builtins: BuiltinFilter[] | null
  content_filters: CustomFilter[] | null
  enable_free_model_publication: OptionalBoolean
  enable_free_model_training: OptionalBoolean
  enable_paid_model_training: OptionalBoolean
  enforce_zdr: OptionalBoolean
  /** Whether it only records what it would do. */
  dry_run: boolean
  unscannable_content: UnscannableAction | null
  moderation: ModerationRule | null
  external_checks: ExternalChecks | null
  created_at: string
  updated_at: string
}

export function parseGuardrail(row: GuardrailRow): Guardrail {
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    name: row.name,
    description: row.description,
    limit_nanos: row.limit_nanos,
    reset_interval: row.reset_interval,
    include_byok_in_budgets: row.include_byok_in_budgets === 1,
    allowed_data_regions: decodeList(row.allowed_data_regions),
    allowed_models: decodeList(row.allowed_models),
    ignored_models: decodeList(row.ignored_models),
    allowed_providers: decodeList(row.allowed_providers),
    ignored_providers: decodeList(row.ignored_providers),
    content_filter_builtins: decodeList(row.content_filter_builtins),
    content_filters: decodeList(row.content_filters),
    enable_free_model_publication: booleanOf(row.enable_free_model_publication),
    enable_free_model_training: booleanOf(row.enable_free_model_training),
    enable_paid_model_training: booleanOf(row.enable_paid_model_training),
    enforce_zdr: booleanOf(row.enforce_zdr),
    enforce_zdr_vendor_a: booleanOf(row.enforce_zdr_vendor_a ?? row.enforce_zdr),
    enforce_zdr_vendor_b: booleanOf(row.enforce_zdr_vendor_b ?? row.enforce_zdr),
    enforce_zdr_vendor_c: booleanOf(row.enforce_zdr_vendor_c ?? row.enforce_zdr),
    enforce_zdr_vendor_d: booleanOf(row.enforce_zdr_vendor_d ?? row.enforce_zdr),
    enforce_zdr_other: booleanOf(row.enforce_zdr_other ?? row.enforce_zdr),
    dry_run: row.dry_run === 1,
    unscannable_content: row.unscannable_content,
    moderation: row.moderation === null ? null : (JSON.parse(row.moderation) as ModerationRule),
    external_checks: parseChecks(row),
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

function parseChecks({
  id,
  external_checks,
  sealed_check_secrets,
}: Pick<GuardrailRow, 'id' | 'external_checks' | 'sealed_check_secrets'>): ExternalChecks | null {
  const checks = decodeList<ExternalCheck>(external_checks)
  return checks && { guardrailId: id, checks, sealed: sealed_check_secrets }
}
