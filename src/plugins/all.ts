import type { PluginId } from '../dialects/schema/plugins.ts'
import { moderation } from './moderation.ts'
import type { Plugin } from './plugin.ts'

/** In the order they are applied. */
export const plugins: readonly Plugin[] = [moderation]

export function findPlugin(id: PluginId): Plugin | undefined {
  return plugins.find((plugin) => plugin.id === id)
}
