import type {
  DeniedItem,
  EffectivePolicy,
  EffectiveRules,
  FilterDirection,
  FilterSource,
  Layer,
  LayeredValue,
  Restriction,
} from '../../../governance/policy/effective.ts'
import { type FilterAction, zdrGroups } from '../../../governance/policy/guardrail.ts'
import type { AppliedModeration } from '../../../inference/guard/moderation-rules.ts'
import type { Exclusion } from '../../../inference/routing/prepare.ts'

/** A guardrail rule that restricts where requests may be sent, or what they may contain. */
export interface GuardrailRule {
  field: string
  layers: Layer[]
  effect: string
  /** Whether its matches are only recorded. */
  dry_run: boolean
  /** The number of endpoints it excludes for this request. */
  excludes: number
}

type RuleDescription = Omit<GuardrailRule, 'excludes' | 'dry_run'>

export function describeRules(policy: EffectivePolicy, excluded: readonly Exclusion[]): GuardrailRule[] {
  const enforced = describeAll(policy).map((rule) => ({
    ...rule,
    dry_run: false,
    excludes: countExcluded(rule.field, excluded),
  }))
  const recorded = policy.dry_run ? describeAll(policy.dry_run) : []
  return [...enforced, ...recorded.map((rule) => ({ ...rule, dry_run: true, excludes: 0 }))]
}

function describeAll(rules: EffectiveRules): RuleDescription[] {
  return [...describePlacement(rules), ...describeRetention(rules), ...describeContent(rules)]
}

/** The model that would be called first. */
export function describeModeration(rules: readonly AppliedModeration[]): GuardrailRule[] {
  return rules.map(({ model, action, isEnforced, layers }) => {
    const outcome =
      action === 'block' && isEnforced ? 'What it flags is refused' : 'What it flags is recorded'
    const effect = `The prompt is classified by ${model ?? 'a moderation model that is not configured'} first. ${outcome}.`
    return { field: 'moderation', layers, effect, dry_run: !isEnforced, excludes: 0 }
  })
}

/** The router reports one rule for all vendors. */
function countExcluded(field: string, excluded: readonly Exclusion[]): number {
  const name = field.startsWith('enforce_zdr') ? 'enforce_zdr' : field
  return excluded.filter(({ reason }) => reason === `guardrail:${name}`).length
}

/** Described by other parts of a quote, or by a rule for each vendor. */
type DescribedElsewhere =
  | 'budgets'
  | 'content_filter_builtins'
  | 'content_filters'
  | 'enforce_zdr'
  | 'external_checks'
  | 'moderation'
  | 'unscannable_content'

/** The effect of each field on requests; null if it has none. */
const ruleEffects: Record<
  Exclude<keyof EffectiveRules, DescribedElsewhere>,
  (policy: EffectiveRules) => Omit<RuleDescription, 'field'> | null
> = {
  allowed_data_regions: (policy) =>
    describeAllowList(policy.allowed_data_regions, 'Requests may be made in these regions only'),
  allowed_models: (policy) => describeAllowList(policy.allowed_models, 'Only these models may be used'),
  allowed_providers: (policy) =>
    describeAllowList(policy.allowed_providers, 'Only these providers may be used'),
  ignored_models: (policy) => describeDenyList(policy.ignored_models, 'These models may not be used'),
  ignored_providers: (policy) =>
    describeDenyList(policy.ignored_providers, 'These providers may not be used'),
  enable_free_model_training: (policy) =>
    describeSwitch(
      policy.enable_free_model_training,
      'Free endpoints that may train on prompts are not used.',
    ),
  enable_paid_model_training: (policy) =>
    describeSwitch(
      policy.enable_paid_model_training,
      'Paid endpoints that may train on prompts are not used.',
    ),
  enable_free_model_publication: (policy) =>
    describeSwitch(
      policy.enable_free_model_publication,
      'Free endpoints that may publish prompts are not used.',
    ),
}

function describeAllowList({ values, layers }: Restriction<string>, effect: string) {
  return values === null ? null : { layers, effect: `${effect}: ${formatList(values)}.` }
}

function describeDenyList(denied: readonly DeniedItem[], effect: string) {
  if (denied.length === 0) return null
  const layers = [...new Set(denied.flatMap((entry) => entry.layers))]
  return { layers, effect: `${effect}: ${formatList(denied.map(({ value }) => value))}.` }
}

function describeSwitch({ value, layers }: LayeredValue<boolean | null>, effect: string) {
  return value === false ? { layers, effect } : null
}

function describePlacement(policy: EffectiveRules): RuleDescription[] {
  return Object.entries(ruleEffects).flatMap(([field, effectOf]) => {
    const description = effectOf(policy)
    return description ? [{ field, ...description }] : []
  })
}

function describeRetention({ enforce_zdr }: EffectiveRules): RuleDescription[] {
  return zdrGroups.flatMap((group) => {
    const { value, layers } = enforce_zdr[group]
    const effect = `Endpoints for models of ${group} that retain prompts are not used.`
    return value ? [{ field: `enforce_zdr_${group}`, layers, effect }] : []
  })
}

/** A rule for each action and side: the filters are named, patterns are not. */
function describeContent(rules: EffectiveRules): RuleDescription[] {
  const { content_filter_builtins, content_filters, unscannable_content } = rules
  const builtins = content_filter_builtins.map((filter) => ({ ...filter, name: filter.slug }))
  const customs = content_filters.map((filter) => ({ ...filter, name: filter.label ?? 'a custom pattern' }))
  return [
    ...describeFilters('content_filter_builtins', builtins),
    ...describeFilters('content_filters', customs),
    ...(unscannable_content.value === 'block'
      ? [
          {
            field: 'unscannable_content',
            layers: unscannable_content.layers,
            effect: 'Requests with content that no filter can read are blocked.',
          },
        ]
      : []),
    ...describeChecks(rules),
  ]
}

/** The services that texts would be sent to. */
function describeChecks({ external_checks }: EffectiveRules): RuleDescription[] {
  const outcomes = { block: 'refused', redact: 'redacted', flag: 'recorded' }
  const subjects = { input: 'The prompt is', output: 'The reply is', both: 'The prompt and the reply are' }
  return external_checks.map(({ name, action, scope, layer }) => ({
    field: 'external_checks',
    layers: [layer],
    effect: `${subjects[scope]} checked by "${name}". What it flags is ${outcomes[action]}.`,
  }))
}

interface DescribedFilter {
  name: string
  action: FilterAction
  scope: FilterDirection
  sources: FilterSource[]
}

const actionEffects: Record<FilterAction, string> = {
  block: 'blocked if they match',
  redact: 'redacted where they match',
  flag: 'recorded if they match',
}

function describeFilters(field: string, filters: readonly DescribedFilter[]): RuleDescription[] {
  const groups = Map.groupBy(filters, ({ action, scope }) => `${action} ${scope}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (!first) return []
    const subject = first.scope === 'input' ? 'Prompts' : 'Replies'
    const names = formatList([...new Set(group.map(({ name }) => name))])
    const layers = [...new Set(group.flatMap(({ sources }) => sources.map(({ layer }) => layer)))]
    return [{ field, layers, effect: `${subject} are ${actionEffects[first.action]}: ${names}.` }]
  })
}

const maxListed = 10

function formatList(values: readonly string[]): string {
  if (values.length === 0) return 'none'
  const more = values.length - maxListed
  const names = values.slice(0, maxListed).join(', ')
  return more > 0 ? `${names} and ${more} more` : names
}
