import { sha256 } from '../../platform/crypto/crypto.ts'
import type { FilterHit } from '../filters/filter-set.ts'
import { computeStreamReach, type Reach } from '../filters/reach.ts'
import type { BuiltinRule, CustomRule, FilterRules } from '../filters/rules.ts'
import type { RuleSet } from '../filters/scanner.ts'
import {
  directionsOf,
  type EffectiveCheck,
  type EffectiveModeration,
  type EffectivePolicy,
  type EffectiveRules,
  type FilterDirection,
  type FilterSource,
  type Layer,
} from './effective.ts'

/** A rule that matched a request or its reply, without the text it matched. */
export interface GuardrailHit extends Omit<FilterHit, 'part' | 'label' | 'starts'> {
  direction: FilterDirection
  /** Place of the match: a part of a message, or the field of another rule. */
  part: string
}

/** The filters of replies, not both null. */
export interface ReplyRules {
  /** Filters that block or redact: a reply must wait for them. */
  enforced: (RuleSet & { reach: Reach }) | null
  /** Filters whose matches are only recorded. */
  recorded: RuleSet | null
}

/** The rules of a policy for the content of requests and replies. */
export interface ContentRules {
  /** The filters of each side; null if there are none. */
  input: RuleSet | null
  output: ReplyRules | null
  /**
   * Filters for texts that no provider receives, such as the name of an app: the input filters that block or redact,
   * all redacting. Null if there are none; otherwise nothing may pass that they have not read.
   */
  labels: RuleSet | null
  /** The rules against content that filters cannot read; null if it is allowed. */
  unscannable: { isEnforced: boolean; layers: Layer[] } | null
  /** Whether values of a prompt are restored in its reply. */
  isReversible: boolean
  moderation: (EffectiveModeration & { isEnforced: boolean })[]
  /** The services that texts are sent to; null if there are none. */
  external: { input: AppliedCheck[]; output: AppliedCheck[] } | null
}

/** A check of a service, for one side. */
export interface AppliedCheck extends EffectiveCheck {
  isEnforced: boolean
}

/** Null if the policy has no rule about content: the common case. */
export function buildContentRules(
  policy: EffectivePolicy,
  allowedPhrases: readonly string[],
): ContentRules | null {
  const inputRules = collectRules(policy, 'input', allowedPhrases)
  const input = buildRuleSet(inputRules)
  const output = buildReplyRules(collectRules(policy, 'output', allowedPhrases))
  const unscannable = findUnscannableRule(policy)
  const moderation = [
    ...policy.moderation.map((rule) => ({ ...rule, isEnforced: true })),
    ...(policy.dry_run?.moderation ?? []).map((rule) => ({ ...rule, isEnforced: false })),
  ]
  const isReversible = [...inputRules.builtins, ...inputRules.customs].some(
    (rule) => rule.reversible && rule.isEnforced,
  )
  const external = listChecks(policy)
  if (!input && !output && !unscannable && moderation.length === 0 && !external) return null
  const labels = buildLabelRules(inputRules)
  return { input, output, labels, unscannable, isReversible, moderation, external }
}

function listChecks({ external_checks, dry_run }: EffectivePolicy): ContentRules['external'] {
  const checks = [
    ...external_checks.map((check) => ({ ...check, isEnforced: true })),
    ...(dry_run?.external_checks ?? []).map((check) => ({ ...check, isEnforced: false })),
  ]
  if (checks.length === 0) return null
  const ofSide = (direction: FilterDirection) =>
    checks.filter(({ scope }) => directionsOf(scope).includes(direction))
  return { input: ofSide('input'), output: ofSide('output') }
}

function isStrict({ action, isEnforced }: BuiltinRule | CustomRule): boolean {
  return isEnforced && action !== 'flag'
}

function buildLabelRules({ builtins, customs, ...rest }: FilterRules): RuleSet | null {
  const redact = <R extends BuiltinRule | CustomRule>(rule: R): R => ({
    ...rule,
    action: 'redact',
    reversible: false,
  })
  return buildRuleSet({
    ...rest,
    builtins: builtins.filter(isStrict).map(redact),
    customs: customs.filter(isStrict).map(redact),
  })
}

function findUnscannableRule({ unscannable_content, dry_run }: EffectivePolicy): ContentRules['unscannable'] {
  if (unscannable_content.value === 'block') return { isEnforced: true, layers: unscannable_content.layers }
  const recorded = dry_run?.unscannable_content
  return recorded?.value === 'block' ? { isEnforced: false, layers: recorded.layers } : null
}

function collectRules(
  policy: EffectivePolicy,
  direction: FilterDirection,
  allowedPhrases: readonly string[],
): FilterRules {
  const enforced = listRules(policy, direction, true)
  const recorded = policy.dry_run
    ? listRules(policy.dry_run, direction, false)
    : { builtins: [], customs: [] }
  return {
    builtins: [...enforced.builtins, ...recorded.builtins],
    customs: [...enforced.customs, ...recorded.customs],
    allowedPhrases,
  }
}

function buildRuleSet(rules: FilterRules): RuleSet | null {
  if (rules.builtins.length + rules.customs.length === 0) return null
  return { key: sha256(JSON.stringify(rules)), rules }
}

function buildReplyRules({ builtins, customs, allowedPhrases }: FilterRules): ReplyRules | null {
  const select = (isSelected: (rule: BuiltinRule | CustomRule) => boolean) =>
    buildRuleSet({
      builtins: builtins.filter(isSelected),
      customs: customs.filter(isSelected),
      ...(allowedPhrases && { allowedPhrases }),
    })
  const enforced = select(isStrict)
  const recorded = select((rule) => !isStrict(rule))
  if (!enforced && !recorded) return null
  return { enforced: enforced && { ...enforced, reach: computeStreamReach(enforced.rules) }, recorded }
}

function listRules(
  { content_filter_builtins, content_filters }: EffectiveRules,
  direction: FilterDirection,
  isEnforced: boolean,
): { builtins: BuiltinRule[]; customs: CustomRule[] } {
  const isOfSide = ({ scope }: { scope: FilterDirection }) => scope === direction
  const traits = (sources: FilterSource[]) => ({ isEnforced, layers: sources.map(({ layer }) => layer) })
  return {
    builtins: content_filter_builtins
      .filter(isOfSide)
      .map(({ slug, action, scan_scope, threshold, reversible, sources }) => ({
        slug,
        action,
        // It selects messages of a prompt.
        ...(scan_scope && direction === 'input' && { scan_scope }),
        ...(threshold !== undefined && { threshold }),
        ...(reversible && { reversible }),
        ...traits(sources),
      })),
    customs: content_filters.filter(isOfSide).map(({ pattern, action, label, reversible, sources }) => ({
      pattern,
      action,
      label,
      ...(reversible && { reversible }),
      ...traits(sources),
    })),
  }
}
