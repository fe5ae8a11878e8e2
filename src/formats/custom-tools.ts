import { tryParseJson } from '../platform/json/json.ts'
import { asObject, asString } from '../platform/json/json-values.ts'
import type { ModelCall } from './call/call.ts'
import { findTool } from './call/find-tool.ts'
import type { ToolCallPart } from './call/part.ts'

/** A call of a free-text tool by an upstream that only has JSON arguments: `{"input": text}`. */
export function isWrappedCustomCall(part: ToolCallPart, { tools }: ModelCall): boolean {
  if (part.custom) return false
  return findTool(tools, part.name)?.kind === 'custom'
}

/** The text of such a call; arguments of any other form are returned unchanged. */
export function unwrapCustomInput(argumentsText: string): string {
  return asString(asObject(tryParseJson(argumentsText))?.input) ?? argumentsText
}
