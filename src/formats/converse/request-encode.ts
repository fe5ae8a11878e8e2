import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import { dropUnsupportedFields, Losses } from '../fields.ts'
import { normalizeTier, resolveTier } from '../tier.ts'
import type { Target, UpstreamRequest } from '../wire-format.ts'
import { encodeCachePoint } from './cache-point.ts'
import { encodeMessages } from './messages-encode.ts'
import { encodeModelFields } from './model-fields.ts'
import { encodeToolConfig } from './tools.ts'

export function encodeRequest(originalCall: ModelCall, target: Target): UpstreamRequest {
  const losses = new Losses()
  const call = dropUnsupportedFields(originalCall, target.unsupportedFields, losses)
  addFieldLosses(call, losses)
  const { messages, system } = encodeMessages(call.messages, target, losses)
  const { fields, isThinking } = encodeModelFields(call, target, losses)
  const cachePoint = call.cache && { cachePoint: encodeCachePoint(call.cache) }
  if (cachePoint) messages.at(-1)?.content.push(cachePoint)
  const body = omitUndefined({
    messages,
    system: system.length > 0 ? system : undefined,
    inferenceConfig: encodeInference(call, target, isThinking, losses),
    toolConfig: encodeToolConfig(call, isThinking, losses),
    outputConfig: encodeOutput(call, losses),
    additionalModelRequestFields: fields,
    // The stop sequence that was found is in no field of the reply itself.
    additionalModelResponseFieldPaths: call.stop?.length
      ? ['/delta/stop_sequence', '/stop_sequence']
      : undefined,
    serviceTier: encodeTier(call.serviceTier, target, losses),
    requestMetadata: encodeMetadata(call.metadata, losses),
  })
  return { path: buildPath(target), headers: {}, body, dropped: losses.list() }
}

function buildPath({ model, stream }: Target): string {
  return `/model/${encodeURIComponent(model)}/${stream ? 'converse-stream' : 'converse'}`
}

/** Fields of a call that the format cannot express. */
function addFieldLosses(call: ModelCall, losses: Losses): void {
  losses.addFields(call, 'minP', 'topA', 'frequencyPenalty', 'presencePenalty', 'repetitionPenalty', 'seed')
  losses.addFields(call, 'logitBias', 'logprobs', 'topLogprobs', 'verbosity', 'audio', 'imageConfig')
  losses.addFields(call, 'prediction', 'promptCacheKey', 'user')
  losses.addReplySettings(call)
  if (call.parallelToolCalls === false) losses.add('parallel_tool_calls')
}

/** With a thinking budget the vendor accepts no temperature. */
function encodeInference(
  call: ModelCall,
  target: Target,
  isThinking: boolean,
  losses: Losses,
): JsonObject | undefined {
  const limited = call.temperature === undefined ? undefined : Math.min(Math.max(call.temperature, 0), 1)
  const temperature = isThinking && limited !== 1 ? undefined : limited
  if (temperature !== call.temperature) losses.add('temperature')
  const stop = call.stop?.filter((sequence) => sequence !== '') ?? []
  if (stop.length < (call.stop?.length ?? 0)) losses.add('stop')
  const config = omitUndefined({
    maxTokens: call.maxTokens ?? target.maxOutputTokens ?? undefined,
    temperature,
    topP: call.topP,
    stopSequences: stop.length > 0 ? stop : undefined,
  })
  return Object.keys(config).length > 0 ? config : undefined
}

function encodeOutput({ format }: ModelCall, losses: Losses): JsonObject | undefined {
  if (!format || format.kind === 'text') return undefined
  if (format.kind !== 'schema') return losses.add('response_format')
  const { schema, name, description } = format
  const jsonSchema = omitUndefined({ schema: JSON.stringify(schema), name, description })
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
}

const wireTiers: ReadonlySet<string> = new Set(['default', 'flex', 'priority', 'reserved'])

function encodeTier(
  requestedTier: string | undefined,
  target: Target,
  losses: Losses,
): JsonObject | undefined {
  const requested = resolveTier(requestedTier, target, losses)
  if (requested === undefined || requested === 'auto' || requested === 'scale') return undefined
  const type = normalizeTier(requested)
  return wireTiers.has(type) ? { type } : losses.add('service_tier')
}

const metadataPattern = /^[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}$/
const maxMetadata = 16

/** The vendor takes few characters, and writes the values into the logs of the account. */
function encodeMetadata(metadata: ModelCall['metadata'], losses: Losses): JsonObject | undefined {
  if (!metadata) return undefined
  const all = Object.entries(metadata)
  const accepted = all
    .filter(([name, value]) => metadataPattern.test(name) && (value === '' || metadataPattern.test(value)))
    .slice(0, maxMetadata)
  if (accepted.length < all.length) losses.add('metadata')
  return accepted.length > 0 ? Object.fromEntries(accepted) : undefined
}
