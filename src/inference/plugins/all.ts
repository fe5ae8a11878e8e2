import type { PluginId } from '../../formats/schema/plugins.ts'
import { autoBetaRouterPlugin } from './auto-beta-router.ts'
import { autoRouterPlugin } from './auto-router.ts'
import { contextCompression } from './context-compression.ts'
import { fileParser } from './file-parser.ts'
import { fusionPlugin } from './fusion.ts'
import { moderation } from './moderation.ts'
import { paretoRouterPlugin } from './pareto-router.ts'
import type { Plugin } from './plugin.ts'
import { responseHealing } from './response-healing.ts'
import { switchyardRouterPlugin } from './switchyard-router.ts'
import { web } from './web.ts'
import { webFetch } from './web-fetch.ts'

/** Plugins in the order they are applied. */
export const plugins: readonly Plugin[] = [
  autoRouterPlugin,
  autoBetaRouterPlugin,
  paretoRouterPlugin,
  switchyardRouterPlugin,
  fusionPlugin,
  moderation,
  web,
  webFetch,
  fileParser,
  contextCompression,
  responseHealing,
]

export function findPlugin(id: PluginId): Plugin | undefined {
  return plugins.find((plugin) => plugin.id === id)
}
