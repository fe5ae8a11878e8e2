import { flattenToolName, type Tool } from '../../formats/call/call.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import type { ReplySummary, ToolCallSummary } from '../../formats/wire-format.ts'
import { asString } from '../../platform/json/json-values.ts'

/** Longer arguments, of all calls together, are not validated, because they are parsed at once. */
const maxArgumentsLength = 1024 * 1024

/** Records the tool calls of a reply from its events. */
export function recordToolCall(summary: ReplySummary, event: ReplyEvent): void {
  if (event.type === 'part-start' && event.content.kind === 'tool-call') {
    const { name, arguments: args, custom = false } = event.content
    addCall(summary, { choice: event.choice, part: event.part, name, arguments: args, custom })
  } else if (event.type === 'part-delta' && event.delta.arguments) {
    const call = findCall(summary, event.choice, event.part)
    if (call && call.arguments.length <= maxArgumentsLength) call.arguments += event.delta.arguments
  }
}

/** Tool calls by choice and part, because a linear search for every delta would be quadratic. */
const callsByPart = new WeakMap<ReplySummary, Map<string, ToolCallSummary>>()

function addCall(summary: ReplySummary, call: ToolCallSummary): void {
  summary.toolCalls.push(call)
  const byPart = callsByPart.get(summary) ?? new Map<string, ToolCallSummary>()
  callsByPart.set(summary, byPart.set(`${call.choice} ${call.part}`, call))
}

function findCall(summary: ReplySummary, choice: number, part: number): ToolCallSummary | undefined {
  const last = summary.toolCalls.at(-1)
  if (last?.choice === choice && last.part === part) return last
  return callsByPart.get(summary)?.get(`${choice} ${part}`)
}

/**
 * Whether every call of a reply that ended with tool calls names a tool of the request and has JSON arguments; null if
 * there is nothing to validate. The tool's schema is not checked.
 */
export function areToolCallsValid(tools: readonly Tool[] | undefined, summary: ReplySummary): boolean | null {
  if (!tools?.length || summary.toolCalls.length === 0) return null
  if (!summary.finishReasons.some((finish) => finish?.reason === 'tool_calls')) return null
  const length = summary.toolCalls.reduce((sum, call) => sum + call.arguments.length, 0)
  if (length > maxArgumentsLength) return null
  const names = collectToolNames(tools)
  return summary.toolCalls.every(
    (call) => (names === null || names.has(call.name)) && hasValidArguments(call),
  )
}

/** Collects the names of tools; null if a vendor's native tool may use any name. */
function collectToolNames(tools: readonly Tool[]): Set<string> | null {
  const names = new Set<string>()
  for (const tool of tools) {
    const name = tool.kind === 'native' ? asString(tool.value.name) : tool.name
    if (name === undefined) return null
    names.add(name)
    if (tool.kind !== 'native') names.add(flattenToolName(tool))
  }
  return names
}

/** Whether the arguments are JSON, or empty, as they often are for tools without parameters. */
function hasValidArguments({ arguments: args, custom }: ToolCallSummary): boolean {
  if (custom || args.trim() === '' || args.length > maxArgumentsLength) return true
  try {
    JSON.parse(args)
    return true
  } catch {
    return false
  }
}
