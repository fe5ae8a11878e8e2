import type { Gateway } from '../gateway/gateway.ts'
import { type Amounts, addAmounts, noAmounts, subtractAmounts } from '../ledger/amounts.ts'
import { estimateHold } from './hold/admit.ts'
import { estimateImage } from './nested/generate-image.ts'
import { buildPlan } from './plan/plan.ts'
import { estimateAddedCharacters, estimatePluginFees, hasAugmentingPlugin } from './plugins/apply.ts'
import type { InferenceRequest, RequestState, Routed } from './request/inference-request.ts'
import type { RequestWork } from './request/work.ts'
import type { PreparedTools } from './tools/prepared-tools.ts'
import type { ToolCosts, ToolInstance } from './tools/tool.ts'

/**
 * Estimates what a request may pay for besides its first turn, as far as that is known: its plugins, one call of each
 * of its tools, and the turn after them. Null if nothing follows the first turn.
 */
export async function estimateSteps(
  gateway: Gateway,
  request: Routed<InferenceRequest>,
  work: RequestWork,
): Promise<Amounts | null> {
  const hasPlugins = hasAugmentingPlugin(work)
  if (!hasPlugins && !work.tools) return null
  const steps = await Promise.all([
    hasPlugins ? estimatePlugins(gateway, request, work) : noAmounts,
    work.tools ? estimateTools(gateway, request, work.tools) : noAmounts,
  ])
  return addAmounts(...steps)
}

async function estimatePlugins(
  gateway: Gateway,
  request: Routed<InferenceRequest>,
  work: RequestWork,
): Promise<Amounts> {
  const { plan } = request
  const fees = await estimateOrNothing(async () => ({
    amount: await estimatePluginFees(gateway, request),
    byok: 0n,
  }))
  const characters = estimateAddedCharacters(gateway, request, work)
  if (characters === 0) return fees
  const { plain, call, stream, promptTokens, body, received } = request.content
  const size = request.content.measure()
  const measure = () => ({ ...size, promptTokens: size.promptTokens + characters })
  const longer: RequestState = {
    ...request,
    content: { plain, call, stream, promptTokens, body, received, measure },
  }
  const added = subtractAmounts(
    estimateHold(gateway, longer, plan).estimate,
    estimateHold(gateway, request, plan).estimate,
  )
  return addAmounts(fees, added)
}

async function estimateTools(
  gateway: Gateway,
  request: Routed<InferenceRequest>,
  { functions }: PreparedTools,
): Promise<Amounts> {
  const instances = new Set([...functions.values()].map(({ instance }) => instance))
  const costs = [...instances].flatMap(({ costs }: ToolInstance) => costs ?? [])
  const estimates = await Promise.all(costs.map((cost) => estimateCall(gateway, request, cost)))
  return addAmounts(estimateHold(gateway, request, request.plan).estimate, ...estimates)
}

async function estimateCall(
  gateway: Gateway,
  request: InferenceRequest,
  { fee = 0n, calls = [], image }: ToolCosts,
): Promise<Amounts> {
  const models = calls.map(({ model, maxTokens }) =>
    estimateOrNothing(async () => estimateModel(gateway, request, model, maxTokens)),
  )
  const images = image ? [estimateOrNothing(() => estimateImage(gateway, request, image))] : []
  return addAmounts({ amount: fee, byok: 0n }, ...(await Promise.all([...models, ...images])))
}

/** A request to another model with the same conversation. */
function estimateModel(
  gateway: Gateway,
  request: InferenceRequest,
  model: string | undefined,
  maxTokens: number | undefined,
): Amounts {
  const { tools: _tools, toolChoice: _choice, maxTokens: _max, ...call } = request.content.call
  const content = request.content.replaceCall({ ...call, ...(maxTokens !== undefined && { maxTokens }) })
  const options = model === undefined ? request.options : { ...request.options, models: [model] }
  const nested = { ...request, content, options }
  return estimateHold(gateway, nested, buildPlan(gateway, nested, null)).estimate
}

/** Ignores errors: a step that cannot be estimated fails when it is used, with an error of its own. */
async function estimateOrNothing(estimate: () => Promise<Amounts>): Promise<Amounts> {
  try {
    return await estimate()
  } catch {
    return noAmounts
  }
}
