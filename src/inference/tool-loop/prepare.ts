import {
  type FunctionTool,
  flattenToolName,
  isServerToolType,
  type Message,
  type ModelCall,
  type NativeTool,
  type Tool,
} from '../../formats/call/call.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import { maskMcpSecrets } from '../../formats/mcp-secrets.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asString } from '../../platform/json/json-values.ts'
import { guardAddedTools } from '../guard/added-content.ts'
import { enforceRateLimit } from '../hold/admit.ts'
import { buildPlan } from '../plan/plan.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { requireWork } from '../request/work.ts'
import { findServerTool } from '../tools/all.ts'
import { type FunctionNameOf, restoreMcpCalls } from '../tools/mcp-history.ts'
import { convertMcpServers } from '../tools/mcp-servers.ts'
import type { PreparedFunction, PreparedTools } from '../tools/prepared-tools.ts'
import type { NestedRequests, ServerTool, ToolFormat, ToolInstance, ToolRequest } from '../tools/tool.ts'
import { requireServerTool, validateParameters } from '../tools/validate.ts'
import { convertVendorTool } from '../tools/vendor-tools.ts'
import { propagateTrace } from '../upstream/attempt-span.ts'
import { readBudget } from './budget.ts'
import { renameEarlierCalls } from './earlier-calls.ts'
import { mapToolChoice } from './tool-choice.ts'

/** Replaces the server tools of a guarded request by functions that every model can call. */
export async function prepareTools(
  gateway: Gateway,
  request: InferenceRequest,
  createNested: CreateNestedFn = () => noRequests,
): Promise<void> {
  const { call, body } = request.content
  const tools = call.tools ?? []
  if (!tools.some(({ kind }) => kind === 'native') && body.mcp_servers === undefined) return
  const toolRequest = describeRequest(gateway, request)
  const listCandidates = () => buildPlan(gateway, request).candidates
  const converted = convertMcpServers(tools, body, toolRequest, listCandidates).map((tool) =>
    tool.kind === 'native' ? convertVendorTool(tool, toolRequest) : tool,
  )
  if (converted.some(isServerTool)) return replaceTools(request, converted, toolRequest, createNested)
  if (converted.every((tool, index) => tool === tools[index])) return
  requireWork(request).dropped.push(...listRemovedFields(tools, converted))
  request.content = request.content.replaceCall({ ...call, tools: converted })
}

/** Fields of a vendor's tool that only the gateway knows. */
function listRemovedFields(tools: readonly Tool[], converted: readonly Tool[]): string[] {
  return tools.flatMap((tool, index) => {
    const left = converted[index]
    if (tool.kind !== 'native' || left?.kind !== 'native' || left.type !== tool.type) return []
    return Object.keys(tool.value).flatMap((name) => (name in left.value ? [] : [`tools[${index}].${name}`]))
  })
}

/** Creates the functions by which the tools of a request make requests. */
type CreateNestedFn = (gateway: Gateway, request: InferenceRequest) => NestedRequests

/** Rejects nested requests of a dry run: its tools are not called. */
const refuse = () => Promise.reject(gatewayError('unavailable', 'Models cannot be called in a dry run.'))
const noRequests: NestedRequests = { callModel: refuse, generateImage: refuse }

function isServerTool(tool: Tool): tool is NativeTool {
  return tool.kind === 'native' && isServerToolType(tool.type)
}

/** Far more than a model can choose from. Each is compared with the others and with the calls of the history. */
const maxServerTools = 128

/** An entry of `tools`, ready to run. */
interface PreparedEntry {
  /** The type in the client's spelling. */
  type: string
  tool: ServerTool
  instance: ToolInstance
  /** Functions with the names that the model is offered. */
  functions: FunctionTool[]
}

async function replaceTools(
  request: InferenceRequest,
  tools: Tool[],
  toolRequest: ToolRequest,
  createNested: CreateNestedFn,
): Promise<void> {
  const { content } = request
  const { call } = content
  if ((call.n ?? 1) > 1) throw invalidFieldError('n', 'must be 1 in a request with server tools')
  if (tools.filter(isServerTool).length > maxServerTools)
    throw invalidFieldError('tools', `must have at most ${maxServerTools} server tools`)
  const names = new Set(tools.flatMap(listNames))
  const replaced: Tool[] = []
  const entries: PreparedEntry[] = []
  request.isRateCounted = await countEarly(toolRequest.gateway, request, tools)
  const created = await Promise.all(tools.map((tool, index) => createEntry(toolRequest, tool, index)))
  for (const [index, tool] of tools.entries()) {
    const unnamed = created[index]
    if (!unnamed) {
      replaced.push(tool)
      continue
    }
    const named = unnamed.instance.functions.map((offered) => nameFunction(offered, names))
    const guarded = await guardAddedTools(toolRequest.gateway, request, named)
    const functions = guarded.map((tool, at) => renameRedacted(tool, named[at], names))
    entries.push({ ...unnamed, functions })
    replaced.push(...functions, ...(unnamed.instance.natives ?? []))
  }
  const work = requireWork(request)
  const budget = readBudget(content.body)
  const functions = indexFunctions(entries)
  const offerTools = () => selectTools(replaced, entries)
  const nested = createNested(toolRequest.gateway, request)
  const { messages, approved } = restoreMcpCalls(
    renameEarlierCalls(restoreItems(call.messages, entries), (recorded) => findOffered(entries, recorded)),
    createFunctionLookup(entries),
  )
  if (functions.size > 0)
    work.tools = {
      ...budget,
      functions,
      request: toolRequest,
      nested,
      offerTools,
      approved,
      ...buildOpening(entries),
    }
  for (const { instance } of entries) work.dropped.push(...(instance.ignored ?? []))
  work.dropped.push(...listRemovedFields(call.tools ?? [], tools))
  const changed = buildCall({ ...call, messages }, offerTools(), entries, budget.maxCalls)
  const closing = entries.flatMap(({ instance }) => instance.close ?? [])
  request.onSettled = [...request.onSettled, ...closing]
  request.content = content.replaceCall(changed).replaceFields(maskMcpSecrets(content.body))
}

/** Counts a request that makes the gateway send others before it is admitted. */
async function countEarly(
  gateway: Gateway,
  request: InferenceRequest,
  tools: readonly Tool[],
): Promise<boolean> {
  const connects = tools.some((tool) => isServerTool(tool) && findServerTool(tool.type)?.connectsFirst)
  if (connects) await enforceRateLimit(gateway, request)
  return connects
}

/** The function that the model is offered for a tool of an MCP server. */
function createFunctionLookup(entries: readonly PreparedEntry[]): FunctionNameOf {
  return (label, tool) => {
    const entry = entries.find(({ instance }) => instance.server?.label === label)
    const name = entry?.instance.server?.functionOf(tool)
    const index = entry?.instance.functions.findIndex((offered) => offered.name === name) ?? -1
    return entry?.functions[index]?.name
  }
}

/** The function that the model is offered for a tool of an earlier reply; undefined if it is offered none. */
function findOffered(entries: readonly PreparedEntry[], recorded: string): string | undefined {
  for (const { instance, functions } of entries) {
    const index = instance.functions.findIndex(({ name }) => name === recorded)
    if (index >= 0) return functions[index]?.name
    const label = instance.server?.label
    if (label !== undefined && recorded.startsWith(`${label}__`))
      return createFunctionLookup(entries)(label, recorded.slice(label.length + 2))
  }
  const named = entries.filter(({ tool }) => tool.name === recorded)
  return named.length === 1 ? named[0]?.functions[0]?.name : undefined
}

function buildOpening(entries: readonly PreparedEntry[]): Pick<PreparedTools, 'opening' | 'openingParts'> {
  const parts = entries.flatMap(({ instance }) => instance.opening ?? [])
  const opening = parts.flatMap((content, part): ReplyEvent[] => [
    { type: 'part-start', choice: 0, part, content },
    { type: 'part-end', choice: 0, part },
  ])
  return { opening, openingParts: parts.length }
}

function selectTools(tools: Tool[], entries: readonly PreparedEntry[]): Tool[] {
  return entries.reduce((left, { instance }) => instance.selectTools?.(left) ?? left, tools)
}

/** Calls that the client has run, and their results, under the names of the functions. */
function restoreItems(messages: Message[], entries: readonly PreparedEntry[]): Message[] {
  const restoring = entries.flatMap(({ instance, functions }) =>
    instance.restoreItem && functions[0] ? [{ restore: instance.restoreItem, name: functions[0].name }] : [],
  )
  if (restoring.length === 0) return messages
  const restore = (part: Message['parts'][number]) =>
    part.kind === 'opaque'
      ? (restoring.map(({ restore, name }) => restore(part.value, name)).find((found) => found) ?? part)
      : part
  return messages.map((message) => ({ ...message, parts: message.parts.map(restore) }))
}

/** A budget of no calls leaves the tools declared and forbids their use. */
function buildCall(call: ModelCall, tools: Tool[], entries: PreparedEntry[], maxCalls: number): ModelCall {
  const { toolChoice, ...rest } = call
  const choice = maxCalls === 0 ? { kind: 'none' as const } : toolChoice && mapToolChoice(toolChoice, entries)
  return {
    ...rest,
    tools,
    ...(choice && { toolChoice: choice }),
    unknown: call.unknown.filter((name) => !replacedFields.has(name)),
  }
}

/** Fields whose effect is in the tools of the call. */
const replacedFields: ReadonlySet<string> = new Set(['max_tool_calls', 'mcp_servers'])

function describeRequest(gateway: Gateway, request: InferenceRequest): ToolRequest {
  const { id, caller, region, keyContext, options, content, format, httpRequest, spans } = request
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
    signal: httpRequest.signal,
    spans,
    propagate: (spanId) => propagateTrace({ spans, httpRequest }, spanId),
  }
}

/** Creates an entry; null for a tool that the gateway does not run. */
async function createEntry(
  request: ToolRequest,
  entry: Tool,
  index: number,
): Promise<Omit<PreparedEntry, 'functions'> | null> {
  if (!isServerTool(entry)) return null
  const { type, value } = entry
  const at = asString(value.field) ?? `tools[${index}]`
  const tool = requireTool(type, request, at)
  // The tools of vendors have no `parameters`.
  const place = value.type === type ? `${at}.parameters` : at
  const parameters = validateParameters(tool, value.parameters ?? {}, place)
  const instance = await tool.create(parameters, { ...request, at, entry: value })
  return { type: asString(value.type) ?? type, tool, instance }
}

function nameFunction(offered: FunctionTool, names: Set<string>): FunctionTool {
  return { ...offered, name: takeName(offered.name, names) }
}

/** Vendors allow few characters, and those of a label are not among them. */
function renameRedacted(
  tool: FunctionTool,
  before: FunctionTool | undefined,
  names: Set<string>,
): FunctionTool {
  if (tool.name === before?.name) return tool
  return nameFunction({ ...tool, name: tool.name.replaceAll(/[^\w-]/g, '_') }, names)
}

function requireTool(type: string, { format, keyContext, region }: ToolRequest, at: string): ServerTool {
  const tool = requireServerTool(type, at)
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

/** Names that the client uses for its own tools. */
function listNames(tool: Tool): string[] {
  if (tool.kind !== 'native') return [tool.name, flattenToolName(tool)]
  const name = isServerToolType(tool.type) ? undefined : asString(tool.value.name)
  return name === undefined ? [] : [name]
}

/** The name, or the first free one with a number. */
function takeName(preferred: string, taken: Set<string>): string {
  let name = preferred
  for (let number = 2; taken.has(name); number++) name = `${preferred}_${number}`
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
