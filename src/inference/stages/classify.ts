import { findModelForTask } from '../../catalog/lookup.ts'
import type { Model } from '../../catalog/model.ts'
import type { ModerationsCall, ModerationsReply } from '../../formats/call/moderations.ts'
import type { MediaReplyContext } from '../../formats/media.ts'
import { decodeModerations } from '../../formats/moderations/decode.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { EffectivePolicy } from '../../governance/policy/effective.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { withNestedSpan } from '../../platform/tracing/span-recorder.ts'
import { admit } from '../hold/admit.ts'
import type { NestedRequestLine } from '../hold/bill-line.ts'
import { moderationsTask } from '../media/moderations.ts'
import { parseMediaRequest } from '../media/parse.ts'
import { executeMedia } from '../media/reply-whole.ts'
import type { MediaRequest } from '../media/task.ts'
import { planRoute } from '../plan/plan.ts'
import type { RequestState, SettledReply } from '../request/inference-request.ts'
import { createStageOptions } from '../request/options.ts'
import { nestTrace } from '../settle/event-trace.ts'
import { buildModerationBatches, type ModerationBatch, type ModerationInput } from './moderation-inputs.ts'

/** The result of a moderation model for one input. */
export interface Classification extends ModerationInput {
  isFlagged: boolean
  categories: string[]
  /** The model, and the display name of its provider. */
  model: string
  provider: string
}

/**
 * Classifies a prompt with a moderation model: by requests of the same key, each with a record of its own, which are
 * added to `lines`.
 */
export async function classifyPrompt(
  gateway: Gateway,
  request: RequestState,
  slug: string,
  lines: NestedRequestLine[],
): Promise<Classification[]> {
  const model = findModelForTask(gateway.catalog, slug, 'moderations')
  if (!model) throw gatewayError('no_endpoints')
  const batches = buildModerationBatches(request.content.call, model.input_modalities.includes('image'))
  const prepared: PreparedBatch[] = []
  for (const batch of batches) {
    if (prepared.length > 0) await yieldToEventLoop()
    prepared.push({ ...batch, request: await createRequest(gateway, request, model, batch) })
  }
  const classifying = prepared.map((batch) => classifyBatch(gateway, batch, lines))
  // All have ended, and are in `lines`, also if one fails.
  await Promise.allSettled(classifying)
  return (await Promise.all(classifying)).flat()
}

/** What the request for a classification is on the bill as. */
const purpose = 'moderation'

interface PreparedBatch extends ModerationBatch {
  request: MediaRequest<ModerationsCall>
}

async function classifyBatch(
  gateway: Gateway,
  { request, inputs }: PreparedBatch,
  lines: NestedRequestLine[],
): Promise<Classification[]> {
  request.onSettled = [recordLine(request.id, lines)]
  const classify = ({ results }: ModerationsReply, { model, provider }: MediaReplyContext) =>
    inputs.map((input, index) => ({ ...input, ...decodeResult(results[index] ?? {}), model, provider }))
  return withNestedSpan(request.spans, async () => {
    const admitted = await admit(gateway, planRoute(gateway, request))
    return executeMedia(gateway, admitted, moderationsTask, classify)
  })
}

function recordLine(id: string, lines: NestedRequestLine[]) {
  const startedAt = performance.now()
  return ({ candidate, cost }: SettledReply): void => {
    const provider = candidate?.endpoint.provider.name ?? ''
    const isCharged = candidate !== null
    lines.push({ id, purpose, provider, usage: null, cost, isCharged, startedAt })
  }
}

/** A request on behalf of another one: it is neither guarded nor moderated, and its prompt is in no log of its own. */
async function createRequest(
  gateway: Gateway,
  request: RequestState,
  { id }: Model,
  { encoded }: ModerationBatch,
): Promise<MediaRequest<ModerationsCall>> {
  const { caller, region, httpRequest, keyContext, options, funds } = request
  const body = { model: id, input: encoded }
  const outer = funds && { outerFunds: funds }
  const incoming = {
    caller,
    region,
    httpRequest,
    body,
    decode: decodeModerations,
    tags: options.tags,
    trace: nestTrace(request, 'moderations', purpose),
    ...outer,
  }
  const nested = await parseMediaRequest(gateway, incoming, moderationsTask)
  const { exportTargets } = nested
  return Object.assign(nested, {
    isGuarded: true as const,
    keyContext: { ...keyContext, policy: withoutModelLists(keyContext.policy) },
    options: createStageOptions(options, id),
    logsContent: false,
    exportTargets: exportTargets && { ...exportTargets, includesContent: false },
    timeLimitMs: gateway.settings.moderation.timeout,
  })
}

/** Drops the lists of models that callers may choose; the rules on where a prompt may be sent still apply. */
function withoutModelLists(policy: EffectivePolicy): EffectivePolicy {
  return { ...policy, allowed_models: { values: null, layers: [] }, ignored_models: [] }
}

/** Bounds what a model can put into records and errors. */
const maxCategories = 50
const maxNameLength = 100

function decodeResult({ flagged, categories }: JsonObject): Pick<Classification, 'isFlagged' | 'categories'> {
  const names = Object.entries(asObject(categories) ?? {}).flatMap(([name, isFlagged]) =>
    isFlagged === true ? [name.slice(0, maxNameLength).replaceAll('\0', '')] : [],
  )
  return { isFlagged: flagged === true, categories: names.slice(0, maxCategories) }
}
