import { findModel, type ResolvedModel } from '../../catalog/lookup.ts'
import { findRouterModel, isRouterSlug } from '../../catalog/router-models.ts'
import { assertRouterAllowed } from '../../governance/policy/guard.ts'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { withSpan } from '../../platform/tracing/span-recorder.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { PipelineStage } from '../request/work.ts'
import { autoBetaRouter } from './auto-beta-router.ts'
import { autoRouter } from './auto-router.ts'
import { bodybuilder } from './bodybuilder.ts'
import { freeRouter } from './free-router.ts'
import { fusionFlashRouter, fusionRouter } from './fusion.ts'
import { paretoRouter } from './pareto-router.ts'
import type { PluginContext } from './plugin.ts'
import type { Router, RouterResult } from './router.ts'
import { switchyardRouter } from './switchyard-router.ts'

const routers: readonly Router[] = [
  autoRouter,
  autoBetaRouter,
  paretoRouter,
  freeRouter,
  bodybuilder,
  switchyardRouter,
  fusionRouter,
  fusionFlashRouter,
]

/** Whether the request names a router model: a cheap check, made for every request. */
export function namesRouter({ options }: InferenceRequest): boolean {
  return options.models.some(isRouterSlug)
}

/** Replaces the router models of a request by the models they choose. Settings of other routers are dropped. */
export async function routeModels(context: PluginContext): Promise<void> {
  const { gateway, request, work } = context
  const requested = request.options.models
  const used = new Set<Router>()
  for (const slug of requested) {
    const router = findRouterModel(gateway.catalog, slug)
    const known = router && routers.find(({ model }) => model === router.model.id)
    if (!router || !known) continue
    assertUsable(request, router)
    assertRouterAllowed(request.keyContext.policy, router.model)
    const listed = requested.filter((name) => name !== slug)
    const route = () => known.route({ ...context, router, listed })
    const result = await withSpan(request, `router ${known.stage}`, route)
    work.stages.push(describeStage(known, result))
    replaceModel(context, slug, { ...result, strategy: known.strategy, variants: router.variants })
    used.add(known)
  }
  for (const router of routers)
    if (router.plugin && !used.has(router) && work.findPlugin(router.plugin)) work.dropPlugin(router.plugin)
}

function assertUsable({ region, format }: InferenceRequest, { model: { id } }: ResolvedModel): void {
  if (region !== 'global')
    throw gatewayError('region_refused', `model: "${id}" is not available in the region ${region}.`)
  if (format.name === 'completions')
    throw invalidFieldError('model', `"${id}" needs messages; use /chat/completions, or name a model`)
}

/** The suffixes of the router apply to the models it chose. */
function replaceModel(
  { gateway: { catalog }, request }: PluginContext,
  slug: string,
  choice: RouterResult & Pick<Router, 'strategy'> & Pick<ResolvedModel, 'variants'>,
): void {
  const { options } = request
  const { selection, usesListed, strategy, variants } = choice
  // Without fallbacks the client accepts only the choice itself.
  const chosen =
    options.preferences.allow_fallbacks === false ? selection.models.slice(0, 1) : selection.models
  const slugs = chosen.map((name) => [name, ...variants].join(':'))
  const idOf = (name: string) => findModel(catalog, name)?.model.id ?? name
  const isFirst = options.models[0] === slug
  const others = usesListed ? [slug] : options.models
  const models = [...new Set(others.flatMap((name) => (name === slug ? slugs : [name])))]
  request.options = {
    ...options,
    models,
    ...(isFirst && { routed: { requested: slug, strategy, models: chosen.map(idOf) } }),
  }
}

function describeStage({ stage, model }: Router, { selection }: RouterResult): PipelineStage {
  const { models, reason, runnersUp, data } = selection
  const [chosen = '', ...fallbacks] = models
  return {
    type: 'plugin',
    name: stage,
    summary: `${model} chose ${chosen}. ${reason}`,
    data: {
      ...data,
      model: chosen,
      reason,
      fallbacks,
      runners_up: runnersUp.map(({ model: id, reason: why }) => ({ model: id, reason: why })),
    },
  }
}
