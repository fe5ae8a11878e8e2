import { z } from 'zod'
import { type PluginId, plugin as pluginEntry } from '../../dialects/schema/plugins.ts'
import { invalidFieldError } from '../../errors/gateway-error.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { validateInput } from '../../lib/validate-input.ts'
import { type AppliedPlugin, RequestWork } from './work.ts'

interface PluginEntry {
  id: PluginId
  enabled?: boolean | undefined
  [setting: string]: unknown
}

const pluginList = z.object({ plugins: z.array(pluginEntry).nullish() })

/** The plugins of a request; null if it names none. */
export function resolvePlugins(body: JsonObject): RequestWork | null {
  const entries = readEntries(body)
  if (entries.length === 0) return null
  const isOff = ({ enabled }: PluginEntry) => enabled === false
  const applied = entries.filter((entry) => !isOff(entry)).map(toAppliedPlugin)
  return new RequestWork(applied, new Set(entries.filter(isOff).map(({ id }) => id)))
}

function toAppliedPlugin({ id, enabled: _on, ...settings }: PluginEntry): AppliedPlugin {
  return { id, settings }
}

/** Validated again: a preset may be older than the schema, and not every format declares the field. */
function readEntries(body: JsonObject): PluginEntry[] {
  const { plugins, transforms } = body
  const listed: PluginEntry[] =
    plugins == null ? [] : (validateInput(pluginList, { plugins }, 'body').plugins ?? [])
  const ids: PluginId[] = listed.map(({ id }) => id)
  const repeated = ids.findIndex((id, index) => ids.indexOf(id) !== index)
  if (repeated >= 0)
    throw invalidFieldError(`plugins.${repeated}.id`, `"${ids[repeated]}" is listed more than once`)
  const compression = Array.isArray(transforms) ? readTransforms(transforms) : null
  return compression && !ids.includes(compression.id) ? [...listed, compression] : listed
}

/** The older spelling of the plugin context-compression; an empty list switches it off. */
function readTransforms(transforms: unknown[]): PluginEntry {
  const unknown = transforms.findIndex((name) => name !== 'middle-out')
  if (unknown >= 0) throw invalidFieldError(`transforms.${unknown}`, 'must be "middle-out"')
  return { id: 'context-compression', enabled: transforms.length > 0 }
}
