import { tryParseJson } from '../platform/json/json.ts'
import { asObject, asString, type JsonObject } from '../platform/json/json-values.ts'
import type { CustomTool, ModelCall } from './call/call.ts'
import { findTool } from './call/find-tool.ts'
import type { ToolCallPart } from './call/part.ts'

/** The schema of a free-text tool as a function: its input is one string, and a grammar the description of it. */
export function customToolSchema({ format }: CustomTool): JsonObject {
  const grammar = format && format.type !== 'text' ? JSON.stringify(format) : undefined
  const input = { type: 'string', ...(grammar && { description: `Text of this format: ${grammar}` }) }
  return { type: 'object', properties: { input }, required: ['input'] }
}

/** A call of a free-text tool by an upstream that only has JSON arguments: `{"input": text}`. */
export function isWrappedCustomCall(part: ToolCallPart, { tools }: ModelCall): boolean {
  if (part.custom) return false
  return findTool(tools, part.name)?.kind === 'custom'
}

/** The text of such a call; arguments of any other form are returned unchanged. */
export function unwrapCustomInput(argumentsText: string): string {
  return asString(asObject(tryParseJson(argumentsText))?.input) ?? argumentsText
}
