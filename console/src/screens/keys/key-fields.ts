import type { Schemas } from '../../api/client.ts'

export type ApiKey = Schemas['ApiKey']
export type LimitReset = NonNullable<ApiKey['limit_reset']>

export const resetOptions = [
  { value: 'never', label: 'never: it is a total' },
  { value: 'daily', label: 'every day' },
  { value: 'weekly', label: 'every week, on Monday' },
  { value: 'monthly', label: 'every month' },
]

export const resetTexts: Record<LimitReset, string> = {
  daily: 'a day',
  weekly: 'a week',
  monthly: 'a month',
}

export function parseReset(value: string | null): LimitReset | null {
  return value === 'daily' || value === 'weekly' || value === 'monthly' ? value : null
}

/** What counts against the limit in its current window; in total without a limit. */
export function usedOf({ limit, limit_remaining, usage }: ApiKey): number {
  return limit === null || limit_remaining === null ? usage : limit - limit_remaining
}

export type KeyState = 'active' | 'disabled' | 'expired'

export function stateOf({ disabled, expires_at }: ApiKey, now = Date.now()): KeyState {
  if (disabled) return 'disabled'
  return expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : 'active'
}

/** The end of a day in UTC; null for no date. */
export function endOfDay(date: string): string | null {
  return date === '' ? null : `${date}T23:59:59Z`
}

/** The body that creates a key with the settings of another one. An expiry in the past is left out. */
export function successorOf(key: ApiKey, memberId: string, now = Date.now()) {
  const isExpired = stateOf({ ...key, disabled: false }, now) === 'expired'
  return {
    name: key.name,
    limit: key.limit,
    limit_reset: key.limit_reset,
    include_byok_in_limit: key.include_byok_in_limit,
    expires_at: isExpired ? null : key.expires_at,
    workspace_id: key.workspace_id,
    ...(key.creator_user_id !== memberId && { creator_user_id: key.creator_user_id }),
    ...(key.external_user !== null && { external: { user: key.external_user } }),
  }
}
