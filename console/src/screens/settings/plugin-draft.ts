import type { Schemas } from '../../api/client.ts'
import { parseJsonObject } from '../../components/json-fields.tsx'

export type DefaultPlugin = Schemas['DefaultPlugin']
export type PluginId = DefaultPlugin['id']

/** Descriptions of the plugins. */
export const pluginTexts: Record<PluginId, string> = {
  'auto-router': 'Which models the auto router chooses from',
  'auto-beta-router': 'Which models the beta of the auto router chooses from',
  'context-compression': 'Shortens prompts that are too long for the model',
  'file-parser': 'Reads files for models that cannot',
  fusion: 'Asks several models and merges their answers',
  moderation: 'Classifies prompts before they are sent',
  'pareto-router': 'Chooses the cheapest model that is good enough',
  'response-healing': 'Repairs JSON in replies',
  'switchyard-router': 'Chooses a model by the task',
  web: 'Searches the web and adds what was found',
  'web-fetch': 'Lets the model read pages',
}

/** A default as the form has it. */
export interface PluginDraft {
  id: PluginId
  enabled: boolean
  preventOverrides: boolean
  /** The other settings, as JSON. */
  settings: string
}

export function draftOf({
  id,
  enabled = true,
  prevent_overrides = false,
  ...settings
}: DefaultPlugin): PluginDraft {
  const hasSettings = Object.keys(settings).length > 0
  return {
    id,
    enabled,
    preventOverrides: prevent_overrides,
    settings: hasSettings ? JSON.stringify(settings, null, 2) : '',
  }
}

/** A text: what is wrong with the settings of the plugin. */
export function buildPlugin({
  id,
  enabled,
  preventOverrides,
  settings,
}: PluginDraft): DefaultPlugin | string {
  const parsed = parseJsonObject(settings)
  if (parsed === null) return 'Must be a JSON object, such as {"max_results": 3}.'
  // The server refuses settings that the plugin does not have.
  return { ...parsed, id, enabled, prevent_overrides: preventOverrides } as DefaultPlugin
}
