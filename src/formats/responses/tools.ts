import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import {
  asBoolean,
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import {
  type CustomTool,
  type FunctionTool,
  flattenToolName,
  type NativeTool,
  type Tool,
  type ToolChoice,
} from '../call/call.ts'
import { findTool } from '../call/find-tool.ts'
import { type Losses, listUnknownMembers } from '../fields.ts'
import { decodeCacheControl } from './parts-decode.ts'

export function decodeTools(value: unknown): Tool[] {
  return asObjects(value).flatMap((tool, index) => decodeTool(tool, `tools.${index}`))
}

function decodeTool(tool: JsonObject, at: string): Tool[] {
  if (tool.type === 'function') return [decodeFunction(tool, at)]
  if (tool.type === 'custom') return [decodeCustom(tool, at)]
  if (tool.type === 'namespace') return decodeNamespace(tool, at)
  return [{ kind: 'native', wireFormat: 'responses', type: asString(tool.type) ?? '', value: tool }]
}

const knownToolFields = new Set([
  ...['type', 'name', 'description', 'parameters', 'strict', 'format', 'function', 'defer_loading'],
  ...['cache_control', 'prompt_cache_breakpoint'],
])

/** Fields of a tool that other formats do not have. A native tool is dropped as a whole. */
export function listUnknownToolFields(tool: JsonObject): string[] {
  return tool.type === 'function' || tool.type === 'custom'
    ? listUnknownMembers(tool, knownToolFields, 'tools')
    : []
}

function decodeNamespace(group: JsonObject, at: string): Tool[] {
  const namespace = requireName(group, at)
  return asObjects(group.tools).flatMap((tool, index) =>
    decodeTool(tool, `${at}.tools.${index}`).map((inner) =>
      inner.kind === 'native' ? inner : { ...inner, namespace },
    ),
  )
}

function decodeFunction(outer: JsonObject, at: string): FunctionTool {
  // Some clients send the chat form, nested under `function`.
  const tool = outer.name === undefined ? (asObject(outer.function) ?? outer) : outer
  const control = asObject(outer.cache_control)
  return omitUndefined({
    kind: 'function' as const,
    name: requireName(tool, at),
    description: asString(tool.description),
    schema: asObject(tool.parameters),
    strict: asBoolean(tool.strict),
    deferLoading: asBoolean(tool.defer_loading),
    cache: control && decodeCacheControl(control),
  })
}

function decodeCustom(tool: JsonObject, at: string): CustomTool {
  return omitUndefined({
    kind: 'custom' as const,
    name: requireName(tool, at),
    description: asString(tool.description),
    format: asObject(tool.format),
  })
}

function requireName(tool: JsonObject, at: string): string {
  const name = asString(tool.name)
  if (name === undefined) throw invalidFieldError(`${at}.name`, 'is required')
  return name
}

export function decodeToolChoice(value: unknown): ToolChoice | undefined {
  if (value === 'auto' || value === 'none' || value === 'required') return { kind: value }
  const choice = asObject(value)
  if (!choice) return undefined
  const name = toolNameOf(choice)
  if (name !== undefined) return { kind: 'tool', name }
  if (choice.type === 'allowed_tools') {
    const names = asObjects(choice.tools).map(toolNameOf)
    const known = names.filter((entry) => entry !== undefined)
    if (known.length === names.length) {
      return { kind: 'allowed', required: choice.mode === 'required', names: known }
    }
  }
  return { kind: 'native', wireFormat: 'responses', value: choice }
}

function toolNameOf(choice: JsonObject): string | undefined {
  if (choice.type !== 'function' && choice.type !== 'custom') return undefined
  const name = asString(choice.name) ?? asString(asObject(choice.function)?.name)
  const namespace = asString(choice.namespace)
  return name === undefined || namespace === undefined
    ? name
    : flattenToolName({ kind: 'custom', name, namespace })
}

/** Namespaces are flattened, because not every upstream has them; replies are mapped back by the flat name. */
export function encodeTools(tools: Tool[], losses: Losses): JsonObject[] {
  return tools.map((tool) => encodeTool(tool, losses)).filter((tool) => tool !== undefined)
}

function encodeTool(tool: Tool, losses: Losses): JsonObject | undefined {
  if (tool.kind === 'native') return encodeNativeTool(tool, losses)
  if (tool.kind === 'custom') {
    const { description, format } = tool
    return omitUndefined({ type: 'custom', name: flattenToolName(tool), description, format })
  }
  if (tool.cache) losses.add('cache_control')
  return omitUndefined({
    type: 'function',
    name: flattenToolName(tool),
    description: tool.description,
    parameters: tool.schema ?? { type: 'object', properties: {} },
    // The default is true here, with which a vendor may rewrite or reject the schema.
    strict: tool.strict ?? false,
    defer_loading: tool.deferLoading,
  })
}

function encodeNativeTool(tool: NativeTool, losses: Losses): JsonObject | undefined {
  return tool.wireFormat === 'responses' ? tool.value : losses.add(`tool:${tool.type}`)
}

export function encodeToolChoice(choice: ToolChoice, tools: Tool[], losses: Losses): unknown {
  if (choice.kind === 'tool') return encodeToolReference(choice.name, tools)
  if (choice.kind === 'allowed') {
    return {
      type: 'allowed_tools',
      mode: choice.required ? 'required' : 'auto',
      tools: choice.names.map((name) => encodeToolReference(name, tools)),
    }
  }
  if (choice.kind !== 'native') return choice.kind
  return choice.wireFormat === 'responses' ? choice.value : losses.add('tool_choice')
}

function encodeToolReference(name: string, tools: Tool[]): JsonObject {
  return { type: findTool(tools, name)?.kind === 'custom' ? 'custom' : 'function', name }
}
