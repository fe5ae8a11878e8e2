import { classifyTask } from '../../analytics/classifier/classify.ts'
import type { PluginSettings } from '../../formats/schema/plugins.ts'
import { asObjects, asString } from '../../platform/json/json-values.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { computeStickyKey } from '../plan/plan.ts'
import type { InferenceRequest, SettledReply } from '../request/inference-request.ts'
import { selectAuto } from '../routers/auto.ts'
import type { RouterCandidate } from '../routers/candidate.ts'
import { bandOfTier, bandOfTradeoff } from '../routers/cost-bands.ts'
import { compileModelPatterns, type ModelMatcher } from '../routers/model-patterns.ts'
import type { Plugin } from './plugin.ts'
import { noModelError, type Router, type RouterContext, type RouterResult, settingsOf } from './router.ts'
import { listRouterCandidates } from './router-candidates.ts'

/** A plugin without functions: the router reads its settings. */
export const autoRouterPlugin: Plugin<'auto-router'> = { id: 'auto-router' }

export const autoRouter: Router = {
  model: 'service/auto',
  plugin: 'auto-router',
  stage: 'auto-router',
  strategy: 'auto',
  route: (context) => {
    const settings = settingsOf(context, 'auto-router')
    const pinned = settings.pin_model ? findLastModel(context.request) : null
    if (pinned === null) return routeByTask(context, 'auto-router', settings, null)
    const { request } = context
    // Encoded from the call, since providers reject the `model` field of messages.
    request.content = request.content.rewrite(request.format, request.content.call)
    return routeByTask(context, 'auto-router', settings, pinned)
  },
}

type AutoSettings = Partial<PluginSettings<'auto-beta-router'>>

/** Chooses by the task type of the prompt; for both versions of the router. */
export async function routeByTask(
  context: RouterContext,
  plugin: 'auto-router' | 'auto-beta-router',
  settings: AutoSettings,
  pinned: string | null,
): Promise<RouterResult> {
  const { gateway, request, router, work } = context
  if (settings.cost_tier !== undefined && settings.cost_quality_tradeoff !== undefined)
    work.dropSettings(plugin, [`plugins.${plugin}.cost_quality_tradeoff`])
  const { tag } = classifyTask(request.content.call)
  const session = computeStickyKey(request, router.model.id)
  const { routedSessions } = gateway.routing
  const candidates = await listRouterCandidates(context, tag === 'other' ? null : tag)
  const selection = selectAuto(candidates, {
    isAllowed: await matchList(candidates, settings.allowed_models, `plugins.${plugin}.allowed_models`),
    isExcluded: await matchList(candidates, settings.excluded_models, `plugins.${plugin}.excluded_models`),
    band: resolveBand(context, settings),
    pinned,
    remembered: routedSessions.find(session, gateway.clock.now()),
  })
  if (!selection)
    throw noModelError(context, 'Allow more models with allowed_models and excluded_models, or name a model.')
  const remember = ({ status, candidate, summary }: SettledReply) => {
    const isSession = request.options.sessionId !== null || (summary?.usage?.cacheRead ?? 0) > 0
    if (status === 'completed' && candidate && isSession)
      routedSessions.remember(session, candidate.model.id, gateway.clock.now())
  }
  request.onSettled = [...request.onSettled, remember]
  return { selection: { ...selection, data: { task_type: tag } } }
}

/** `cost_tier` takes precedence over the older setting. */
function resolveBand({ gateway }: RouterContext, { cost_tier, cost_quality_tradeoff }: AutoSettings) {
  if (cost_tier === undefined && cost_quality_tradeoff !== undefined)
    return bandOfTradeoff(cost_quality_tradeoff)
  return bandOfTier(cost_tier ?? gateway.settings.routers.cost_tier)
}

/** Matches in slices: there may be a thousand patterns for each of hundreds of models. */
async function matchList(
  candidates: readonly RouterCandidate[],
  patterns: readonly string[] = [],
  field: string,
): Promise<ModelMatcher | null> {
  if (patterns.length === 0) return null
  const matching = await runInSlices(listMatching(candidates, compileModelPatterns(patterns, field)))
  return (id) => matching.has(id)
}

function* listMatching(candidates: readonly RouterCandidate[], matches: ModelMatcher) {
  const matching = new Set<string>()
  for (const { id } of candidates) {
    if (matches(id)) matching.add(id)
    yield
  }
  return matching
}

/** The model of the last reply in the conversation, where the client sends it. */
function findLastModel({ content }: InferenceRequest): string | null {
  const last = asObjects(content.body.messages).findLast(({ role }) => role === 'assistant')
  return asString(last?.model) ?? null
}
