import { z } from 'zod'
import type { FailureKind } from '../../formats/call/failure.ts'
import type { EndpointHealth } from './health.ts'

export const lastError = z
  .strictObject({
    error_type: z.string(),
    status: z.int().nullable().describe("The status of the provider's response; null if there was none."),
    message: z.string().describe('What it means.'),
    at: z.string(),
  })
  .meta({ id: 'EndpointFailure' })

/** The reason and the end of an exclusion of an endpoint. */
export const failureFields = {
  failing_since: z
    .string()
    .nullable()
    .describe('When it was first left out after its last success; null if it was not.'),
  unavailable_until: z
    .string()
    .nullable()
    .describe('Until when it is left out; null if requests are sent to it.'),
  last_error: lastError
    .nullable()
    .describe("The last failure that was not the request's; null if there was none."),
}

type LastError = z.output<typeof lastError>

export function toFailureFields(health: EndpointHealth | null, now: number) {
  return {
    failing_since: toTime(health?.failure?.since ?? null),
    unavailable_until: toTime(health && findEnd(health, now)),
    last_error: health && toLastError(health),
  }
}

function toTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}

function findEnd(health: EndpointHealth, now: number): number | null {
  const ends = [
    ...(health.isCoolingDown(now) ? [health.cooldownUntil] : []),
    ...(health.isEjected(now) ? [health.ejectedUntil] : []),
  ]
  return ends.length === 0 ? null : Math.max(...ends)
}

/** Explanations of the failures that health counts. */
const meanings: Partial<Record<FailureKind, string>> = {
  authentication: 'The provider rejected the credential. Check the key of the provider.',
  payment_required: 'The account at the provider has no credit left. Add credit there.',
  permission_denied: 'The credential may not use this model. Check its permissions at the provider.',
  not_found: 'The provider does not know the model or the address. Check both in the catalog.',
  rate_limit_exceeded: 'The rate limit at the provider is reached. It is used again afterwards.',
  provider_overloaded: 'The provider is overloaded. It is used again when it recovers.',
  provider_unavailable: 'The provider could not be reached, or failed. It is used again when it recovers.',
  server: 'The provider failed. It is used again when it recovers.',
  timeout: 'The provider did not answer in time. It is used again when it recovers.',
}

function toLastError({ lastFailure }: EndpointHealth): LastError | null {
  if (!lastFailure) return null
  const { kind, status, at } = lastFailure
  return {
    error_type: kind,
    status,
    message: meanings[kind] ?? 'The request failed at the provider.',
    at: new Date(at).toISOString(),
  }
}
