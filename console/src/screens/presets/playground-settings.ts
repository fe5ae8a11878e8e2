import type { SharedPrompt } from '../../components/playground-link.ts'
import { limitFields, type PresetVersion } from './draft.ts'

/** A version as the playground can show it, and the fields that it has no setting for. */
export function playgroundOf({ format, system_prompt, config }: PresetVersion): {
  prompt: SharedPrompt
  left: string[]
} {
  const { model, models, temperature, reasoning, response_format, tools, provider, ...rest } = config
  const { [limitFields[format]]: maxTokens, ...others } = rest
  const isChat = format === 'chat'
  const preferences = asObject(provider)
  const settings = {
    system: system_prompt ?? '',
    temperature,
    maxTokens,
    ...(isChat && { ...readFormat(response_format), effort: asObject(reasoning).effort }),
    ...(isChat && tools !== undefined && { tools: JSON.stringify(tools, null, 2) }),
    sort: preferences.sort,
    only: preferences.only,
    allowFallbacks: preferences.allow_fallbacks !== false,
    denyTraining: preferences.data_collection === 'deny',
    zdr: preferences.zdr === true,
  }
  const left = [
    ...Object.keys(others),
    ...(models === undefined ? [] : ['models']),
    ...(isChat
      ? []
      : Object.keys({
          ...(reasoning !== undefined && { reasoning }),
          ...(tools !== undefined && { tools }),
        })),
    ...Object.keys(preferences)
      .filter((name) => !shownPreferences.includes(name))
      .map((name) => `provider.${name}`),
  ]
  return {
    prompt: { models: typeof model === 'string' ? [model] : [], draft: '', settings, messages: [] },
    left,
  }
}

const shownPreferences = ['sort', 'only', 'allow_fallbacks', 'data_collection', 'zdr']

function readFormat(value: unknown): Record<string, unknown> {
  const { type, json_schema } = asObject(value)
  if (type === 'json_object') return { format: 'json_object' }
  if (type !== 'json_schema') return {}
  return { format: 'json_schema', schema: JSON.stringify(asObject(json_schema).schema ?? {}, null, 2) }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
