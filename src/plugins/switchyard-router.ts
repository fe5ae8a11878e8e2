import { findModel } from '../catalogue/lookup.ts'
import { invalidFieldError } from '../errors/gateway-error.ts'
import { computeStickyKey } from '../pipeline/routing/plan.ts'
import {
  buildJudgeCall,
  isHumanTurn,
  parseJudgement,
  type SwitchyardAlgorithm,
  selectSwitchyard,
  type Tier,
  type TierModels,
} from '../router-models/switchyard.ts'
import type { Plugin } from './plugin.ts'
import { noModelError, type Router, type RouterContext, settingsOf } from './router.ts'
import { listServingModels } from './router-candidates.ts'

export const switchyardRouterPlugin: Plugin<'switchyard-router'> = { id: 'switchyard-router' }

export const switchyardRouter: Router = {
  model: 'service/switchyard',
  plugin: 'switchyard-router',
  stage: 'switchyard-router',
  strategy: 'auto',
  route: async (context) => {
    const { gateway, request, router, listed } = context
    const { algorithm = 'capability' } = settingsOf(context, 'switchyard-router')
    const models = resolveTiers(context)
    assertConfigured(context, algorithm, models)
    const { routedSessions, random } = gateway.routing
    const session = computeStickyKey(request, router.model.id)
    const selection = await selectSwitchyard({
      algorithm,
      call: request.content.call,
      models,
      remembered: routedSessions.find(session, gateway.clock.now()) as Tier | null,
      random,
      judge: () => judge(context),
    })
    const tier = selection.data?.tier
    if (tier !== undefined && isHumanTurn(request.content.call) && !context.isDryRun)
      routedSessions.remember(session, String(tier), gateway.clock.now())
    return { selection, usesListed: listed.length > 0 }
  },
}

/** The models that the request lists, cheapest first, or those of the operator: only those that can serve it. */
function resolveTiers(context: RouterContext): TierModels {
  const { gateway, listed } = context
  const { weak, strong } = gateway.settings.routers.switchyard
  const names = listed.length > 0 ? listed : [...weak, ...strong]
  const resolved = names.flatMap((name) => findModel(gateway.catalogue, name) ?? [])
  const serving = listServingModels(context, [...new Set(resolved.map(({ model }) => model))])
  if (listed.length === 0) {
    const canServe = (name: string) => {
      const model = findModel(gateway.catalogue, name)?.model
      return model !== undefined && serving.has(model)
    }
    return { weak: weak.filter(canServe), strong: strong.filter(canServe) }
  }
  const byPrice = [...serving]
    .map(([{ id }, candidates]) => ({
      id,
      price: Math.min(...candidates.map(({ endpoint }) => endpoint.price)),
    }))
    .sort((a, b) => a.price - b.price || 0)
  return {
    weak: byPrice.slice(0, 1).map(({ id }) => id),
    strong: byPrice
      .slice(1)
      .reverse()
      .map(({ id }) => id),
  }
}

function assertConfigured(
  context: RouterContext,
  algorithm: SwitchyardAlgorithm,
  { weak, strong }: TierModels,
): void {
  const { gateway, listed } = context
  const { switchyard } = gateway.settings.routers
  if (listed.length === 0 && (switchyard.weak.length === 0 || switchyard.strong.length === 0))
    throw invalidFieldError(
      'models',
      'must list the models to choose from, because the operator has not set routers.switchyard',
    )
  if (algorithmsWithJudge.has(algorithm) && switchyard.judge === null)
    throw invalidFieldError(
      'plugins.switchyard-router.algorithm',
      `"${algorithm}" needs a judge model, which the operator sets with routers.switchyard.judge; use auto, random or passthrough`,
    )
  if (weak.length + strong.length === 0) throw noModelError(context, 'List other models in "models".')
}

const algorithmsWithJudge: ReadonlySet<SwitchyardAlgorithm> = new Set(['capability', 'stage', 'composite'])

/** Null without a usable answer, and for a quote, which asks no model. */
async function judge({ gateway, request, askModel, isDryRun }: RouterContext): Promise<Tier | null> {
  const { judge: model, timeout } = gateway.settings.routers.switchyard
  if (isDryRun || model === null) return null
  const signal = AbortSignal.any([request.httpRequest.signal, AbortSignal.timeout(timeout)])
  try {
    const call = buildJudgeCall(request.content.call)
    const { parts } = await askModel({ model, call, purpose: 'switchyard-judge', signal })
    return parseJudgement(parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join(''))
  } catch (err) {
    request.httpRequest.signal.throwIfAborted()
    gateway.log.warn({ err, model }, 'the judge model of service/switchyard gave no answer')
    return null
  }
}
