import type { BuiltinRule, CustomRule, FilterHit } from '../filters/filter-set.ts'
import type { RuleSet } from '../filters/scanner.ts'
import { sha256 } from '../lib/crypto.ts'
import type {
  EffectiveModeration,
  EffectivePolicy,
  EffectiveRules,
  FilterDirection,
  FilterSource,
  Layer,
} from './effective.ts'

/** A rule that matched a request or its reply, without the text it matched. */
export interface GuardrailHit extends Omit<FilterHit, 'part' | 'label'> {
  direction: FilterDirection
  /** Where: a part of a message, or the field of another rule. */
  part: string
}

/** What a policy says about the content of requests and replies. */
export interface ContentRules {
  /** The filters of each side; null if there are none. */
  input: RuleSet | null
  output: RuleSet | null
  /** An input filter blocks or redacts: nothing may pass that it has not read. */
  isStrict: boolean
  /** The rules against content that filters cannot read; null if it is allowed. */
  unscannable: { isEnforced: boolean; layers: Layer[] } | null
  moderation: (EffectiveModeration & { isEnforced: boolean })[]
}

/** Null if the policy has no rule about content: the common case. */
export function buildContentRules(
  policy: EffectivePolicy,
  allowedPhrases: readonly string[],
): ContentRules | null {
  const input = buildRuleSet(policy, 'input', allowedPhrases)
  const output = buildRuleSet(policy, 'output', allowedPhrases)
  const unscannable = findUnscannableRule(policy)
  const moderation = [
    ...policy.moderation.map((rule) => ({ ...rule, isEnforced: true })),
    ...(policy.dry_run?.moderation ?? []).map((rule) => ({ ...rule, isEnforced: false })),
  ]
  if (!input && !output && !unscannable && moderation.length === 0) return null
  return { input, output, isStrict: isStrict(policy), unscannable, moderation }
}

function isStrict({ content_filter_builtins, content_filters }: EffectivePolicy): boolean {
  return [...content_filter_builtins, ...content_filters].some(
    ({ scope, action }) => scope === 'input' && action !== 'flag',
  )
}

function findUnscannableRule({ unscannable_content, dry_run }: EffectivePolicy): ContentRules['unscannable'] {
  if (unscannable_content.value === 'block') return { isEnforced: true, layers: unscannable_content.layers }
  const recorded = dry_run?.unscannable_content
  return recorded?.value === 'block' ? { isEnforced: false, layers: recorded.layers } : null
}

function buildRuleSet(
  policy: EffectivePolicy,
  direction: FilterDirection,
  allowedPhrases: readonly string[],
): RuleSet | null {
  const enforced = listRules(policy, direction, true)
  const recorded = policy.dry_run
    ? listRules(policy.dry_run, direction, false)
    : { builtins: [], customs: [] }
  const rules = {
    builtins: [...enforced.builtins, ...recorded.builtins],
    customs: [...enforced.customs, ...recorded.customs],
    allowedPhrases,
  }
  if (rules.builtins.length + rules.customs.length === 0) return null
  return { key: sha256(JSON.stringify(rules)), rules }
}

function listRules(
  { content_filter_builtins, content_filters }: EffectiveRules,
  direction: FilterDirection,
  isEnforced: boolean,
): { builtins: BuiltinRule[]; customs: CustomRule[] } {
  const isOfSide = ({ scope }: { scope: FilterDirection }) => scope === direction
  const traits = (sources: FilterSource[]) => ({ isEnforced, layers: sources.map(({ layer }) => layer) })
  return {
    builtins: content_filter_builtins.filter(isOfSide).map(({ slug, action, scan_scope, sources }) => ({
      slug,
      action,
      ...(scan_scope && { scan_scope }),
      ...traits(sources),
    })),
    customs: content_filters
      .filter(isOfSide)
      .map(({ pattern, action, label, sources }) => ({ pattern, action, label, ...traits(sources) })),
  }
}
