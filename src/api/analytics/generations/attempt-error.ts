import type { FailureKind } from '../../../formats/call/failure.ts'
import { asString, type JsonObject } from '../../../platform/json/json-values.ts'

/** Kinds of failure whose message is about the account at the provider, not about the request. */
const accountFailures: ReadonlySet<string | undefined> = new Set<FailureKind>([
  'authentication',
  'permission_denied',
  'payment_required',
  'not_found',
])

/** What the provider said of an attempt, for those who may see it. */
export function describeError({ code, provider_code, message }: JsonObject, isAccountVisible: boolean) {
  const isHidden = !isAccountVisible && accountFailures.has(asString(code))
  return {
    provider_code: isHidden ? null : (asString(provider_code) ?? null),
    message: isHidden ? null : (asString(message) ?? null),
  }
}
