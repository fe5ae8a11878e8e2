import { asObject, asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { flattenToolName, type ModelCall, type Tool, type ToolChoice } from '../call/call.ts'
import type { Losses } from '../fields.ts'
import { listOf, readField, readObjectField, toCamelCase } from './field-names.ts'
import { toJsonSchema } from './json-schema.ts'

/** Fields of a declaration that no other format has. */
const unmappedFields = ['response', 'responseJsonSchema', 'behavior']

export function decodeTools(value: unknown, unknown: Set<string>): Tool[] {
  return listOf(value).flatMap((entry) => {
    const tool = asObject(entry) ?? {}
    return Object.keys(tool).flatMap((key): Tool[] => {
      const type = toCamelCase(key)
      if (tool[key] === null || tool[key] === undefined) return []
      if (type === 'functionDeclarations') return decodeDeclarations(tool[key], unknown)
      return [{ kind: 'native', wireFormat: 'gemini', type, value: { [type]: tool[key] } }]
    })
  })
}

function decodeDeclarations(value: unknown, unknown: Set<string>): Tool[] {
  return listOf(value).flatMap((entry) => {
    const declaration = asObject(entry)
    const name = asString(declaration?.name)
    if (!declaration || name === undefined) return []
    for (const fieldName of unmappedFields)
      if (readField(declaration, fieldName) !== undefined) unknown.add(`tools.${fieldName}`)
    const jsonSchema = readObjectField(declaration, 'parametersJsonSchema')
    const vendorSchema = readObjectField(declaration, 'parameters')
    const schema = jsonSchema ?? (vendorSchema && toJsonSchema(vendorSchema))
    const description = asString(declaration.description)
    return [{ kind: 'function' as const, name, ...omitUndefined({ description, schema }) }]
  })
}

export function decodeToolChoice(value: unknown, unknown: Set<string>): ToolChoice | undefined {
  const config = asObject(value)
  if (!config) return undefined
  for (const key of Object.keys(config)) {
    if (toCamelCase(key) !== 'functionCallingConfig') unknown.add(`toolConfig.${key}`)
  }
  const calling = readObjectField(config, 'functionCallingConfig')
  if (!calling) return undefined
  for (const key of Object.keys(calling)) {
    if (!['mode', 'allowedFunctionNames'].includes(toCamelCase(key))) unknown.add(`toolConfig.${key}`)
  }
  const names = listOf(readField(calling, 'allowedFunctionNames')).filter((name) => typeof name === 'string')
  const mode = (asString(calling.mode) ?? '').toUpperCase()
  if (!knownModes.has(mode)) unknown.add('toolConfig.mode')
  return decodeMode(mode, names)
}

/** Modes that `decodeMode` knows. The vendor uses its default without a mode, or with `MODE_UNSPECIFIED`. */
const knownModes = new Set(['', 'MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'])

function decodeMode(mode: string, names: string[]): ToolChoice | undefined {
  const [only] = names
  if (mode === 'NONE') return { kind: 'none' }
  if (mode === 'ANY') {
    if (only === undefined) return { kind: 'required' }
    return names.length === 1 ? { kind: 'tool', name: only } : { kind: 'allowed', required: true, names }
  }
  if (names.length > 0) return { kind: 'allowed', required: false, names }
  return mode === 'AUTO' || mode === 'VALIDATED' ? { kind: 'auto' } : undefined
}

/** Schema of a tool with free-text input: the format requires an object. */
const freeTextSchema = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
}

export function encodeTools(tools: Tool[] | undefined, losses: Losses): JsonObject[] | undefined {
  const declarations: JsonObject[] = []
  const native: JsonObject[] = []
  for (const tool of tools ?? []) {
    if (tool.kind === 'native') {
      if (tool.wireFormat === 'gemini') native.push(tool.value)
      else losses.add(`tool:${tool.type}`)
    } else declarations.push(encodeDeclaration(tool, losses))
  }
  const all = declarations.length > 0 ? [{ functionDeclarations: declarations }, ...native] : native
  return all.length > 0 ? all : undefined
}

function encodeDeclaration(tool: Exclude<Tool, { kind: 'native' }>, losses: Losses): JsonObject {
  const { description } = tool
  const name = flattenToolName(tool)
  if (tool.kind === 'custom') {
    if (tool.format && tool.format.type !== 'text') losses.add('tools.format')
    return omitUndefined({ name, description, parametersJsonSchema: freeTextSchema })
  }
  if (tool.strict) losses.add('tools.strict')
  if (tool.cache) losses.add('cache_control')
  if (tool.deferLoading) losses.add('tools.defer_loading')
  return omitUndefined({ name, description, parametersJsonSchema: tool.schema })
}

export function encodeToolChoice(call: ModelCall, losses: Losses): JsonObject | undefined {
  const { toolChoice, tools } = call
  if (!toolChoice) return undefined
  if (toolChoice.kind === 'native') {
    return toolChoice.wireFormat === 'gemini' ? toolChoice.value : losses.add('tool_choice')
  }
  const hasFunctions = tools?.some((tool) => tool.kind !== 'native')
  // The vendor rejects a tool choice without functions.
  if (!hasFunctions) return ['auto', 'none'].includes(toolChoice.kind) ? undefined : losses.add('tool_choice')
  return { functionCallingConfig: encodeCallingConfig(toolChoice) }
}

function encodeCallingConfig(choice: Exclude<ToolChoice, { kind: 'native' }>): JsonObject {
  switch (choice.kind) {
    case 'auto':
      return { mode: 'AUTO' }
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [choice.name] }
    case 'allowed':
      // AUTO accepts no names; VALIDATED accepts them and still allows a text reply.
      return { mode: choice.required ? 'ANY' : 'VALIDATED', allowedFunctionNames: choice.names }
  }
}
