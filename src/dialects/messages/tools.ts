import {
  type CustomTool,
  type FunctionTool,
  flatToolName,
  type Tool,
  type ToolChoice,
} from '../../call/call.ts'
import { flagOf, type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { hasUnknownLifetime, type Losses } from '../fields.ts'
import { cacheMark } from './blocks-decode.ts'
import { cacheControl } from './cache.ts'

/** Tools that run in the gateway. */
export const ownTool = 'service:'

const ownFields = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
  'defer_loading',
])

/** `unknown` gets the names of fields that no other format could be told about. */
export function decodeTools(value: unknown, unknown: Set<string>): Tool[] {
  return objectsOf(value).map((tool) => {
    const type = textOf(tool.type)
    if (type !== undefined && type !== 'custom') {
      return { kind: 'native', dialect: 'messages', type, value: tool }
    }
    for (const name in tool) if (!ownFields.has(name)) unknown.add(`tools.${name}`)
    if (hasUnknownLifetime(tool.cache_control)) unknown.add('cache_control.ttl')
    return functionTool(tool)
  })
}

function functionTool(tool: JsonObject): FunctionTool {
  const result: FunctionTool = { kind: 'function', name: textOf(tool.name) ?? '' }
  const [description, schema] = [textOf(tool.description), objectOf(tool.input_schema)]
  const [strict, deferLoading] = [flagOf(tool.strict), flagOf(tool.defer_loading)]
  const cache = cacheMark(tool.cache_control)
  if (description !== undefined) result.description = description
  if (schema) result.schema = schema
  if (strict !== undefined) result.strict = strict
  if (deferLoading !== undefined) result.deferLoading = deferLoading
  if (cache) result.cache = cache
  return result
}

export function decodeToolChoice(value: unknown): ToolChoice | undefined {
  const choice = objectOf(value)
  const name = textOf(choice?.name)
  if (!choice) return undefined
  if (choice.type === 'auto' || choice.type === 'none') return { kind: choice.type }
  if (choice.type === 'any') return { kind: 'required' }
  if (choice.type === 'tool' && name !== undefined) return { kind: 'tool', name }
  return { kind: 'native', dialect: 'messages', value: choice }
}

export function encodeTools(tools: Tool[], choice: ToolChoice | undefined, losses: Losses): JsonObject[] {
  const encoded: JsonObject[] = []
  for (const tool of tools) {
    if (tool.kind === 'native') {
      if (tool.dialect === 'messages' && !tool.type.startsWith(ownTool)) encoded.push({ ...tool.value })
      else losses.add(`tool:${tool.type}`)
      continue
    }
    // The format cannot restrict a choice to some tools; not to offer the others comes to the same.
    if (choice?.kind === 'allowed' && !choice.names.includes(flatToolName(tool))) continue
    encoded.push(tool.kind === 'custom' ? encodeCustom(tool) : encodeFunction(tool))
  }
  return encoded
}

function encodeFunction(tool: FunctionTool): JsonObject {
  return {
    name: flatToolName(tool),
    ...(tool.description !== undefined && { description: tool.description }),
    input_schema: tool.schema ?? { type: 'object', properties: {} },
    ...(tool.strict !== undefined && { strict: tool.strict }),
    ...(tool.deferLoading !== undefined && { defer_loading: tool.deferLoading }),
    ...(tool.cache && cacheControl(tool.cache)),
  }
}

/** Free text is one string argument, and a grammar is told in words. */
function encodeCustom(tool: CustomTool): JsonObject {
  const grammar = tool.format && tool.format.type !== 'text' ? JSON.stringify(tool.format) : undefined
  const input = { type: 'string', ...(grammar && { description: `Text of this format: ${grammar}` }) }
  return {
    name: flatToolName(tool),
    ...(tool.description !== undefined && { description: tool.description }),
    input_schema: { type: 'object', properties: { input }, required: ['input'] },
  }
}

/** The arguments of a tool without a schema of its own. */
function customInput(text: string): JsonObject {
  return { input: text }
}

/**
 * Arguments as the object that the format wants. What is not one goes under a name of its own, so that
 * the model sees what it wrote.
 */
export function inputOf(text: string, custom: boolean | undefined): JsonObject {
  if (custom) return customInput(text)
  if (text.trim() === '') return {}
  try {
    const value = objectOf(JSON.parse(text))
    if (value) return value
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error
  }
  return { _raw: text }
}

/** `forced`: whether a choice that makes the model call a tool is possible at all. */
export function encodeToolChoice(
  choice: ToolChoice | undefined,
  parallel: boolean | undefined,
  forced: boolean,
  losses: Losses,
): JsonObject | undefined {
  const encoded = choiceOf(choice, losses)
  if (encoded && !forced && encoded.type !== 'auto' && encoded.type !== 'none') {
    losses.add('tool_choice')
    return encodeToolChoice(undefined, parallel, forced, losses)
  }
  if (parallel !== false || encoded?.type === 'none') return encoded
  return { ...(encoded ?? { type: 'auto' }), disable_parallel_tool_use: true }
}

function choiceOf(choice: ToolChoice | undefined, losses: Losses): JsonObject | undefined {
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
      return choice.dialect === 'messages' ? choice.value : losses.add('tool_choice')
  }
}
