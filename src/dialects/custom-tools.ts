import { flattenToolName, type ModelCall } from '../call/call.ts'
import type { ToolCallPart } from '../call/part.ts'
import { asObject, asString } from '../lib/json-values.ts'

/** A call of a tool that takes free text, made by an upstream that knows only JSON: `{"input": text}`. */
export function isWrappedCustomCall(part: ToolCallPart, { tools }: ModelCall): boolean {
  if (part.custom) return false
  return tools?.some((tool) => tool.kind === 'custom' && flattenToolName(tool) === part.name) ?? false
}

/** The text of such a call; what has another form is taken as it is. */
export function unwrapCustomInput(argumentsText: string): string {
  try {
    return asString(asObject(JSON.parse(argumentsText))?.input) ?? argumentsText
  } catch {
    return argumentsText
  }
}
