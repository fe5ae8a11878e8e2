import {
  type CustomTool,
  type FunctionTool,
  flatToolName,
  type Tool,
  type ToolChoice,
} from '../../call/call.ts'
import { badField } from '../../errors.ts'
import { flagOf, type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { type Losses, unknownIn } from '../fields.ts'
import { cacheOf } from './parts-decode.ts'

/** Tools that the gateway runs itself; no upstream knows them. */
const ownTools = 'service:'

export function isOwnTool(type: string): boolean {
  return type.startsWith(ownTools)
}

export function decodeTools(body: JsonObject): Tool[] | undefined {
  const tools = Array.isArray(body.tools) ? body.tools.map((tool, at) => decodeTool(tool, at)) : []
  return tools.length > 0 ? tools : undefined
}

function decodeTool(item: unknown, index: number): Tool {
  const at = `tools[${index}]`
  const tool = objectOf(item)
  if (!tool) throw badField(at, 'must be a tool')
  const type = textOf(tool.type) ?? 'function'
  const cache = cacheOf(tool)
  // Some clients write the fields of the function beside its type.
  if (type === 'function')
    return { ...functionTool(objectOf(tool.function) ?? tool, at), ...(cache && { cache }) }
  if (type === 'custom') return customTool(objectOf(tool.custom) ?? tool, at)
  return { kind: 'native', dialect: 'chat', type, value: tool }
}

const toolFields = new Set(['type', 'function', 'custom', 'cache_control', 'prompt_cache_breakpoint'])
const functionFields = new Set(['name', 'description', 'parameters', 'strict', 'format'])

/** What is said of a tool beside what every format can be told. */
export function unknownToolFields(tool: JsonObject): string[] {
  const named = objectOf(tool.function) ?? objectOf(tool.custom)
  if (!named) return []
  return [...unknownIn(tool, toolFields, 'tools'), ...unknownIn(named, functionFields, 'tools')]
}

function functionTool(given: JsonObject, at: string): FunctionTool {
  const name = textOf(given.name)
  if (!name) throw badField(`${at}.function.name`, 'is required')
  const tool: FunctionTool = { kind: 'function', name }
  const [description, schema, strict] = [
    textOf(given.description),
    objectOf(given.parameters),
    flagOf(given.strict),
  ]
  if (description !== undefined) tool.description = description
  if (schema !== undefined) tool.schema = schema
  if (strict !== undefined) tool.strict = strict
  return tool
}

function customTool(given: JsonObject, at: string): CustomTool {
  const name = textOf(given.name)
  if (!name) throw badField(`${at}.custom.name`, 'is required')
  const tool: CustomTool = { kind: 'custom', name }
  const description = textOf(given.description)
  if (description !== undefined) tool.description = description
  const format = objectOf(given.format)
  // Kept flat, as the newer format has it; this one nests a grammar in a second object.
  const grammar = objectOf(format?.grammar)
  if (format) tool.format = grammar ? { type: format.type, ...grammar } : format
  return tool
}

export function encodeTools(tools: Tool[], losses: Losses): JsonObject[] {
  return tools.flatMap((tool) => {
    if (tool.kind === 'function') return [encodeFunction(tool, losses)]
    if (tool.kind === 'custom') return [encodeCustom(tool)]
    if (tool.dialect === 'chat' && !isOwnTool(tool.type)) return [tool.value]
    losses.add(`tool:${tool.type}`)
    return []
  })
}

function encodeFunction(tool: FunctionTool, losses: Losses): JsonObject {
  if (tool.cache) losses.add('cache_control')
  if (tool.deferLoading) losses.add('tools.defer_loading')
  const given: JsonObject = { name: flatToolName(tool) }
  if (tool.description !== undefined) given.description = tool.description
  if (tool.schema !== undefined) given.parameters = tool.schema
  if (tool.strict !== undefined) given.strict = tool.strict
  return { type: 'function', function: given }
}

function encodeCustom(tool: CustomTool): JsonObject {
  const given: JsonObject = { name: flatToolName(tool) }
  if (tool.description !== undefined) given.description = tool.description
  if (tool.format) given.format = nested(tool.format)
  return { type: 'custom', custom: given }
}

function nested(format: JsonObject): JsonObject {
  const { type, ...grammar } = format
  return type === 'grammar' && !objectOf(format.grammar) ? { type, grammar } : format
}

export function decodeToolChoice(body: JsonObject): ToolChoice | undefined {
  const choice = body.tool_choice
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { kind: choice }
  if (choice === 'any') return { kind: 'required' }
  const named = objectOf(choice)
  if (!named) return undefined
  const allowed = objectOf(named.allowed_tools) ?? (named.type === 'allowed_tools' ? named : undefined)
  if (allowed) {
    const names = objectsOf(allowed.tools).map((tool) => nameIn(tool) ?? '')
    return { kind: 'allowed', required: allowed.mode === 'required', names: names.filter(Boolean) }
  }
  const name = nameIn(named)
  if (name !== undefined) return { kind: 'tool', name }
  return { kind: 'native', dialect: 'chat', value: named }
}

function nameIn(tool: JsonObject): string | undefined {
  return textOf(objectOf(tool.function)?.name) ?? textOf(objectOf(tool.custom)?.name) ?? textOf(tool.name)
}

export function encodeToolChoice(choice: ToolChoice, tools: Tool[], losses: Losses): unknown {
  switch (choice.kind) {
    case 'tool':
      return reference(choice.name, tools)
    case 'allowed': {
      const mode = choice.required ? 'required' : 'auto'
      const listed = choice.names.map((name) => reference(name, tools))
      return { type: 'allowed_tools', allowed_tools: { mode, tools: listed } }
    }
    case 'native':
      return choice.dialect === 'chat' ? choice.value : losses.add('tool_choice')
    default:
      return choice.kind
  }
}

function reference(name: string, tools: Tool[]): JsonObject {
  const custom = tools.some((tool) => tool.kind === 'custom' && flatToolName(tool) === name)
  return custom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } }
}
