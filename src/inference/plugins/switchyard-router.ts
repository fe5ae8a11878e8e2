import { findModel } from '../../catalog/lookup.ts'
import { LinkedAbortController } from '../../platform/concurrency/linked-abort-controller.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { reserveTurn } from '../hold/reserve-turn.ts'
import { computeStickyKey } from '../plan/plan.ts'
import {
  buildJudgeCall,
  isHumanTurn,
  parseJudgment,
  type SwitchyardAlgorithm,
  selectSwitchyard,
  type Tier,
  type TierModels,
} from '../routers/switchyard.ts'
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
    const { gateway, request, router, listed, isDryRun } = context
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
      random: isDryRun ? () => 0 : random,
      judge: isDryRun ? null : () => judge(context, [...models.weak, ...models.strong]),
    })
    const tier = selection.data?.tier
    if (tier !== undefined && isHumanTurn(request.content.call) && !isDryRun)
      routedSessions.remember(session, String(tier), gateway.clock.now())
    return { selection, usesListed: listed.length > 0 }
  },
}

/** The models that the request lists, by price, or those of the operator: only those that can serve it. */
function resolveTiers(context: RouterContext): TierModels {
  const { gateway, listed } = context
  const { weak, strong } = gateway.settings.routers.switchyard
  const names = listed.length > 0 ? listed : [...weak, ...strong]
  const resolved = new Map(names.map((name) => [name, findModel(gateway.catalog, name)?.model]))
  const unknown = listed.find((name) => !resolved.get(name))
  if (unknown !== undefined)
    throw invalidFieldError(
      'models',
      `"${unknown.slice(0, 100)}" is not a model that service/switchyard can choose`,
    )
  const serving = listServingModels(context, [
    ...new Set([...resolved.values()].flatMap((model) => model ?? [])),
  ])
  const priceOf = (name: string) => {
    const model = resolved.get(name)
    const candidates = model && serving.get(model)
    return candidates && Math.min(...candidates.map(({ endpoint }) => endpoint.price))
  }
  const usable = (from: readonly string[]) => from.filter((name) => priceOf(name) !== undefined)
  if (listed.length === 0) return { weak: usable(weak), strong: usable(strong) }
  const [cheapest, ...others] = usable(listed).sort((a, b) => (priceOf(a) ?? 0) - (priceOf(b) ?? 0) || 0)
  return { weak: cheapest === undefined ? [] : [cheapest], strong: others.reverse() }
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

/** Requests the tier from the judge model; null without a usable reply. */
async function judge({ gateway, request, callModel }: RouterContext, models: string[]): Promise<Tier | null> {
  const { judge: model, timeout } = gateway.settings.routers.switchyard
  if (model === null) return null
  const abort = new LinkedAbortController([request.httpRequest.signal], timeout)
  try {
    await reserveTurn(gateway, { ...request, options: { ...request.options, models } })
    const call = buildJudgeCall(request.content.call)
    const { signal } = abort
    const { parts } = await callModel({ model, call, purpose: 'switchyard-judge', signal })
    return parseJudgment(parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join(''))
  } catch (err) {
    request.httpRequest.signal.throwIfAborted()
    logOf(gateway, request).warn({ err, model }, 'the judge model of service/switchyard sent no usable reply')
    return null
  } finally {
    abort.close()
  }
}
