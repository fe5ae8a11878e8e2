import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import {
  type DefaultPlugin,
  type PluginEntry,
  type PluginId,
  plugin as pluginEntry,
} from '../../formats/schema/plugins.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { RequestWork } from './work.ts'

const pluginList = z.object({ plugins: z.array(pluginEntry).nullish() })

/**
 * The plugins of a request: its own, and the defaults of the account that it does not name. A default that prevents
 * overrides is final. Null if there are none.
 */
export function resolvePlugins(
  body: JsonObject,
  models: readonly string[],
  defaults: readonly DefaultPlugin[],
): RequestWork | null {
  const requested = readEntries(body, models)
  if (requested.length === 0 && defaults.length === 0) return null
  const isFinal = ({ id }: PluginEntry) =>
    defaults.some((other) => other.id === id && other.prevent_overrides)
  const entries: PluginEntry[] = [
    ...requested.filter((entry) => !isFinal(entry)),
    ...defaults.filter(({ id, prevent_overrides }) => prevent_overrides || !includes(requested, id)),
  ]
  const applied = entries.filter(isEnabled).map((entry) => ({
    id: entry.id,
    settings: settingsOf(entry),
    isDefault: !includes(requested, entry.id),
  }))
  const work = new RequestWork(
    applied,
    new Set(entries.filter((entry) => !isEnabled(entry)).map(({ id }) => id)),
  )
  for (const entry of requested.filter(isFinal))
    if (
      !isSame(
        entry,
        defaults.find(({ id }) => id === entry.id),
      )
    )
      work.dropped.push(`plugins.${entry.id}`)
  return work
}

function includes(entries: readonly PluginEntry[], id: PluginId): boolean {
  return entries.some((entry) => entry.id === id)
}

function isEnabled({ enabled }: PluginEntry): boolean {
  return enabled !== false
}

function isSame(entry: PluginEntry, other: DefaultPlugin | undefined): boolean {
  return (
    other !== undefined &&
    isEnabled(entry) === isEnabled(other) &&
    isDeepStrictEqual(settingsOf(entry), settingsOf(other))
  )
}

function settingsOf(entry: Partial<DefaultPlugin>): JsonObject {
  const { id: _id, enabled: _enabled, prevent_overrides: _final, ...settings } = entry
  return settings
}

/**
 * Reads and validates the entries again: a preset may be older than the schema, and not every format declares the
 * field.
 */
function readEntries(body: JsonObject, models: readonly string[]): PluginEntry[] {
  const { plugins, transforms } = body
  const listed: PluginEntry[] =
    plugins == null ? [] : (validateInput(pluginList, { plugins }, 'body').plugins ?? [])
  const ids = listed.map(({ id }) => id)
  const repeated = ids.findIndex((id, index) => ids.indexOf(id) !== index)
  if (repeated >= 0)
    throw invalidFieldError(`plugins.${repeated}.id`, `"${ids[repeated]}" is listed more than once`)
  const implied: PluginEntry[] = [
    ...(Array.isArray(transforms) ? [readTransforms(transforms)] : []),
    ...(models.some(isOnline) ? [{ id: 'web' as const }] : []),
  ]
  return [...listed, ...implied.filter(({ id }) => !ids.includes(id))]
}

/** Whether a model has the suffix `:online`, the older spelling of the plugin web. */
function isOnline(slug: string): boolean {
  return slug.split(':').includes('online', 1)
}

/** The older spelling of the plugin context-compression; an empty list switches it off. */
function readTransforms(transforms: unknown[]): PluginEntry {
  const unknown = transforms.findIndex((name) => name !== 'middle-out')
  if (unknown >= 0) throw invalidFieldError(`transforms.${unknown}`, 'must be "middle-out"')
  return { id: 'context-compression', enabled: transforms.length > 0 }
}
