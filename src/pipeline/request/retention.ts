import type { ModelRequest } from './inference-request.ts'

/** Zero data retention also applies to what the gateway stores: cached replies, and texts that may quote a prompt. */
export function forbidsRetention({
  keyContext,
  options,
}: Pick<ModelRequest, 'keyContext' | 'options'>): boolean {
  if (options.preferences.zdr === true) return true
  const { enforce_zdr } = keyContext.policy
  for (const group in enforce_zdr) if (enforce_zdr[group as keyof typeof enforce_zdr].value) return true
  return false
}
