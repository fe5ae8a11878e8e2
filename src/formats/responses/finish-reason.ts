import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { FinishReason } from '../call/event.ts'

/** The status in the event type, except that a completed event may carry an incomplete or failed response. */
export function resolveStatus(response: JsonObject, event?: string): string {
  const reported = asString(response.status)
  const status = event?.slice('response.'.length) ?? reported ?? 'completed'
  if (status !== 'completed' && status !== 'done') return status
  return reported === 'incomplete' || reported === 'failed' ? reported : 'completed'
}

export function decodeFinishReason(
  response: JsonObject,
  status: string,
): { reason: FinishReason; native: string } {
  if (status !== 'incomplete') return { reason: 'stop', native: status }
  const native = asString(asObject(response.incomplete_details)?.reason) ?? status
  return { reason: native === 'content_filter' ? 'content_filter' : 'length', native }
}
