import type { Call, Format, Message } from '../../call/call.ts'
import { effortOf, nearestEffort, wantsReasoning } from '../../call/reasoning.ts'
import { defined, type JsonObject } from '../../lib/loose.ts'
import type { Target, UpstreamRequest } from '../dialect.ts'
import { type CallField, Losses, withoutUnsupported } from '../fields.ts'
import { tierFor } from '../tier.ts'
import { encodeItems } from './items-encode.ts'
import { logprobsInclude } from './request-decode.ts'
import { encodeToolChoice, encodeTools } from './tools.ts'

export const path = '/responses'
export const encryptedInclude = 'reasoning.encrypted_content'

/** What this format has no word for. */
const wordless: CallField[] = [
  'topK',
  'minP',
  'topA',
  'frequencyPenalty',
  'presencePenalty',
  'repetitionPenalty',
  'seed',
  'stop',
  'logitBias',
  'audio',
  'imageConfig',
  'prediction',
  'cache',
]

/** The API refuses less. */
const leastOutput = 16

/** What a budget is measured against when nobody set a limit. */
export const usualOutput = 64_000

export function encodeRequest(given: Call, target: Target): UpstreamRequest {
  const losses = new Losses()
  const call = withoutUnsupported(given, target.unsupported, losses)
  losses.addFields(call, ...wordless)
  if ((call.n ?? 1) > 1) losses.add('n')
  if (call.modalities?.some((modality) => modality !== 'text')) losses.add('modalities')
  const { instructions, rest } = leadingInstructions(call.messages)
  const body = defined({
    model: target.model,
    instructions,
    input: encodeItems(rest, target, losses),
    ...toolFields(call, losses),
    ...plainFields(call, target, losses),
    text: encodeText(call, losses),
    reasoning: encodeReasoning(call, target, losses),
    include: encodeInclude(call, target),
    store: false,
    stream: target.stream ? true : undefined,
  })
  return { path, headers: {}, body, dropped: losses.list() }
}

/** The first system message, when it is only text and something follows. */
function leadingInstructions(messages: Message[]): { instructions?: string; rest: Message[] } {
  const [first, ...rest] = messages
  const plain = first?.role === 'system' && first.name === undefined && rest.length > 0
  const [part] = plain ? first.parts : []
  if (!plain || first.parts.length !== 1 || part?.kind !== 'text' || part.cache) return { rest: messages }
  return { instructions: part.text, rest }
}

function toolFields(call: Call, losses: Losses): JsonObject {
  const tools = encodeTools(call.tools ?? [], losses)
  return {
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: call.toolChoice && encodeToolChoice(call.toolChoice, call.tools ?? [], losses),
    parallel_tool_calls: call.parallelToolCalls,
  }
}

function plainFields(call: Call, target: Target, losses: Losses): JsonObject {
  return {
    max_output_tokens: call.maxTokens === undefined ? undefined : Math.max(call.maxTokens, leastOutput),
    temperature: call.temperature,
    top_p: call.topP,
    top_logprobs: call.logprobs ? call.topLogprobs : undefined,
    prompt_cache_key: call.promptCacheKey,
    service_tier: tierFor(call.serviceTier, target, losses),
    user: call.user,
    metadata: call.metadata,
  }
}

function encodeText(call: Call, losses: Losses): JsonObject | undefined {
  const format = call.format && encodeFormat(call.format, losses)
  if (!format && call.verbosity === undefined) return undefined
  return defined({ format, verbosity: call.verbosity })
}

function encodeFormat(format: Format, losses: Losses): JsonObject | undefined {
  if (format.kind === 'text') return { type: 'text' }
  if (format.kind === 'json') return { type: 'json_object' }
  if (format.kind !== 'schema') return losses.add('response_format')
  const { name = 'response', schema, strict, description } = format
  return defined({ type: 'json_schema', name, schema, strict, description })
}

function encodeReasoning(call: Call, target: Target, losses: Losses): JsonObject | undefined {
  const wish = call.reasoning
  if (!wish) return undefined
  const wanted = wantsReasoning(wish)
  if (!target.reasoning) return wanted ? losses.add('reasoning') : undefined
  // Left to itself, a model of this format may not think at all: `adaptive` wants it to.
  const left = wish.adaptive ? 'medium' : undefined
  const effort = effortOf(wish, call.maxTokens ?? target.maxOutput ?? usualOutput) ?? left
  const shown = wanted !== false && !wish.exclude
  const reasoning = defined({
    effort: effort && nearestEffort(effort, target.reasoning.efforts),
    summary: shown ? (wish.summary ?? 'auto') : undefined,
  })
  return Object.keys(reasoning).length > 0 ? reasoning : undefined
}

/** Nothing is stored upstream, so what the model thought must come back with the answer. */
function encodeInclude(call: Call, target: Target): string[] | undefined {
  const include: string[] = []
  if (target.reasoning) include.push(encryptedInclude)
  if (call.logprobs) include.push(logprobsInclude)
  return include.length > 0 ? include : undefined
}
