import { type Call, flatToolName } from '../call/call.ts'
import type { ToolCallPart } from '../call/part.ts'
import { objectOf, textOf } from '../lib/loose.ts'

/** A call of a tool that takes free text, made by an upstream that knows only JSON: `{"input": text}`. */
export function isDisguised(part: ToolCallPart, { tools }: Call): boolean {
  if (part.custom) return false
  return tools?.some((tool) => tool.kind === 'custom' && flatToolName(tool) === part.name) ?? false
}

/** The text of such a call; what has another form is taken as it is. */
export function undisguised(given: string): string {
  try {
    return textOf(objectOf(JSON.parse(given))?.input) ?? given
  } catch {
    return given
  }
}
