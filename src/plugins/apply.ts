import type { Gateway } from '../app/gateway.ts'
import { withSpan } from '../app/tracing/span-recorder.ts'
import { guardChangedRequest } from '../pipeline/guard/added-content.ts'
import type { InferenceRequest } from '../pipeline/request/inference-request.ts'
import type { RequestWork } from '../pipeline/request/work.ts'
import { findPlugin, plugins } from './all.ts'
import type { PluginContext } from './plugin.ts'

type PrepareOptions = Pick<PluginContext, 'askModel' | 'isDryRun'>

/** For a request that is only quoted, or whose tokens are counted. */
export const dryRun: PrepareOptions = {
  isDryRun: true,
  askModel: () => Promise.reject(new Error('a dry run asks no model')),
}

/** Lets the plugins of a guarded request change it before it is routed. Synchronous if it has none. */
export function preparePlugins(
  gateway: Gateway,
  request: InferenceRequest,
  options: PrepareOptions,
): InferenceRequest | Promise<InferenceRequest> {
  const { work } = request
  if (work === null || work.plugins.length === 0) return request
  return withSpan(request, 'plugins', () => prepareEach(gateway, request, work, options))
}

async function prepareEach(
  gateway: Gateway,
  request: InferenceRequest,
  work: RequestWork,
  options: PrepareOptions,
): Promise<InferenceRequest> {
  for (const { id } of work.plugins) if (!findPlugin(id)) work.dropPlugin(id)
  let prepared = request
  for (const plugin of plugins) {
    const applied = work.findPlugin(plugin.id)
    if (!applied || !plugin.prepare) continue
    const context = { gateway, request: prepared, work, ...options }
    const changed = await plugin.prepare(context, applied.settings)
    prepared = await guardChangedRequest(gateway, prepared, changed)
  }
  return prepared
}
