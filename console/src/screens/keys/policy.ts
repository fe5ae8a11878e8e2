import type { Schemas } from '../../api/client.ts'
import { formatMoney } from '../../format/money.ts'

type KeyPolicy = Schemas['KeyPolicy']

export interface PolicyLine {
  rule: string
  value: string
  /** The layers that set the rule: organization, workspace, member, key. */
  layers: string[]
}

/** Only what restricts the key. */
export function describePolicy(policy: KeyPolicy): PolicyLine[] {
  return [
    ...describeLists(policy),
    ...describeFilters(policy),
    ...describeDataPolicy(policy),
    ...policy.budgets.map(({ limit_usd, reset_interval, scope, layer }) => ({
      rule: scope === 'key' ? 'Budget of the key' : 'Budget of all keys of its creator',
      value: `${formatMoney(limit_usd)}${reset_interval ? ` ${reset_interval}` : ''}`,
      layers: [layer],
    })),
  ]
}

function describeLists(policy: KeyPolicy): PolicyLine[] {
  const allowed = [
    { rule: 'Allowed models', list: policy.allowed_models },
    { rule: 'Allowed providers', list: policy.allowed_providers },
    { rule: 'Allowed regions', list: policy.allowed_data_regions },
  ]
  const ignored = [
    ...policy.ignored_models.map(({ value, layers }) => ({ rule: 'Excluded model', value, layers })),
    ...policy.ignored_providers.map(({ value, layers }) => ({ rule: 'Excluded provider', value, layers })),
  ]
  return [
    ...allowed.flatMap(({ rule, list: { values, layers } }) =>
      values === null ? [] : [{ rule, value: values.length > 0 ? values.join(', ') : 'none', layers }],
    ),
    ...ignored,
  ]
}

function describeFilters(policy: KeyPolicy): PolicyLine[] {
  return [
    ...policy.content_filter_builtins.map(({ label, action, scope, reversible, sources }) => ({
      rule: `Filter of the ${scope}: ${label}`,
      value: reversible ? `${action}, restored in replies` : action,
      layers: sources.map(({ layer }) => layer),
    })),
    ...policy.content_filters.map(({ label, pattern, action, scope, reversible, sources }) => ({
      rule: `Filter of the ${scope}: ${label ?? pattern}`,
      value: reversible ? `${action}, restored in replies` : action,
      layers: sources.map(({ layer }) => layer),
    })),
    ...policy.moderation.map(({ layer, action, model }) => ({
      rule: `Moderation${model ? ` by ${model}` : ''}`,
      value: action,
      layers: [layer],
    })),
    ...policy.external_checks.map(({ layer, action, name, scope }) => ({
      rule: `External check (${scope}): ${name}`,
      value: action,
      layers: [layer],
    })),
  ]
}

function describeDataPolicy(policy: KeyPolicy): PolicyLine[] {
  const excluded = [
    { rule: 'Free models that publish prompts', setting: policy.enable_free_model_publication },
    { rule: 'Free models that train on prompts', setting: policy.enable_free_model_training },
    { rule: 'Paid models that train on prompts', setting: policy.enable_paid_model_training },
  ].filter(({ setting }) => setting.value === false)
  const retention = Object.values(policy.enforce_zdr).filter(({ value }) => value)
  return [
    ...excluded.map(({ rule, setting }) => ({ rule, value: 'excluded', layers: setting.layers })),
    ...(retention.length > 0
      ? [
          {
            rule: 'Zero data retention',
            value:
              retention.length === Object.keys(policy.enforce_zdr).length
                ? 'required'
                : 'required for some models',
            layers: [...new Set(retention.flatMap(({ layers }) => layers))],
          },
        ]
      : []),
    ...(policy.unscannable_content.value === 'block'
      ? [
          {
            rule: 'Content that filters cannot read',
            value: 'block',
            layers: policy.unscannable_content.layers,
          },
        ]
      : []),
  ]
}
