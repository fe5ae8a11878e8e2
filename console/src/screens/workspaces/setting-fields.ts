import type { Schemas } from '../../api/client.ts'
import type { paths } from '../../api/schema.ts'

type Workspace = Schemas['Workspace']
type Changes = NonNullable<paths['/workspaces/{id}']['patch']['requestBody']>['content']['application/json']

/** The settings as the form has them: an empty text is none. */
export interface SettingFields {
  name: string
  slug: string
  description: string
  default_text_model: string
  default_image_model: string
  default_provider_sort: string | null
  is_observability_io_logging_enabled: boolean
  is_observability_broadcast_enabled: boolean
  is_prompt_caching_enabled: boolean
  stored_percent: number
}

export function settingsOf(workspace: Workspace): SettingFields {
  return {
    name: workspace.name,
    slug: workspace.slug,
    description: workspace.description ?? '',
    default_text_model: workspace.default_text_model ?? '',
    default_image_model: workspace.default_image_model ?? '',
    default_provider_sort: workspace.default_provider_sort,
    is_observability_io_logging_enabled: workspace.is_observability_io_logging_enabled,
    is_observability_broadcast_enabled: workspace.is_observability_broadcast_enabled,
    is_prompt_caching_enabled: workspace.is_prompt_caching_enabled,
    stored_percent: Math.round(workspace.io_logging_sampling_rate * 10_000) / 100,
  }
}

/** The changes to send: the fields that differ from the workspace. */
export function changesOf(workspace: Workspace, fields: SettingFields): Changes {
  const { stored_percent, ...rest } = fields
  const before = settingsOf(workspace)
  const changed = Object.entries(rest).filter(
    ([name, value]) => value !== before[name as keyof SettingFields],
  )
  const texts = changed.map(([name, value]) => [
    name,
    typeof value === 'string' ? value.trim() || null : value,
  ])
  return {
    ...Object.fromEntries(texts),
    ...(stored_percent !== before.stored_percent && { io_logging_sampling_rate: stored_percent / 100 }),
  }
}
