import { type Call, flatToolName, type Tool, type ToolChoice } from '../../call/call.ts'
import { defined, type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import type { Losses } from '../fields.ts'
import { jsonSchemaOf } from './json-schema.ts'
import { camel, field, listOf, objectField } from './names.ts'

/** Words of a declaration that no other format has. */
const onlyHere = ['response', 'responseJsonSchema', 'behavior']

export function decodeTools(value: unknown, unknown: Set<string>): Tool[] {
  return listOf(value).flatMap((entry) => {
    const given = objectOf(entry) ?? {}
    return Object.keys(given).flatMap((key): Tool[] => {
      const type = camel(key)
      if (given[key] === null || given[key] === undefined) return []
      if (type === 'functionDeclarations') return decodeDeclarations(given[key], unknown)
      return [{ kind: 'native', dialect: 'gemini', type, value: { [type]: given[key] } }]
    })
  })
}

function decodeDeclarations(value: unknown, unknown: Set<string>): Tool[] {
  return listOf(value).flatMap((entry) => {
    const declared = objectOf(entry)
    const name = textOf(declared?.name)
    if (!declared || name === undefined) return []
    for (const word of onlyHere) if (field(declared, word) !== undefined) unknown.add(`tools.${word}`)
    const written = objectField(declared, 'parametersJsonSchema')
    const own = objectField(declared, 'parameters')
    const schema = written ?? (own && jsonSchemaOf(own))
    const description = textOf(declared.description)
    return [{ kind: 'function' as const, name, ...defined({ description, schema }) }]
  })
}

export function decodeToolChoice(value: unknown, unknown: Set<string>): ToolChoice | undefined {
  const config = objectOf(value)
  if (!config) return undefined
  for (const key of Object.keys(config)) {
    if (camel(key) !== 'functionCallingConfig') unknown.add(`toolConfig.${key}`)
  }
  const calling = objectField(config, 'functionCallingConfig')
  if (!calling) return undefined
  for (const key of Object.keys(calling)) {
    if (!['mode', 'allowedFunctionNames'].includes(camel(key))) unknown.add(`toolConfig.${key}`)
  }
  const names = listOf(field(calling, 'allowedFunctionNames')).filter((name) => typeof name === 'string')
  const mode = (textOf(calling.mode) ?? '').toUpperCase()
  if (!modes.has(mode)) unknown.add('toolConfig.mode')
  return choiceOf(mode, names)
}

/** Without a mode, and with the one that stands for none, the vendor decides. */
const modes = new Set(['', 'MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'])

function choiceOf(mode: string, names: string[]): ToolChoice | undefined {
  const [only] = names
  if (mode === 'NONE') return { kind: 'none' }
  if (mode === 'ANY') {
    if (only === undefined) return { kind: 'required' }
    return names.length === 1 ? { kind: 'tool', name: only } : { kind: 'allowed', required: true, names }
  }
  if (names.length > 0) return { kind: 'allowed', required: false, names }
  return mode === 'AUTO' || mode === 'VALIDATED' ? { kind: 'auto' } : undefined
}

/** What a tool that takes free text is declared with where every tool takes an object. */
const freeText = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
}

export function encodeTools(tools: Tool[] | undefined, losses: Losses): JsonObject[] | undefined {
  const declarations: JsonObject[] = []
  const native: JsonObject[] = []
  for (const tool of tools ?? []) {
    if (tool.kind === 'native') {
      if (tool.dialect === 'gemini') native.push(tool.value)
      else losses.add(`tool:${tool.type}`)
    } else declarations.push(declare(tool, losses))
  }
  const all = declarations.length > 0 ? [{ functionDeclarations: declarations }, ...native] : native
  return all.length > 0 ? all : undefined
}

function declare(tool: Exclude<Tool, { kind: 'native' }>, losses: Losses): JsonObject {
  const { description } = tool
  const name = flatToolName(tool)
  if (tool.kind === 'custom') {
    if (tool.format && tool.format.type !== 'text') losses.add('tools.format')
    return defined({ name, description, parametersJsonSchema: freeText })
  }
  if (tool.strict) losses.add('tools.strict')
  if (tool.cache) losses.add('cache_control')
  if (tool.deferLoading) losses.add('tools.defer_loading')
  return defined({ name, description, parametersJsonSchema: tool.schema })
}

export function encodeToolChoice(call: Call, losses: Losses): JsonObject | undefined {
  const { toolChoice, tools } = call
  if (!toolChoice) return undefined
  if (toolChoice.kind === 'native') {
    return toolChoice.dialect === 'gemini' ? toolChoice.value : losses.add('tool_choice')
  }
  const declared = tools?.some((tool) => tool.kind !== 'native')
  // The vendor refuses a choice among no functions.
  if (!declared) return ['auto', 'none'].includes(toolChoice.kind) ? undefined : losses.add('tool_choice')
  return { functionCallingConfig: callingConfig(toolChoice) }
}

function callingConfig(choice: Exclude<ToolChoice, { kind: 'native' }>): JsonObject {
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
      // AUTO takes no list of names; VALIDATED is the mode that may answer in words and takes one.
      return { mode: choice.required ? 'ANY' : 'VALIDATED', allowedFunctionNames: choice.names }
  }
}
