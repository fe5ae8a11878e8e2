import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { InputPart, OutputPart, ServerToolPart } from '../call/part.ts'
import { parseToolArguments } from './tool-arguments.ts'

/** Marks a block of a tool that the gateway ran: those of the vendor's own tools are sent back to the vendor. */
const idPrefix = 'srvtoolu_service_'

/** The call. */
export function encodeServerToolUse({ id, tool, arguments: args, use }: ServerToolPart): JsonObject {
  return {
    type: 'server_tool_use',
    id: `${idPrefix}${id}`,
    name: tool,
    input: parseToolArguments(args, false),
    caller: { type: 'direct' },
    ...use,
  }
}

/** The result: the block of the format, or one of the gateway where it has none. With the text that the model saw. */
export function encodeServerToolResult({
  id,
  tool,
  block,
  result = '',
  isError,
}: ServerToolPart): JsonObject {
  return {
    ...(block ?? { type: `service_${tool}_tool_result`, content: [{ type: 'text', text: result }] }),
    tool_use_id: `${idPrefix}${id}`,
    ...(block && { tool_result: result }),
    ...(isError && { is_error: true }),
  }
}

/** Undefined for a block of another kind. */
export function decodeServerToolUse(block: JsonObject): ServerToolPart | undefined {
  const [id, name] = [readId(block.id), asString(block.name)]
  if (!useTypes.has(block.type) || id === undefined || name === undefined) return undefined
  const server = asString(block.server_name)
  const tool = server === undefined ? name : `${server}__${name}`
  return { kind: 'server-tool', id, tool, arguments: JSON.stringify(block.input ?? {}), item: {} }
}

/** Types of calls of the gateway's own tools, and of those of MCP servers. */
const useTypes: ReadonlySet<unknown> = new Set(['server_tool_use', 'mcp_tool_use'])

type Part = InputPart | OutputPart

/** Adds the results to the calls before them, and leaves out their blocks. `parts` are those of `blocks`. */
export function joinServerTools(blocks: readonly unknown[], parts: Part[]): Part[] {
  const calls = new Map<string, ServerToolPart>()
  for (const part of parts) if (part.kind === 'server-tool') calls.set(part.id, part)
  if (calls.size === 0) return parts
  return parts.filter((_part, index) => {
    const block = asObject(blocks[index]) ?? {}
    const call = calls.get(readId(block.tool_use_id) ?? '')
    if (!call) return true
    call.result = asString(block.tool_result) ?? readContent(block.content)
    if (block.is_error === true) call.isError = true
    return false
  })
}

function readId(value: unknown): string | undefined {
  const id = asString(value)
  return id?.startsWith(idPrefix) ? id.slice(idPrefix.length) : undefined
}

function readContent(content: unknown): string {
  const [first, ...more] = Array.isArray(content) ? content : []
  const text = more.length === 0 ? asString(asObject(first)?.text) : undefined
  return text ?? JSON.stringify(content ?? '')
}
