import { asBoolean, asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import {
  type CustomTool,
  type FunctionTool,
  flattenToolName,
  type Tool,
  type ToolChoice,
} from '../call/call.ts'
import { customToolSchema } from '../custom-tools.ts'
import { hasUnknownCacheTtl, type Losses } from '../fields.ts'
import { decodeCacheControl } from './blocks-decode.ts'
import { encodeCacheControl } from './cache-control.ts'

const knownToolFields = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
  'defer_loading',
])

/** `unknown` collects the names of fields that no other format has. */
export function decodeTools(value: unknown, unknown: Set<string>): Tool[] {
  return asObjects(value).map((tool) => {
    const type = asString(tool.type)
    if (type !== undefined && type !== 'custom') {
      return { kind: 'native', wireFormat: 'messages', type, value: tool }
    }
    for (const name in tool) if (!knownToolFields.has(name)) unknown.add(`tools.${name}`)
    if (hasUnknownCacheTtl(tool.cache_control)) unknown.add('cache_control.ttl')
    return decodeFunctionTool(tool)
  })
}

function decodeFunctionTool(tool: JsonObject): FunctionTool {
  const result: FunctionTool = { kind: 'function', name: asString(tool.name) ?? '' }
  const [description, schema] = [asString(tool.description), asObject(tool.input_schema)]
  const [strict, deferLoading] = [asBoolean(tool.strict), asBoolean(tool.defer_loading)]
  const cache = decodeCacheControl(tool.cache_control)
  if (description !== undefined) result.description = description
  if (schema) result.schema = schema
  if (strict !== undefined) result.strict = strict
  if (deferLoading !== undefined) result.deferLoading = deferLoading
  if (cache) result.cache = cache
  return result
}

export function decodeToolChoice(value: unknown): ToolChoice | undefined {
  const choice = asObject(value)
  const name = asString(choice?.name)
  if (!choice) return undefined
  if (choice.type === 'auto' || choice.type === 'none') return { kind: choice.type }
  if (choice.type === 'any') return { kind: 'required' }
  if (choice.type === 'tool' && name !== undefined) return { kind: 'tool', name }
  return { kind: 'native', wireFormat: 'messages', value: choice }
}

export function encodeTools(tools: Tool[], choice: ToolChoice | undefined, losses: Losses): JsonObject[] {
  const encoded: JsonObject[] = []
  const allowed = choice?.kind === 'allowed' ? new Set(choice.names) : null
  for (const tool of tools) {
    if (tool.kind === 'native') {
      if (tool.wireFormat === 'messages') encoded.push({ ...tool.value })
      else losses.add(`tool:${tool.type}`)
      continue
    }
    // The format cannot restrict the choice to some tools; omitting the others has the same effect.
    if (allowed && !allowed.has(flattenToolName(tool))) continue
    encoded.push(tool.kind === 'custom' ? encodeCustomTool(tool) : encodeFunctionTool(tool))
  }
  return encoded
}

function encodeFunctionTool(tool: FunctionTool): JsonObject {
  return {
    name: flattenToolName(tool),
    ...(tool.description !== undefined && { description: tool.description }),
    input_schema: tool.schema ?? { type: 'object', properties: {} },
    ...(tool.strict !== undefined && { strict: tool.strict }),
    ...(tool.deferLoading !== undefined && { defer_loading: tool.deferLoading }),
    ...(tool.cache && encodeCacheControl(tool.cache)),
  }
}

function encodeCustomTool(tool: CustomTool): JsonObject {
  return {
    name: flattenToolName(tool),
    ...(tool.description !== undefined && { description: tool.description }),
    input_schema: customToolSchema(tool),
  }
}

/** `canForce`: whether the upstream accepts a choice that forces a tool call. */
export function encodeToolChoice(
  choice: ToolChoice | undefined,
  parallel: boolean | undefined,
  canForce: boolean,
  losses: Losses,
): JsonObject | undefined {
  const encoded = encodeChoice(choice, losses)
  if (encoded && !canForce && encoded.type !== 'auto' && encoded.type !== 'none') {
    losses.add('tool_choice')
    return encodeToolChoice(undefined, parallel, canForce, losses)
  }
  if (parallel !== false || encoded?.type === 'none') return encoded
  return { ...(encoded ?? { type: 'auto' }), disable_parallel_tool_use: true }
}

function encodeChoice(choice: ToolChoice | undefined, losses: Losses): JsonObject | undefined {
  switch (choice?.kind) {
    case undefined:
      return undefined
    case 'auto':
    case 'none':
      return { type: choice.kind }
    case 'required':
      return { type: 'any' }
    case 'tool':
      return { type: 'tool', name: choice.name }
    case 'allowed':
      return { type: choice.required ? 'any' : 'auto' }
    case 'native':
      return choice.wireFormat === 'messages' ? choice.value : losses.add('tool_choice')
  }
}
