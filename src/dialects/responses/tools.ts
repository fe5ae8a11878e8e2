import {
  type CustomTool,
  type FunctionTool,
  flatToolName,
  type NativeTool,
  type Tool,
  type ToolChoice,
} from '../../call/call.ts'
import { badField } from '../../errors.ts'
import { defined, flagOf, type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { type Losses, unknownIn } from '../fields.ts'
import { cacheMark } from './content-decode.ts'

export function decodeTools(value: unknown): Tool[] {
  return objectsOf(value).flatMap((tool, index) => decodeTool(tool, `tools.${index}`))
}

function decodeTool(tool: JsonObject, at: string): Tool[] {
  if (tool.type === 'function') return [decodeFunction(tool, at)]
  if (tool.type === 'custom') return [decodeCustom(tool, at)]
  if (tool.type === 'namespace') return decodeNamespace(tool, at)
  return [{ kind: 'native', dialect: 'responses', type: textOf(tool.type) ?? '', value: tool }]
}

const toolFields = new Set([
  ...['type', 'name', 'description', 'parameters', 'strict', 'format', 'function', 'defer_loading'],
  ...['cache_control', 'prompt_cache_breakpoint'],
])

/** What is said of a tool beside what every format can be told; a vendor's own tool is lost whole. */
export function unknownToolFields(tool: JsonObject): string[] {
  return tool.type === 'function' || tool.type === 'custom' ? unknownIn(tool, toolFields, 'tools') : []
}

function decodeNamespace(group: JsonObject, at: string): Tool[] {
  const namespace = nameOf(group, at)
  return objectsOf(group.tools).flatMap((tool, index) =>
    decodeTool(tool, `${at}.tools.${index}`).map((inner) =>
      inner.kind === 'native' ? inner : { ...inner, namespace },
    ),
  )
}

function decodeFunction(given: JsonObject, at: string): FunctionTool {
  // A client that mixes the formats sends the chat form, nested under `function`.
  const tool = given.name === undefined ? (objectOf(given.function) ?? given) : given
  const control = objectOf(given.cache_control)
  return defined({
    kind: 'function' as const,
    name: nameOf(tool, at),
    description: textOf(tool.description),
    schema: objectOf(tool.parameters),
    strict: flagOf(tool.strict),
    deferLoading: flagOf(tool.defer_loading),
    cache: control && cacheMark(control),
  })
}

function decodeCustom(tool: JsonObject, at: string): CustomTool {
  return defined({
    kind: 'custom' as const,
    name: nameOf(tool, at),
    description: textOf(tool.description),
    format: objectOf(tool.format),
  })
}

function nameOf(tool: JsonObject, at: string): string {
  const name = textOf(tool.name)
  if (name === undefined) throw badField(`${at}.name`, 'is required')
  return name
}

export function decodeToolChoice(value: unknown): ToolChoice | undefined {
  if (value === 'auto' || value === 'none' || value === 'required') return { kind: value }
  const choice = objectOf(value)
  if (!choice) return undefined
  const name = chosenName(choice)
  if (name !== undefined) return { kind: 'tool', name }
  if (choice.type === 'allowed_tools') {
    const names = objectsOf(choice.tools).map(chosenName)
    const known = names.filter((entry) => entry !== undefined)
    if (known.length === names.length) {
      return { kind: 'allowed', required: choice.mode === 'required', names: known }
    }
  }
  return { kind: 'native', dialect: 'responses', value: choice }
}

function chosenName(choice: JsonObject): string | undefined {
  if (choice.type !== 'function' && choice.type !== 'custom') return undefined
  const name = textOf(choice.name) ?? textOf(objectOf(choice.function)?.name)
  const namespace = textOf(choice.namespace)
  return name === undefined || namespace === undefined
    ? name
    : flatToolName({ kind: 'custom', name, namespace })
}

/** Groups of tools go out flat: every upstream knows plain names, and the reply finds its way back by them. */
export function encodeTools(tools: Tool[], losses: Losses): JsonObject[] {
  return tools.map((tool) => encodeTool(tool, losses)).filter((tool) => tool !== undefined)
}

function encodeTool(tool: Tool, losses: Losses): JsonObject | undefined {
  if (tool.kind === 'native') return encodeNative(tool, losses)
  if (tool.kind === 'custom') {
    const { description, format } = tool
    return defined({ type: 'custom', name: flatToolName(tool), description, format })
  }
  if (tool.cache) losses.add('cache_control')
  return defined({
    type: 'function',
    name: flatToolName(tool),
    description: tool.description,
    parameters: tool.schema ?? { type: 'object', properties: {} },
    // Left out it would mean true here, and a vendor may then rewrite or refuse the schema.
    strict: tool.strict ?? false,
    defer_loading: tool.deferLoading,
  })
}

function encodeNative(tool: NativeTool, losses: Losses): JsonObject | undefined {
  const known = tool.dialect === 'responses' && !ofGateway(tool.type)
  return known ? tool.value : losses.add(`tool:${tool.type}`)
}

/** Tools that the gateway runs itself: no upstream knows them. */
export function ofGateway(type: string): boolean {
  return type.startsWith('service:')
}

export function encodeToolChoice(choice: ToolChoice, tools: Tool[], losses: Losses): unknown {
  if (choice.kind === 'tool') return reference(choice.name, tools)
  if (choice.kind === 'allowed') {
    return {
      type: 'allowed_tools',
      mode: choice.required ? 'required' : 'auto',
      tools: choice.names.map((name) => reference(name, tools)),
    }
  }
  if (choice.kind !== 'native') return choice.kind
  return choice.dialect === 'responses' ? choice.value : losses.add('tool_choice')
}

function reference(name: string, tools: Tool[]): JsonObject {
  return { type: declaredTool(tools, name)?.kind === 'custom' ? 'custom' : 'function', name }
}

/** The tool a client declared, by its flat name. */
export function declaredTool(
  tools: Tool[] | undefined,
  flatName: string,
): FunctionTool | CustomTool | undefined {
  return tools?.find(
    (tool): tool is FunctionTool | CustomTool => tool.kind !== 'native' && flatToolName(tool) === flatName,
  )
}
