import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asBoolean, asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import {
  type CustomTool,
  type FunctionTool,
  flattenToolName,
  type Tool,
  type ToolChoice,
} from '../call/call.ts'
import { findTool } from '../call/find-tool.ts'
import { type Losses, listUnknownMembers } from '../fields.ts'
import { decodeCacheControl } from './parts-decode.ts'

export function decodeTools(body: JsonObject): Tool[] | undefined {
  const tools = Array.isArray(body.tools) ? body.tools.map((tool, at) => decodeTool(tool, at)) : []
  return tools.length > 0 ? tools : undefined
}

function decodeTool(item: unknown, index: number): Tool {
  const at = `tools[${index}]`
  const tool = asObject(item)
  if (!tool) throw invalidFieldError(at, 'must be a tool')
  const type = asString(tool.type) ?? 'function'
  const cache = decodeCacheControl(tool)
  // Some clients send the fields of the function next to its type.
  if (type === 'function')
    return { ...decodeFunction(asObject(tool.function) ?? tool, at), ...(cache && { cache }) }
  if (type === 'custom') return decodeCustom(asObject(tool.custom) ?? tool, at)
  return { kind: 'native', wireFormat: 'chat', type, value: tool }
}

const knownToolFields = new Set(['type', 'function', 'custom', 'cache_control', 'prompt_cache_breakpoint'])
const knownFunctionFields = new Set(['name', 'description', 'parameters', 'strict', 'format'])

/** Fields of a tool that other formats do not have. */
export function listUnknownToolFields(tool: JsonObject): string[] {
  const fields = asObject(tool.function) ?? asObject(tool.custom)
  if (!fields) return []
  return [
    ...listUnknownMembers(tool, knownToolFields, 'tools'),
    ...listUnknownMembers(fields, knownFunctionFields, 'tools'),
  ]
}

function decodeFunction(fields: JsonObject, at: string): FunctionTool {
  const name = asString(fields.name)
  if (!name) throw invalidFieldError(`${at}.function.name`, 'is required')
  const tool: FunctionTool = { kind: 'function', name }
  const [description, schema, strict] = [
    asString(fields.description),
    asObject(fields.parameters),
    asBoolean(fields.strict),
  ]
  if (description !== undefined) tool.description = description
  if (schema !== undefined) tool.schema = schema
  if (strict !== undefined) tool.strict = strict
  return tool
}

function decodeCustom(fields: JsonObject, at: string): CustomTool {
  const name = asString(fields.name)
  if (!name) throw invalidFieldError(`${at}.custom.name`, 'is required')
  const tool: CustomTool = { kind: 'custom', name }
  const description = asString(fields.description)
  if (description !== undefined) tool.description = description
  const format = asObject(fields.format)
  // Stored flat as in the Responses format; this format nests the grammar in a second object.
  const grammar = asObject(format?.grammar)
  if (format) tool.format = grammar ? { type: format.type, ...grammar } : format
  return tool
}

export function encodeTools(tools: Tool[], losses: Losses): JsonObject[] {
  return tools.flatMap((tool) => {
    if (tool.kind === 'function') return [encodeFunction(tool, losses)]
    if (tool.kind === 'custom') return [encodeCustom(tool)]
    if (tool.wireFormat === 'chat') return [tool.value]
    losses.add(`tool:${tool.type}`)
    return []
  })
}

function encodeFunction(tool: FunctionTool, losses: Losses): JsonObject {
  if (tool.cache) losses.add('cache_control')
  if (tool.deferLoading) losses.add('tools.defer_loading')
  const fields: JsonObject = { name: flattenToolName(tool) }
  if (tool.description !== undefined) fields.description = tool.description
  if (tool.schema !== undefined) fields.parameters = tool.schema
  if (tool.strict !== undefined) fields.strict = tool.strict
  return { type: 'function', function: fields }
}

function encodeCustom(tool: CustomTool): JsonObject {
  const fields: JsonObject = { name: flattenToolName(tool) }
  if (tool.description !== undefined) fields.description = tool.description
  if (tool.format) fields.format = nestGrammar(tool.format)
  return { type: 'custom', custom: fields }
}

function nestGrammar(format: JsonObject): JsonObject {
  const { type, ...grammar } = format
  return type === 'grammar' && !asObject(format.grammar) ? { type, grammar } : format
}

export function decodeToolChoice(body: JsonObject): ToolChoice | undefined {
  const choice = body.tool_choice
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { kind: choice }
  if (choice === 'any') return { kind: 'required' }
  const choiceObject = asObject(choice)
  if (!choiceObject) return undefined
  const allowed =
    asObject(choiceObject.allowed_tools) ?? (choiceObject.type === 'allowed_tools' ? choiceObject : undefined)
  if (allowed) {
    const names = asObjects(allowed.tools).map((tool) => toolNameOf(tool) ?? '')
    return { kind: 'allowed', required: allowed.mode === 'required', names: names.filter(Boolean) }
  }
  const name = toolNameOf(choiceObject)
  if (name !== undefined) return { kind: 'tool', name }
  return { kind: 'native', wireFormat: 'chat', value: choiceObject }
}

function toolNameOf(tool: JsonObject): string | undefined {
  return (
    asString(asObject(tool.function)?.name) ?? asString(asObject(tool.custom)?.name) ?? asString(tool.name)
  )
}

export function encodeToolChoice(choice: ToolChoice, tools: Tool[], losses: Losses): unknown {
  switch (choice.kind) {
    case 'tool':
      return encodeToolReference(choice.name, tools)
    case 'allowed': {
      const mode = choice.required ? 'required' : 'auto'
      const references = choice.names.map((name) => encodeToolReference(name, tools))
      return { type: 'allowed_tools', allowed_tools: { mode, tools: references } }
    }
    case 'native':
      return choice.wireFormat === 'chat' ? choice.value : losses.add('tool_choice')
    default:
      return choice.kind
  }
}

function encodeToolReference(name: string, tools: Tool[]): JsonObject {
  return findTool(tools, name)?.kind === 'custom'
    ? { type: 'custom', custom: { name } }
    : { type: 'function', function: { name } }
}
