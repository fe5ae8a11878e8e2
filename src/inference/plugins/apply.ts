import { computeRequestSize, estimatePromptTokens } from '../../formats/call/size.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { withSpan } from '../../platform/tracing/span-recorder.ts'
import { ClientDisconnectedError } from '../failures/errors.ts'
import { guardChanges } from '../guard/added-content.ts'
import { holdFee, holdTurn } from '../hold/extend-hold.ts'
import type { Admitted, InferenceRequest } from '../request/inference-request.ts'
import type { RequestWork } from '../request/work.ts'
import { writeTurnCheckpoint } from '../settle/settle.ts'
import { findPlugin, plugins } from './all.ts'
import { implyFileParser } from './files/imply-file-parser.ts'
import type { Plugin, PluginContext } from './plugin.ts'
import { namesRouter, routeModels } from './route-models.ts'

type PrepareOptions = Pick<PluginContext, 'callModel' | 'isDryRun'>

/** Options for a request that is only quoted, or whose tokens are counted. */
export const dryRun: PrepareOptions = {
  isDryRun: true,
  callModel: () => Promise.reject(new Error('a dry run calls no model')),
}

/** Runs the router models and plugins of a guarded request before it is routed. */
export async function preparePlugins(
  gateway: Gateway,
  request: InferenceRequest,
  options: PrepareOptions,
): Promise<void> {
  implyFileParser(gateway, request)
  const { work } = request
  if (work === null || (work.plugins.length === 0 && !namesRouter(request))) return
  work.callModel = options.callModel
  await withSpan(request, 'plugins', () => prepareEach({ gateway, request, work, ...options }))
}

async function prepareEach(context: PluginContext): Promise<void> {
  const { gateway, request, work } = context
  for (const { id } of work.plugins) if (!findPlugin(id)) work.dropPlugin(id)
  const { call } = request.content
  await routeModels(context)
  await guardChanges(gateway, request, call)
  for (const plugin of plugins) {
    const applied = work.findPlugin(plugin.id)
    if (!applied || !plugin.prepare) continue
    const { call: before } = request.content
    await withSpan(request, nameSpan(plugin), () => plugin.prepare?.(context, applied.settings))
    await guardChanges(gateway, request, before)
  }
}

function nameSpan({ id }: Plugin): string {
  return `plugin ${id}`
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
 * Runs the plugins that add to the prompt of an admitted request, and holds what the longer prompt may cost. Null if it
 * has no such plugin.
 */
export function augmentRequest(gateway: Gateway, request: Admitted<InferenceRequest>): Promise<void> | null {
  const { work } = request
  if (!work) return null
  const augmenting = plugins.filter(({ id, augment }) => augment && work.findPlugin(id))
  if (augmenting.length === 0) return null
  return withSpan(request, 'plugins', async () => {
    await augmentEach(gateway, request, work, augmenting)
    if (work.bill.lines.length > 0) await writeTurnCheckpoint(gateway, request)
    await holdTurn(gateway, request)
  })
}

async function augmentEach(
  gateway: Gateway,
  request: Admitted<InferenceRequest>,
  work: RequestWork,
  augmenting: readonly Plugin[],
): Promise<void> {
  const { signal } = request.httpRequest
  const { plan, hold } = request
  const reserve = (nanos: bigint) => holdFee(gateway, request, nanos)
  const options = { isDryRun: false, callModel: work.callModel ?? dryRun.callModel }
  try {
    for (const plugin of augmenting) {
      const settings = work.findPlugin(plugin.id)?.settings ?? {}
      const { call: before } = request.content
      const context = { gateway, request, work, plan, signal, reserve, ...options }
      await withSpan(request, nameSpan(plugin), () => plugin.augment?.(context, settings))
      await guardChanges(gateway, request, before)
    }
  } catch (error) {
    throw signal.aborted ? new ClientDisconnectedError() : error
  }
  // Charged if the reply has no usage.
  const { call, body } = request.content
  hold.draft.promptTokens = estimatePromptTokens(call)
  hold.draft.generation.input_images = computeRequestSize(call, body, 0).images
}
