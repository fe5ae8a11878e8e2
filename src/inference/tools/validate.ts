import { isServerToolType } from '../../formats/call/call.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asString } from '../../platform/json/json-values.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { findServerTool, serverToolTypes } from './all.ts'
import type { ServerTool } from './tool.ts'

/** The tool of an entry; 400 if there is none. `at` is the entry, such as `tools[2]`. */
export function requireServerTool(type: string, at: string): ServerTool {
  const tool = findServerTool(type)
  if (tool) return tool
  const types = serverToolTypes.join(', ')
  throw invalidFieldError(`${at}.type`, `"${type.slice(0, 100)}" is not a server tool; there are ${types}`)
}

/** `at` is where they are in the body, for errors. */
export function validateParameters(tool: ServerTool, parameters: unknown, at: string): unknown {
  return validateInput(tool.parameters, parameters, at, 0, `${at}.`)
}

/** Validates `tools` that are stored for later requests. */
export function validateServerTools(tools: unknown): void {
  for (const [index, entry] of Array.isArray(tools) ? tools.entries() : []) {
    const { type, parameters } = asObject(entry) ?? {}
    const name = asString(type)
    if (name === undefined || !isServerToolType(name)) continue
    const tool = requireServerTool(name, `tools.${index}`)
    validateParameters(tool, parameters ?? {}, `tools.${index}.parameters`)
  }
}
