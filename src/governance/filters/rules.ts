import type { DetectorSlug } from './detectors.ts'

type FilterAction = 'flag' | 'redact' | 'block'

export interface RuleTraits {
  action: FilterAction
  /** False: matches are recorded, and nothing else happens. */
  isEnforced: boolean
  /** The guardrails it comes from. */
  layers: readonly string[]
  /** Whether matches in a prompt are restored in its reply. */
  reversible?: boolean
}

/** A filter as policies define it. */
export interface BuiltinRule extends RuleTraits {
  slug: DetectorSlug
  scan_scope?: 'user_only' | 'all_messages'
  /** The score from which a text counts as a prompt injection. */
  threshold?: number
}

export interface CustomRule extends RuleTraits {
  pattern: string
  label: string | null
}

export interface FilterRules {
  builtins: readonly BuiltinRule[]
  customs: readonly CustomRule[]
  /** Phrases that are no injection. */
  allowedPhrases?: readonly string[]
}
