import type { PluginId } from '../dialects/schema/plugins.ts'
import { moderation } from './moderation.ts'
import type { Plugin } from './plugin.ts'
import { responseHealing } from './response-healing.ts'

/** In the order they are applied. */
export const plugins: readonly Plugin[] = [moderation, responseHealing]

export function findPlugin(id: PluginId): Plugin | undefined {
  return plugins.find((plugin) => plugin.id === id)
}
