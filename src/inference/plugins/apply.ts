import { computeRequestSize, estimatePromptTokens } from '../../formats/call/size.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { withSpan } from '../../platform/tracing/span-recorder.ts'
import { ClientDisconnectedError } from '../failures/errors.ts'
import { guardChangedRequest } from '../guard/added-content.ts'
import type { Admission } from '../hold/admit.ts'
import { holdFee, holdTurn } from '../hold/extend-hold.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { RequestWork } from '../request/work.ts'
import { writeTurnCheckpoint } from '../settle/settle.ts'
import type { RequestTrace } from '../settle/trace.ts'
import { findPlugin, plugins } from './all.ts'
import { implyFileParser } from './files/imply-file-parser.ts'
import type { Plugin, PluginContext } from './plugin.ts'
import { namesRouter, routeModels } from './route-models.ts'

type PrepareOptions = Pick<PluginContext, 'callModel' | 'isDryRun'>

/** For a request that is only quoted, or whose tokens are counted. */
export const dryRun: PrepareOptions = {
  isDryRun: true,
  callModel: () => Promise.reject(new Error('a dry run calls no model')),
}

/** Runs the router models and plugins of a guarded request before it is routed. Synchronous if it has none. */
export function preparePlugins(
  gateway: Gateway,
  request: InferenceRequest,
  options: PrepareOptions,
): InferenceRequest | Promise<InferenceRequest> {
  const implied = implyFileParser(gateway, request)
  const { work } = implied
  if (work === null || (work.plugins.length === 0 && !namesRouter(implied))) return implied
  work.callModel = options.callModel
  return withSpan(implied, 'plugins', () => prepareEach(gateway, implied, work, options))
}

async function prepareEach(
  gateway: Gateway,
  request: InferenceRequest,
  work: RequestWork,
  options: PrepareOptions,
): Promise<InferenceRequest> {
  for (const { id } of work.plugins) if (!findPlugin(id)) work.dropPlugin(id)
  const routed = await routeModels({ gateway, request, work, ...options })
  let prepared = await guardChangedRequest(gateway, request, routed)
  for (const plugin of plugins) {
    const applied = work.findPlugin(plugin.id)
    if (!applied || !plugin.prepare) continue
    const context = { gateway, request: prepared, work, ...options }
    const changed = await plugin.prepare(context, applied.settings)
    prepared = await guardChangedRequest(gateway, prepared, changed)
  }
  return prepared
}

/** Whether a plugin of the request runs after its admission. */
export function hasAugmentingPlugin(work: RequestWork): boolean {
  return plugins.some(({ id, augment }) => augment && work.findPlugin(id))
}

/** The most that plugins add to the prompt of a prepared request, in characters, as far as it is known. */
export function estimateAddedCharacters(
  gateway: Gateway,
  request: InferenceRequest,
  work: RequestWork,
): number {
  return plugins.reduce((sum, { id, estimateCharacters }) => {
    const applied = work.findPlugin(id)
    if (!applied || !estimateCharacters) return sum
    return sum + estimateCharacters({ gateway, request, work, ...dryRun }, applied.settings)
  }, 0)
}

/** The most that the plugins of a prepared request cost besides tokens. */
export async function estimatePluginFees(gateway: Gateway, request: InferenceRequest): Promise<bigint> {
  const { work } = request
  let fees = 0n
  if (!work) return fees
  for (const { id, estimateFee } of plugins) {
    const applied = work.findPlugin(id)
    if (!applied || !estimateFee) continue
    fees += await estimateFee({ gateway, request, work, ...dryRun }, applied.settings)
  }
  return fees
}

/**
 * Runs the plugins that add to the prompt of an admitted request, and holds what the longer prompt may cost. The request
 * is changed in place, because its settlement records what was sent. Null if it has no such plugin.
 */
export function augmentRequest(
  gateway: Gateway,
  request: InferenceRequest,
  admission: Admission,
  trace: RequestTrace,
): Promise<void> | null {
  const { work } = request
  if (!work) return null
  const augmenting = plugins.filter(({ id, augment }) => augment && work.findPlugin(id))
  if (augmenting.length === 0) return null
  return withSpan(request, 'plugins', async () => {
    await augmentEach(gateway, request, work, admission, augmenting)
    if (work.bill.lines.length > 0) await writeTurnCheckpoint(gateway, request, admission, trace)
    await holdTurn(gateway, request, admission)
  })
}

async function augmentEach(
  gateway: Gateway,
  request: InferenceRequest,
  work: RequestWork,
  admission: Admission,
  augmenting: readonly Plugin[],
): Promise<void> {
  const { signal } = request.httpRequest
  const { plan } = admission
  const reserve = (nanos: bigint) => holdFee(gateway, request, admission, nanos)
  try {
    for (const { id, augment } of augmenting) {
      const settings = work.findPlugin(id)?.settings ?? {}
      const options = { isDryRun: false, callModel: work.callModel ?? dryRun.callModel }
      const before = { ...request }
      const after = await augment?.({ gateway, request, work, plan, signal, reserve, ...options }, settings)
      if (after) Object.assign(request, await guardChangedRequest(gateway, before, after))
    }
  } catch (error) {
    throw signal.aborted ? new ClientDisconnectedError() : error
  }
  // Charged if the reply has no usage.
  const { call, body } = request.content
  admission.draft.promptTokens = estimatePromptTokens(call)
  admission.draft.generation.input_images = computeRequestSize(call, body, 0).images
}
