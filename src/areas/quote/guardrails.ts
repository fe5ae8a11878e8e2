import type { EffectivePolicy, Layer } from '../../policy/effective.ts'
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
  const said = [...allowed(policy), ...ignored(policy), ...training(policy), ...retention(policy)]
  return said.map((rule) => ({ ...rule, excludes: excludedBy(rule.field, left) }))
}

/** The router names one rule for all vendors. */
function excludedBy(field: string, left: readonly LeftOut[]): number {
  const name = field.startsWith('enforce_zdr') ? 'enforce_zdr' : field
  return left.filter(({ reason }) => reason === `guardrail:${name}`).length
}

const lists = {
  allowed_data_regions: 'Requests may be made in these regions only',
  allowed_models: 'Only these models may be used',
  allowed_providers: 'Only these providers may be used',
} as const

function allowed(policy: EffectivePolicy): Said[] {
  return Object.entries(lists).flatMap(([name, effect]) => {
    const field = name as keyof typeof lists
    const { values, layers } = policy[field]
    return values === null ? [] : [{ field, layers, effect: `${effect}: ${listed(values)}.` }]
  })
}

const denials = {
  ignored_models: 'These models may not be used',
  ignored_providers: 'These providers may not be used',
} as const

function ignored(policy: EffectivePolicy): Said[] {
  return Object.entries(denials).flatMap(([name, effect]) => {
    const field = name as keyof typeof denials
    const denied = policy[field]
    if (denied.length === 0) return []
    const layers = [...new Set(denied.flatMap((entry) => entry.layers))]
    return [{ field, layers, effect: `${effect}: ${listed(denied.map(({ value }) => value))}.` }]
  })
}

const refusals = {
  enable_free_model_training: 'Free endpoints that may train on prompts are not used.',
  enable_paid_model_training: 'Paid endpoints that may train on prompts are not used.',
  enable_free_model_publication: 'Free endpoints that may publish prompts are not used.',
} as const

function training(policy: EffectivePolicy): Said[] {
  return Object.entries(refusals).flatMap(([name, effect]) => {
    const field = name as keyof typeof refusals
    const { value, layers } = policy[field]
    return value === false ? [{ field, layers, effect }] : []
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
