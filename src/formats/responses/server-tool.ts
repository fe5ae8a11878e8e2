import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import { isServerToolType, serverToolPrefix } from '../call/call.ts'
import type { ServerToolPart } from '../call/part.ts'

/**
 * The item of a tool that the gateway ran, with the call and its result as the model saw them: a client that sends the
 * item back gives the model what it knew.
 */
export function encodeServerToolItem({
  item,
  id,
  arguments: args,
  result,
  isError,
}: ServerToolPart): JsonObject {
  return {
    ...item,
    call_id: id,
    arguments: args,
    ...(result !== undefined && { tool_result: result }),
    ...(isError && { is_error: true }),
  }
}

/** Undefined for an item that a vendor made. */
export function decodeServerToolItem(item: JsonObject): ServerToolPart | undefined {
  const type = asString(item.type) ?? ''
  const given = asString(item.tool_result)
  const id = asString(item.call_id) ?? asString(item.id)
  if ((given === undefined && !isServerToolType(type)) || id === undefined) return undefined
  return {
    kind: 'server-tool',
    id,
    tool: readToolName(type, item),
    arguments: asString(item.arguments) || '{}',
    item,
    result: given ?? describe(item),
    ...(item.is_error === true && { isError: true }),
  }
}

function readToolName(type: string, { server_label, name }: JsonObject): string {
  if (isServerToolType(type)) return type.slice(serverToolPrefix.length)
  return type === 'mcp_call' ? `${server_label}__${name}` : type.replace(/_call$/, '')
}

/** Describes an item that has no result by its other fields. */
function describe({
  type: _type,
  id: _id,
  call_id: _callId,
  status: _status,
  ...fields
}: JsonObject): string {
  return JSON.stringify(fields)
}
