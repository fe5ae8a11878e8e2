import type { ModelRequest } from './inference-request.ts'

/** Zero data retention also applies to what the gateway stores: cached replies, and texts that may quote a prompt. */
export function forbidsRetention({
  keyContext,
  options,
}: Pick<ModelRequest, 'keyContext' | 'options'>): boolean {
  const enforced = Object.values(keyContext.policy.enforce_zdr).some(({ value }) => value)
  return enforced || options.preferences.zdr === true
}
