import type { DataRegion } from '../../formats/vocabulary.ts'
import type { IoLoggingSettings } from '../../identity/workspaces.ts'
import type { RequestState } from './inference-request.ts'

/** Whether zero data retention forbids what the gateway stores: cached replies, and texts that may quote a prompt. */
export function forbidsRetention({
  keyContext,
  options,
}: Pick<RequestState, 'keyContext' | 'options'>): boolean {
  if (options.preferences.zdr === true) return true
  const { enforce_zdr } = keyContext.policy
  for (const group in enforce_zdr) if (enforce_zdr[group as keyof typeof enforce_zdr].value) return true
  return false
}

/**
 * Whether the prompt and the reply are logged: if the workspace enables it, and never on a regional host. Sampling
 * depends on the id, so that the decision for a request is always the same.
 */
export function shouldLogContent(
  logging: IoLoggingSettings | null,
  { id, keyId, region }: { id: string; keyId: number; region: DataRegion },
): boolean {
  if (!logging || region !== 'global') return false
  if (logging.keyIds && !logging.keyIds.has(keyId)) return false
  return Number.parseInt(id.slice(-8), 16) < logging.samplingRate * 2 ** 32
}
