import type { ResolvedModel } from '../../catalog/lookup.ts'
import type { RouterStrategy } from '../../catalog/router-models.ts'
import type { PluginId, PluginSettings } from '../../formats/schema/plugins.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { RouterSelection } from '../routers/candidate.ts'
import type { PluginContext } from './plugin.ts'

/** A router model's way of choosing the models of a request. Its other changes are made in the request itself. */
export interface Router {
  /** The id of the router model in the catalog. */
  model: string
  /** The plugin with its settings; null if it has none. */
  plugin: PluginId | null
  /** The name of its stage in `service_metadata.pipeline`. */
  stage: string
  strategy: RouterStrategy
  route(context: RouterContext): RouterResult | Promise<RouterResult>
}

export interface RouterContext extends PluginContext {
  /** The router model, with the suffixes that the request adds to it. */
  router: ResolvedModel
  /** The other models that the request lists. */
  listed: readonly string[]
}

export interface RouterResult {
  selection: RouterSelection
  /** Whether it chose among the other models of the request, so that these are not fallbacks. */
  usesListed?: boolean
}

/** The settings of a plugin, from the request or the account; empty if there are none. */
export function settingsOf<Id extends PluginId>(
  { work }: PluginContext,
  id: Id,
): Partial<PluginSettings<Id>> {
  return (work.findPlugin(id)?.settings ?? {}) as Partial<PluginSettings<Id>>
}

export function noModelError({ router }: RouterContext, remedy: string): GatewayError {
  return new GatewayError('no_endpoints', {
    message: `model: "${router.model.id}" found no model for this request. ${remedy}`,
    param: 'model',
    availability: {
      code: 'constraint_filtered',
      retryable: false,
      requested_models: [router.model.id],
    },
  })
}
