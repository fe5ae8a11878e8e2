import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import {
  type CustomTool,
  type FunctionTool,
  flattenToolName,
  type ModelCall,
  type ToolChoice,
} from '../call/call.ts'
import { isReasoningRequested, resolveBudget } from '../call/reasoning.ts'
import { customToolSchema } from '../custom-tools.ts'
import { dropUnsupportedFields, Losses } from '../fields.ts'
import type { Target, UpstreamRequest } from '../wire-format.ts'
import { encodeMessages } from './messages-encode.ts'

const defaultMaxTokens = 4096
const maxStopSequences = 5

export function encodeRequest(originalCall: ModelCall, target: Target): UpstreamRequest {
  const losses = new Losses()
  const call = dropUnsupportedFields(originalCall, target.unsupportedFields, losses)
  addFieldLosses(call, losses)
  const { messages, documents } = encodeMessages(call.messages, losses)
  const body = omitUndefined({
    model: target.model,
    messages,
    documents: documents.length > 0 ? documents : undefined,
    ...encodeTools(call, losses),
    max_tokens: call.maxTokens,
    ...encodeSampling(call, losses),
    response_format: encodeFormat(call.format, losses),
    thinking: encodeThinking(call, target, losses),
    stream: target.stream,
  })
  return { path: '/chat', headers: {}, body, dropped: losses.list() }
}

/** Fields of a call that the format cannot express. Its probabilities have no tokens to belong to. */
function addFieldLosses(call: ModelCall, losses: Losses): void {
  losses.addFields(call, 'minP', 'topA', 'repetitionPenalty', 'logitBias', 'logprobs', 'topLogprobs')
  losses.addFields(call, 'verbosity', 'audio', 'imageConfig', 'prediction', 'cache', 'promptCacheKey')
  losses.addFields(call, 'serviceTier', 'user', 'metadata')
  losses.addReplySettings(call)
  if (call.parallelToolCalls === false) losses.add('parallel_tool_calls')
}

function encodeSampling(call: ModelCall, losses: Losses): JsonObject {
  const limit = (name: string, value: number | undefined, min: number, max: number) => {
    const limited = value === undefined ? undefined : Math.min(Math.max(value, min), max)
    if (limited !== value) losses.add(name)
    return limited
  }
  const stop = call.stop?.filter((sequence) => sequence !== '').slice(0, maxStopSequences) ?? []
  if (stop.length < (call.stop?.length ?? 0)) losses.add('stop')
  return {
    temperature: call.temperature,
    p: limit('top_p', call.topP, 0.01, 0.99),
    k: limit('top_k', call.topK, 0, 500),
    frequency_penalty: limit('frequency_penalty', call.frequencyPenalty, 0, 1),
    presence_penalty: limit('presence_penalty', call.presencePenalty, 0, 1),
    seed: call.seed,
    stop_sequences: stop.length > 0 ? stop : undefined,
  }
}

function encodeFormat(format: ModelCall['format'], losses: Losses): JsonObject | undefined {
  if (!format || format.kind === 'text') return undefined
  if (format.kind === 'json') return { type: 'json_object' }
  if (format.kind === 'schema') return { type: 'json_object', json_schema: format.schema }
  return losses.add('response_format')
}

function encodeThinking(call: ModelCall, target: Target, losses: Losses): JsonObject | undefined {
  const isRequested = isReasoningRequested(call.reasoning)
  if (!call.reasoning || isRequested === undefined) return undefined
  if (!target.reasoning) return isRequested ? losses.add('reasoning') : undefined
  if (!isRequested) return { type: 'disabled' }
  const { enabled, effort, maxTokens } = call.reasoning
  const isBudgeted = maxTokens !== undefined || (effort !== undefined && enabled !== false)
  const limit = call.maxTokens ?? target.maxOutputTokens ?? defaultMaxTokens
  return omitUndefined({
    type: 'enabled',
    token_budget: isBudgeted ? resolveBudget(call.reasoning, limit) : undefined,
  })
}

/** The format has no choice of one tool: the others are left out, and a call is required. */
function encodeTools({ tools = [], toolChoice }: ModelCall, losses: Losses): JsonObject {
  const names = selectNames(toolChoice, losses)
  const encoded: JsonObject[] = []
  let isStrict = false
  for (const tool of tools) {
    if (tool.kind === 'native') losses.add(`tool:${tool.type}`)
    else if (!names || names.has(flattenToolName(tool))) {
      encoded.push(encodeTool(tool, losses))
      if (tool.kind === 'function' && tool.strict) isStrict = true
    }
  }
  if (encoded.length === 0) {
    if (encodeChoice(toolChoice) === 'REQUIRED') losses.add('tool_choice')
    return {}
  }
  return {
    tools: encoded,
    tool_choice: encodeChoice(toolChoice),
    // For all tools, or none.
    strict_tools: isStrict || undefined,
  }
}

function selectNames(choice: ToolChoice | undefined, losses: Losses): ReadonlySet<string> | null {
  if (choice?.kind === 'native') losses.add('tool_choice')
  if (choice?.kind === 'tool') return new Set([choice.name])
  return choice?.kind === 'allowed' ? new Set(choice.names) : null
}

function encodeChoice(choice: ToolChoice | undefined): string | undefined {
  if (choice?.kind === 'none') return 'NONE'
  const isRequired = choice?.kind === 'required' || choice?.kind === 'tool'
  return isRequired || (choice?.kind === 'allowed' && choice.required) ? 'REQUIRED' : undefined
}

function encodeTool(tool: FunctionTool | CustomTool, losses: Losses): JsonObject {
  if (tool.kind === 'function') {
    if (tool.cache) losses.add('cache_control')
    if (tool.deferLoading !== undefined) losses.add('tools.defer_loading')
  }
  const description = tool.description || undefined
  const parameters = tool.kind === 'function' ? tool.schema : customToolSchema(tool)
  return {
    type: 'function',
    function: omitUndefined({
      name: flattenToolName(tool),
      description,
      parameters: parameters ?? { type: 'object', properties: {} },
    }),
  }
}
