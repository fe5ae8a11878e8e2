import { serverToolPrefix } from '../../formats/call/call.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'

/** Tools that make nested requests, which a nested request cannot do. */
const nestingTools: ReadonlySet<string> = new Set(
  ['advisor', 'subagent', 'fusion'].map((name) => `${serverToolPrefix}${name}`),
)

/** The tools of a nested request are those that the gateway runs. */
export function checkNestedTools(tools: readonly { type: string }[], at: string): void {
  for (const [index, { type }] of tools.entries()) {
    const field = `${at}[${index}].type`
    const shown = type.slice(0, 100)
    if (!type.startsWith(serverToolPrefix))
      throw invalidFieldError(field, `"${shown}" must be a server tool, such as service:web_search`)
    if (nestingTools.has(type))
      throw invalidFieldError(field, `"${shown}" cannot be used in a nested request`)
  }
}
