import { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ToolOutcome } from './tool.ts'

/** The outcome of a failed call: the model gets the reason and can continue. */
export function failedOutcome(
  message: string,
  item: JsonObject = {},
  status: 'failed' | 'incomplete' = 'incomplete',
): ToolOutcome {
  return { content: [{ kind: 'text', text: message }], isError: true, item: { ...item, status } }
}

/** The message of an error for the model. Errors other than the gateway's are rethrown. */
export function messageOf(error: unknown): string {
  if (!(error instanceof GatewayError)) throw error
  return error.row.status === 500 ? error.row.message : error.message
}
