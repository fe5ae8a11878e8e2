import { flatToolName, type Tool } from '../call/call.ts'
import type { ReplyEvent } from '../call/event.ts'
import type { Seen, SeenCall } from '../dialects/dialect.ts'
import { textOf } from '../lib/loose.ts'

/** Longer arguments, of all calls together, are not judged: they are parsed in one go. */
const longestArguments = 1024 * 1024

/** Notes what a reply calls, from its events. */
export function noteCall(seen: Seen, event: ReplyEvent): void {
  if (event.type === 'part-start' && event.content.kind === 'tool-call') {
    const { name, arguments: given, custom = false } = event.content
    addCall(seen, { choice: event.choice, part: event.part, name, arguments: given, custom })
  } else if (event.type === 'part-delta' && event.delta.arguments) {
    const call = callOf(seen, event.choice, event.part)
    if (call && call.arguments.length <= longestArguments) call.arguments += event.delta.arguments
  }
}

/** By choice and part: a search through the calls for every delta would take the square of their number. */
const callsByPart = new WeakMap<Seen, Map<string, SeenCall>>()

function addCall(seen: Seen, call: SeenCall): void {
  seen.calls.push(call)
  const byPart = callsByPart.get(seen) ?? new Map<string, SeenCall>()
  callsByPart.set(seen, byPart.set(`${call.choice} ${call.part}`, call))
}

function callOf(seen: Seen, choice: number, part: number): SeenCall | undefined {
  const last = seen.calls.at(-1)
  if (last?.choice === choice && last.part === part) return last
  return callsByPart.get(seen)?.get(`${choice} ${part}`)
}

/**
 * Whether every call of a reply that ended with calls names a tool it was offered, with arguments that are
 * JSON; null when there is nothing to judge. Arguments are not held against the tool's schema.
 */
export function areCallsValid(tools: readonly Tool[] | undefined, seen: Seen): boolean | null {
  if (!tools?.length || seen.calls.length === 0) return null
  if (!seen.finishes.some((finish) => finish?.reason === 'tool_calls')) return null
  const length = seen.calls.reduce((sum, call) => sum + call.arguments.length, 0)
  if (length > longestArguments) return null
  const names = namesOf(tools)
  return seen.calls.every((call) => (names === null || names.has(call.name)) && isReadable(call))
}

/** Null where a tool of the vendor's own may call itself anything. */
function namesOf(tools: readonly Tool[]): Set<string> | null {
  const names = new Set<string>()
  for (const tool of tools) {
    const name = tool.kind === 'native' ? textOf(tool.value.name) : tool.name
    if (name === undefined) return null
    names.add(name)
    if (tool.kind !== 'native') names.add(flatToolName(tool))
  }
  return names
}

/** A tool without arguments is often called with nothing. */
function isReadable({ arguments: given, custom }: SeenCall): boolean {
  if (custom || given.trim() === '' || given.length > longestArguments) return true
  try {
    JSON.parse(given)
    return true
  } catch {
    return false
  }
}
