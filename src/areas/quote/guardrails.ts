import type { Decided, Denied, EffectivePolicy, Layer, Restriction } from '../../policy/effective.ts'
import { zdrGroups } from '../../policy/guardrail.ts'
import type { LeftOut } from '../../routing/decide.ts'

/** What a guardrail says that has to do with where requests may go. */
export interface Rule {
  field: string
  layers: Layer[]
  effect: string
  /** Endpoints that it leaves out for this request. */
  excludes: number
}

type Said = Omit<Rule, 'excludes'>

export function rulesOf(policy: EffectivePolicy, left: readonly LeftOut[]): Rule[] {
  const said = [...placement(policy), ...retention(policy)]
  return said.map((rule) => ({ ...rule, excludes: excludedBy(rule.field, left) }))
}

/** The router names one rule for all vendors. */
function excludedBy(field: string, left: readonly LeftOut[]): number {
  const name = field.startsWith('enforce_zdr') ? 'enforce_zdr' : field
  return left.filter(({ reason }) => reason === `guardrail:${name}`).length
}

/** Each field, and what it means for requests; null when it says nothing. */
const effects: Record<string, (policy: EffectivePolicy) => Omit<Said, 'field'> | null> = {
  allowed_data_regions: (policy) =>
    only(policy.allowed_data_regions, 'Requests may be made in these regions only'),
  allowed_models: (policy) => only(policy.allowed_models, 'Only these models may be used'),
  allowed_providers: (policy) => only(policy.allowed_providers, 'Only these providers may be used'),
  ignored_models: (policy) => never(policy.ignored_models, 'These models may not be used'),
  ignored_providers: (policy) => never(policy.ignored_providers, 'These providers may not be used'),
  enable_free_model_training: (policy) =>
    unless(policy.enable_free_model_training, 'Free endpoints that may train on prompts are not used.'),
  enable_paid_model_training: (policy) =>
    unless(policy.enable_paid_model_training, 'Paid endpoints that may train on prompts are not used.'),
  enable_free_model_publication: (policy) =>
    unless(policy.enable_free_model_publication, 'Free endpoints that may publish prompts are not used.'),
}

function only({ values, layers }: Restriction<string>, effect: string) {
  return values === null ? null : { layers, effect: `${effect}: ${listed(values)}.` }
}

function never(denied: readonly Denied[], effect: string) {
  if (denied.length === 0) return null
  const layers = [...new Set(denied.flatMap((entry) => entry.layers))]
  return { layers, effect: `${effect}: ${listed(denied.map(({ value }) => value))}.` }
}

function unless({ value, layers }: Decided<boolean | null>, effect: string) {
  return value === false ? { layers, effect } : null
}

function placement(policy: EffectivePolicy): Said[] {
  return Object.entries(effects).flatMap(([field, effectOf]) => {
    const said = effectOf(policy)
    return said ? [{ field, ...said }] : []
  })
}

function retention({ enforce_zdr }: EffectivePolicy): Said[] {
  return zdrGroups.flatMap((group) => {
    const { value, layers } = enforce_zdr[group]
    const effect = `Endpoints for models of ${group} that keep prompts are not used.`
    return value ? [{ field: `enforce_zdr_${group}`, layers, effect }] : []
  })
}

const mostListed = 10

function listed(values: readonly string[]): string {
  if (values.length === 0) return 'none'
  const more = values.length - mostListed
  const names = values.slice(0, mostListed).join(', ')
  return more > 0 ? `${names} and ${more} more` : names
}
