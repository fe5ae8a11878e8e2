import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import {
  type CustomTool,
  type FunctionTool,
  flattenToolName,
  type ModelCall,
  type ToolChoice,
} from '../call/call.ts'
import { customToolSchema } from '../custom-tools.ts'
import type { Losses } from '../fields.ts'
import { encodeCachePoint } from './cache-point.ts'

/** `isThinking`: the vendor lets a model that thinks choose its tools itself. */
export function encodeToolConfig(
  { tools = [], toolChoice, messages }: ModelCall,
  isThinking: boolean,
  losses: Losses,
): JsonObject | undefined {
  const isForced = toolChoice?.kind === 'required' || toolChoice?.kind === 'tool'
  const isForbidden = toolChoice?.kind === 'none'
  const allowed = toolChoice?.kind === 'allowed' ? new Set(toolChoice.names) : null
  const encoded: JsonObject[] = []
  for (const tool of tools) {
    if (tool.kind === 'native') losses.add(`tool:${tool.type}`)
    else if (!allowed || allowed.has(flattenToolName(tool))) encoded.push(...encodeTool(tool, losses))
  }
  const mentionsTools = messages.some(({ parts }) =>
    parts.some(({ kind }) => kind === 'tool-call' || kind === 'tool-result'),
  )
  // The vendor has no choice that forbids tools, and requires them where the conversation has called some.
  if (isForbidden && !mentionsTools) return undefined
  if (isForbidden && encoded.length > 0) losses.add('tool_choice')
  if (encoded.length === 0) {
    if (isForced) losses.add('tool_choice')
    return undefined
  }
  if (isForced && isThinking) losses.add('tool_choice')
  const choice = isThinking ? undefined : encodeChoice(toolChoice, losses)
  return { tools: encoded, ...(choice && { toolChoice: choice }) }
}

function encodeTool(tool: FunctionTool | CustomTool, losses: Losses): JsonObject[] {
  const spec = tool.kind === 'custom' ? customSpec(tool) : functionSpec(tool)
  if (tool.kind === 'function' && tool.deferLoading !== undefined) losses.add('tools.defer_loading')
  const cache = tool.kind === 'function' ? tool.cache : undefined
  return [{ toolSpec: spec }, ...(cache ? [{ cachePoint: encodeCachePoint(cache) }] : [])]
}

function functionSpec(tool: FunctionTool): JsonObject {
  return omitUndefined({
    name: flattenToolName(tool),
    // The vendor rejects an empty description.
    description: tool.description || undefined,
    inputSchema: { json: tool.schema ?? { type: 'object', properties: {} } },
    strict: tool.strict,
  })
}

function customSpec(tool: CustomTool): JsonObject {
  return omitUndefined({
    name: flattenToolName(tool),
    description: tool.description || undefined,
    inputSchema: { json: customToolSchema(tool) },
  })
}

function encodeChoice(choice: ToolChoice | undefined, losses: Losses): JsonObject | undefined {
  switch (choice?.kind) {
    case undefined:
    case 'none':
      return undefined
    case 'auto':
      return { auto: {} }
    case 'required':
      return { any: {} }
    case 'tool':
      return { tool: { name: choice.name } }
    case 'allowed':
      return choice.required ? { any: {} } : { auto: {} }
    case 'native':
      return losses.add('tool_choice')
  }
}
