import type { Schemas } from '../../api/client.ts'

export type ApiKey = Schemas['ApiKey']

/** The spending that counts toward the limit in its current window; in total without a limit. */
export function usedOf({ limit, limit_remaining, usage }: ApiKey): number {
  return limit === null || limit_remaining === null ? usage : limit - limit_remaining
}

export type KeyState = 'active' | 'disabled' | 'expired'

export function stateOf({ disabled, expires_at }: ApiKey, now = Date.now()): KeyState {
  if (disabled) return 'disabled'
  return expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : 'active'
}
