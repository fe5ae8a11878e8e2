import type { Gateway } from '../../app/gateway.ts'
import {
  type FunctionTool,
  flattenToolName,
  isServerToolType,
  type ModelCall,
  type NativeTool,
  type Tool,
} from '../../call/call.ts'
import { gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import { asString } from '../../lib/json-values.ts'
import { validateInput } from '../../lib/validate-input.ts'
import { findServerTool, serverToolTypes } from '../../tools/all.ts'
import type { PreparedFunction } from '../../tools/prepared-tools.ts'
import type { AskModelFn, ServerTool, ToolFormat, ToolInstance, ToolRequest } from '../../tools/tool.ts'
import { convertVendorTool } from '../../tools/vendor-spellings.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { withWork } from '../request/work.ts'
import { readBudget } from './budget.ts'
import { mapToolChoice } from './tool-choice.ts'

/**
 * Replaces the server tools of a guarded request by functions that every model can call. Synchronous and free for a
 * request without server tools.
 */
export function prepareTools(
  gateway: Gateway,
  request: InferenceRequest,
  createAsk: CreateAskFn = () => askNoModel,
): InferenceRequest | Promise<InferenceRequest> {
  const { tools } = request.content.call
  if (!tools?.some(({ kind }) => kind === 'native')) return request
  const toolRequest = describeRequest(gateway, request)
  const converted = tools.map((tool) =>
    tool.kind === 'native' ? convertVendorTool(tool, toolRequest) : tool,
  )
  if (converted.some(isServerTool)) return replaceTools(request, converted, toolRequest, createAsk)
  if (converted.every((tool, index) => tool === tools[index])) return request
  const { content } = request
  return { ...request, content: content.replaceCall({ ...content.call, tools: converted }) }
}

/** How the tools of a request ask models. */
type CreateAskFn = (request: InferenceRequest) => AskModelFn

/** For requests that are not sent: their tools are not called. */
const askNoModel: AskModelFn = () =>
  Promise.reject(gatewayError('unavailable', 'Only a request that is sent can ask models.'))

function isServerTool(tool: Tool): tool is NativeTool {
  return tool.kind === 'native' && isServerToolType(tool.type)
}

/** An entry of `tools`, ready to run. */
interface PreparedEntry {
  /** As the client spelled it. */
  type: string
  tool: ServerTool
  instance: ToolInstance
  /** With the names that the model is offered. */
  functions: FunctionTool[]
}

async function replaceTools(
  request: InferenceRequest,
  tools: Tool[],
  toolRequest: ToolRequest,
  createAsk: CreateAskFn,
): Promise<InferenceRequest> {
  const { content } = request
  const { call } = content
  if ((call.n ?? 1) > 1) throw invalidFieldError('n', 'must be 1 in a request with server tools')
  const names = new Set(tools.flatMap(listNames))
  const replaced: Tool[] = []
  const entries: PreparedEntry[] = []
  for (const [index, tool] of tools.entries()) {
    if (!isServerTool(tool)) {
      replaced.push(tool)
      continue
    }
    const entry = await prepareEntry(toolRequest, tool, `tools[${index}]`, names)
    entries.push(entry)
    replaced.push(...entry.functions, ...(entry.instance.natives ?? []))
  }
  const prepared = withWork(request)
  const budget = readBudget(content.body)
  const functions = indexFunctions(entries)
  const askModel = createAsk(prepared)
  if (functions.size > 0) prepared.work.tools = { ...budget, functions, request: toolRequest, askModel }
  for (const { instance } of entries) prepared.work.dropped.push(...(instance.ignored ?? []))
  return { ...prepared, content: content.replaceCall(buildCall(call, replaced, entries, budget.maxCalls)) }
}

/** A budget of no calls leaves the tools declared and forbids their use. */
function buildCall(call: ModelCall, tools: Tool[], entries: PreparedEntry[], maxCalls: number): ModelCall {
  const { toolChoice, ...rest } = call
  const choice = maxCalls === 0 ? { kind: 'none' as const } : toolChoice && mapToolChoice(toolChoice, entries)
  return {
    ...rest,
    tools,
    ...(choice && { toolChoice: choice }),
    unknown: call.unknown.filter((name) => name !== 'max_tool_calls'),
  }
}

function describeRequest(gateway: Gateway, request: InferenceRequest): ToolRequest {
  const { id, caller, region, keyContext, options, content, format } = request
  return {
    gateway,
    id,
    caller,
    region,
    keyContext,
    sessionId: options.sessionId,
    format: format.name as ToolFormat,
    call: content.call,
    model: options.models[0] ?? '',
  }
}

async function prepareEntry(
  request: ToolRequest,
  { type, value }: NativeTool,
  at: string,
  names: Set<string>,
): Promise<PreparedEntry> {
  const tool = requireTool(type, request, at)
  const parameters = validateParameters(tool, value.parameters ?? {}, at)
  const instance = await tool.create(parameters, { ...request, at, entry: value })
  const functions = instance.functions.map((offered) => ({ ...offered, name: takeName(offered.name, names) }))
  return { type: asString(value.type) ?? type, tool, instance, functions }
}

function requireTool(type: string, { format, keyContext, region }: ToolRequest, at: string): ServerTool {
  const tool = findServerTool(type)
  if (!tool)
    throw invalidFieldError(
      `${at}.type`,
      `"${type.slice(0, 100)}" is not a server tool; there are ${serverToolTypes.join(', ')}`,
    )
  if (!tool.formats.includes(format))
    throw invalidFieldError(
      `${at}.type`,
      `"${type}" is not available in this format; use ${tool.formats.join(' or ')}`,
    )
  if (keyContext.disabledServerTools.includes(type))
    throw gatewayError('forbidden', `${at}.type: "${type}" is disabled for this workspace.`)
  if (tool.isGlobal && region !== 'global')
    throw gatewayError('region_refused', `${at}.type: "${type}" is not available on regional hosts.`)
  return tool
}

/** Errors name the field of the entry. */
function validateParameters(tool: ServerTool, parameters: unknown, at: string): unknown {
  return validateInput(tool.parameters, parameters, `${at}.parameters`, 0, `${at}.parameters.`)
}

/** Names that the client uses for its own tools. */
function listNames(tool: Tool): string[] {
  if (tool.kind !== 'native') return [tool.name, flattenToolName(tool)]
  const name = isServerToolType(tool.type) ? undefined : asString(tool.value.name)
  return name === undefined ? [] : [name]
}

/** The name, or the first free one with a number. */
function takeName(wanted: string, taken: Set<string>): string {
  let name = wanted
  for (let number = 2; taken.has(name); number++) name = `${wanted}_${number}`
  taken.add(name)
  return name
}

function indexFunctions(entries: readonly PreparedEntry[]): Map<string, PreparedFunction> {
  const functions = new Map<string, PreparedFunction>()
  for (const { tool, instance, functions: offered } of entries) {
    for (const [index, { name }] of offered.entries())
      functions.set(name, { tool, instance, name: instance.functions[index]?.name ?? name })
  }
  return functions
}
