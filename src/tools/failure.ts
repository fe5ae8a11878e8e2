import { GatewayError } from '../errors/gateway-error.ts'
import type { JsonObject } from '../lib/json-values.ts'
import type { ToolOutcome } from './tool.ts'

/** The outcome of a call that failed: the model gets the reason and can go on. */
export function failedOutcome(
  message: string,
  item: JsonObject = {},
  status: 'failed' | 'incomplete' = 'incomplete',
): ToolOutcome {
  return { content: [{ kind: 'text', text: message }], isError: true, item: { ...item, status } }
}

/** What a model may know of an error. Errors that are not the gateway's own are thrown again. */
export function messageOf(error: unknown): string {
  if (!(error instanceof GatewayError)) throw error
  return error.row.status === 500 ? error.row.message : error.message
}
