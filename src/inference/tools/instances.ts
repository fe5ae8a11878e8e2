import type { ModelCall } from '../../formats/call/call.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ToolSetup } from './tool.ts'

/** The name of an entry of a tool of which a request may have several. */
export const instanceNamePattern = /^[a-zA-Z0-9 _-]{1,64}$/

export interface InstanceName {
  /** The name of the function that the model is offered. */
  functionName: string
  /** The name in the item for the client; absent if the tool has one entry. */
  instanceName: string | undefined
}

/** Names the entries of a tool: at most one has no name, and no two have the same. */
export function nameInstance(tool: string, { call, entry, at }: ToolSetup): InstanceName {
  const names = listEntries(call, tool).map(nameOf)
  const name = nameOf(entry)
  if (names.filter((other) => other === name).length > 1)
    throw invalidFieldError(
      `${at}.parameters.name`,
      name === undefined
        ? `is required: only one ${tool} may have no name`
        : `"${name}" is the name of another ${tool}`,
    )
  const functionName = name === undefined ? tool : `${tool}_${name.replaceAll(' ', '_')}`
  return { functionName, instanceName: names.length > 1 ? functionName : undefined }
}

function listEntries({ tools = [] }: ModelCall, tool: string): JsonObject[] {
  return tools.flatMap((entry) =>
    entry.kind === 'native' && entry.type === `service:${tool}` ? [entry.value] : [],
  )
}

function nameOf(entry: JsonObject): string | undefined {
  return asString(asObject(entry.parameters)?.name)
}

/** A call of an earlier reply that the client has sent back. */
export interface EarlierCall {
  arguments: string
  result: string
}

/** The earlier calls of a function of a tool that have succeeded. */
export function listEarlierCalls({ messages }: Pick<ModelCall, 'messages'>, name: string): EarlierCall[] {
  const parts = messages.flatMap((message) => message.parts)
  const results = new Map(
    parts.flatMap((part) => (part.kind === 'tool-result' && !part.isError ? [[part.id, part] as const] : [])),
  )
  return parts.flatMap((part) => {
    const result = part.kind === 'tool-call' && part.name === name ? results.get(part.id) : undefined
    if (part.kind !== 'tool-call' || !result) return []
    const texts = result.content.flatMap((content) => (content.kind === 'text' ? content.text : []))
    return [{ arguments: part.arguments, result: texts.join('\n') }]
  })
}
