import type { Catalog } from '../../catalog/catalog.ts'
import { type Endpoint, hasOutput, type Model } from '../../catalog/model.ts'
import { estimatePerMillion } from '../../catalog/price.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Settings } from '../../gateway/settings.ts'
import { buildRoutingQuery, rejectsMandatoryReasoning } from '../plan/plan.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { RouterCandidate } from '../routers/candidate.ts'
import { compileModelPatterns, type ModelMatcher } from '../routers/model-patterns.ts'
import type { SpendingFigures } from '../routers/spending.ts'
import { estimateStanding } from '../routers/standing.ts'
import type { Candidate } from '../routing/candidate.ts'
import { listServingCandidates } from '../routing/decide.ts'
import type { RouterContext } from './router.ts'

/** The models that can serve the request and that the settings permit routers to choose. */
export function listServingModels(
  { gateway, request, router }: RouterContext,
  models: readonly Model[],
): Map<Model, Candidate[]> {
  const eligible = models.filter((model) => isEligible(gateway, request, model))
  const resolved = eligible.map((model) => ({ model, latest: null, variants: router.variants }))
  const { routing, benchmarks, clock } = gateway
  const state = { health: routing.health, benchmarks: benchmarks.current, random: null, now: clock.now() }
  const serving = listServingCandidates(buildRoutingQuery(gateway, request, resolved), state)
  return preferReal(serving)
}

function isEligible({ settings }: Gateway, request: InferenceRequest, model: Model): boolean {
  const { isAllowed, isExcluded } = operatorLists(settings)
  if ((isAllowed && !isAllowed(model.id)) || isExcluded?.(model.id)) return false
  if (model.reasoning?.mandatory && rejectsMandatoryReasoning(request)) return false
  const { modalities = [] } = request.content.call
  return modalities.every(
    (name) => name === 'text' || model.output_modalities.some((output) => output === name),
  )
}

interface OperatorLists {
  isAllowed: ModelMatcher | null
  isExcluded: ModelMatcher | null
}

const compiledLists = new WeakMap<Settings, OperatorLists>()

function operatorLists(settings: Settings): OperatorLists {
  const known = compiledLists.get(settings)
  if (known) return known
  const { allowed_models, excluded_models } = settings.routers
  const lists = {
    isAllowed: allowed_models && compileModelPatterns(allowed_models, 'routers.allowed_models'),
    isExcluded:
      excluded_models.length > 0 ? compileModelPatterns(excluded_models, 'routers.excluded_models') : null,
  }
  compiledLists.set(settings, lists)
  return lists
}

/** Simulated models are only chosen where there is no other. */
function preferReal(serving: Map<Model, Candidate[]>): Map<Model, Candidate[]> {
  const isReal = ({ endpoint }: Candidate) => !endpoint.provider.inProcess
  const real = [...serving].filter(([, candidates]) => candidates.some(isReal))
  return real.length > 0 ? new Map(real) : serving
}

const textModels = new WeakMap<Catalog, { base: Model[]; free: Model[] }>()

/** Text models: those without a variant in their slug (variants must be requested by name), and the free ones. */
export function listTextModels({ catalog }: Gateway): { base: readonly Model[]; free: readonly Model[] } {
  const known = textModels.get(catalog)
  if (known) return known
  const texts = catalog.models.filter((model) => hasOutput(model, 'text'))
  const lists = {
    base: texts.filter(({ id }) => !id.includes(':')),
    free: texts.filter(({ endpoints }) => endpoints.some(isFree)),
  }
  textModels.set(catalog, lists)
  return lists
}

export function isFree({ price_state }: Endpoint): boolean {
  return price_state === 'free'
}

/** The candidates with the figures that routers rank by; `task` is the task type of the prompt, if it was classified. */
export async function listRouterCandidates(
  context: RouterContext,
  task: string | null = null,
): Promise<RouterCandidate[]> {
  const { gateway, request } = context
  const serving = [...listServingModels(context, listTextModels(gateway).base)]
  const now = gateway.clock.now()
  const figures = await gateway.routing.spending.find(gateway, request.caller.organizationId, now)
  const all = serving.map(([model, candidates]) => ({
    ...describeModel(gateway, model, candidates, figures),
    taskShare: task === null ? 0 : (figures?.taskShareOf(task, model.id) ?? 0),
  }))
  const priced = all.filter(({ price }) => Number.isFinite(price))
  return priced.length > 0 ? priced : all
}

export function describeModel(
  { benchmarks, catalog, clock }: Gateway,
  model: Model,
  candidates: readonly Candidate[],
  figures: SpendingFigures | null,
): RouterCandidate {
  const now = clock.now()
  const cheapest = candidates.reduce((best, next) =>
    next.endpoint.price < best.endpoint.price ? next : best,
  )
  const speeds = candidates.flatMap(({ health }) => health?.getSpeed(now) ?? [])
  const latencies = speeds.flatMap(({ latency }) => latency?.p50 ?? [])
  const throughputs = speeds.flatMap(({ throughput }) => throughput?.p50 ?? [])
  const scores = benchmarks.current.scoresOf(model)
  return {
    id: model.id,
    price: cheapest.endpoint.price,
    promptPrice: promptPricesOf(cheapest.endpoint)?.prompt ?? Number.POSITIVE_INFINITY,
    paidPromptPrice:
      figures?.averagePrice(model.id, (tag) => promptPricesOf(findEndpoint(model, tag))) ?? null,
    isStable: candidates.some(({ health }) => !health?.isUnstable(now)),
    latency: latencies.length > 0 ? Math.min(...latencies) : null,
    throughput: throughputs.length > 0 ? Math.max(...throughputs) : null,
    score: scores.intelligence,
    codingScore: scores.coding,
    standing: estimateStanding(catalog, model, now),
    taskShare: 0,
    spendShare: figures?.shareOf(model.id) ?? 0,
  }
}

function findEndpoint({ endpoints }: Model, tag: string): Endpoint | undefined {
  return endpoints.find((endpoint) => endpoint.tag === tag)
}

/** USD per million tokens. */
function promptPricesOf(endpoint: Endpoint | undefined): { prompt: number; cached: number } | null {
  const pricing = endpoint?.pricing
  if (!pricing) return null
  const prompt = estimatePerMillion(pricing.prompt, pricing.discount)
  const cached = pricing.input_cache_read
  return { prompt, cached: cached === undefined ? prompt : estimatePerMillion(cached, pricing.discount) }
}
