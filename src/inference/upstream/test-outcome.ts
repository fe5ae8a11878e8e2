import { z } from 'zod'
import { ProviderAuthError } from '../../catalog/provider-auth/scheme.ts'
import type { FailureKind } from '../../formats/call/failure.ts'
import { EgressError, type EgressErrorKind } from '../../platform/http/egress-client.ts'
import type { UpstreamError } from '../failures/errors.ts'
import { redactAccounts } from '../failures/redact-secrets.ts'

/** Steps of a test, in order. */
const steps = [
  'model',
  'credential',
  'dns',
  'connection',
  'tls',
  'timeout',
  'authentication',
  'permission',
  'payment',
  'rate_limit',
  'request',
  'provider',
  'reply',
] as const

export type TestStep = (typeof steps)[number]

export const testOutcome = z
  .strictObject({
    ok: z.boolean(),
    model: z.string().nullable().describe('The model the request was sent to; null if nothing was sent.'),
    endpoint: z.string().nullable().describe('The tag of its endpoint.'),
    duration_ms: z.int().nullable().describe('Until the whole reply was read, or the failure.'),
    failed_step: z
      .enum(steps)
      .nullable()
      .describe(
        'Null if it worked. `credential`: nothing was sent, or no token was issued for it. `reply`: the answer was not that of a model.',
      ),
    status: z.int().nullable().describe("The status of the provider's response; null if there was none."),
    message: z.string().describe('What the outcome means.'),
    remedy: z.string().nullable().describe('What to do about it.'),
    provider_message: z
      .string()
      .nullable()
      .describe("The provider's own message, without secrets and names of accounts, cut to 300 characters."),
  })
  .meta({ id: 'CredentialTest' })

export type TestOutcome = z.output<typeof testOutcome>

export const testedModel = z
  .string()
  .min(1)
  .max(256)
  .optional()
  .describe('The id of the text model to ask. The cheapest without it.')

interface Meaning {
  message: string
  remedy: string
}

const meanings: Record<TestStep, Meaning> = {
  model: {
    message: 'The provider does not know the model or the address.',
    remedy: 'Test with another model. If all are unknown, check the address of the provider in the catalog.',
  },
  credential: {
    message: 'The credential cannot be used.',
    remedy: 'Enter the credential again, complete and for this provider.',
  },
  dns: {
    message: 'The host name of the provider could not be resolved.',
    remedy: 'Check the address of the provider, and the DNS of this server.',
  },
  connection: {
    message: 'No connection to the provider could be opened.',
    remedy: 'Check the address and port of the provider, and that this server may open connections to it.',
  },
  tls: {
    message: 'The certificate of the provider could not be verified.',
    remedy: 'Check the address, and whether a proxy between this server and the provider intercepts TLS.',
  },
  timeout: {
    message: 'The provider did not answer in time.',
    remedy:
      'Try again. If it keeps happening, check that no firewall drops connections of this server, and the status page of the provider.',
  },
  authentication: {
    message: 'The provider rejected the credential.',
    remedy: 'Check that it is complete, active and for this provider.',
  },
  permission: {
    message: 'The provider knows the credential, but it may not use this model.',
    remedy:
      "Check the credential's permissions at the provider, and whether the model is offered in its region.",
  },
  payment: {
    message: 'The account at the provider has no credit left.',
    remedy: 'Add credit or a payment method at the provider.',
  },
  rate_limit: {
    message: 'The provider accepted the credential, but its rate limit or quota is reached.',
    remedy: 'Wait, or raise the limit at the provider.',
  },
  request: {
    message: 'The provider accepted the credential, but rejected the request.',
    remedy:
      'Test with another model. If all fail, check the format (dialects) of the provider in the catalog.',
  },
  provider: {
    message: 'The provider failed or is overloaded.',
    remedy: 'Try again later; the credential may be right. See the status page of the provider.',
  },
  reply: {
    message: 'Something answered at this address, but not with the reply of a model.',
    remedy: 'Check the address and the format (dialects) of the provider in the catalog.',
  },
}

export function createFailedOutcome(
  step: TestStep,
  more: Partial<Omit<TestOutcome, 'ok' | 'failed_step'>> = {},
): TestOutcome {
  return {
    ok: false,
    model: null,
    endpoint: null,
    duration_ms: null,
    failed_step: step,
    status: null,
    provider_message: null,
    ...meanings[step],
    ...more,
  }
}

const maxMessageLength = 300

/** Builds the outcome of a failed attempt. */
export function toFailedOutcome(error: UpstreamError, step = findFailedStep(error)): TestOutcome {
  const { status, message } = error.failure
  const isProviders = status !== null || step === 'credential'
  return createFailedOutcome(step, {
    status,
    provider_message: isProviders && message ? redactAccounts(message).slice(0, maxMessageLength) : null,
  })
}

const stepByKind: Record<FailureKind, TestStep> = {
  authentication: 'authentication',
  permission_denied: 'permission',
  payment_required: 'payment',
  not_found: 'model',
  rate_limit_exceeded: 'rate_limit',
  provider_overloaded: 'provider',
  provider_unavailable: 'provider',
  server: 'provider',
  timeout: 'timeout',
  context_length_exceeded: 'request',
  max_tokens_exceeded: 'request',
  invalid_request: 'request',
  payload_too_large: 'request',
  unprocessable: 'request',
  content_policy_violation: 'request',
  refusal: 'request',
}

export function findFailedStep({ failure, cause }: UpstreamError): TestStep {
  if (cause instanceof ProviderAuthError) return 'credential'
  const hasNoResponse = failure.kind === 'provider_unavailable' && failure.status === null
  return hasNoResponse ? findConnectionStep(cause) : stepByKind[failure.kind]
}

const stepByEgressError: Record<EgressErrorKind, TestStep> = {
  url: 'credential',
  address: 'credential',
  unresolved: 'dns',
  unreachable: 'connection',
  certificate: 'tls',
  timeout: 'timeout',
  too_large: 'reply',
  request: 'credential',
}

function findConnectionStep(cause: unknown): TestStep {
  if (cause instanceof EgressError) return stepByEgressError[cause.kind]
  if (!(cause instanceof Error) || !('code' in cause)) return 'reply'
  const code = String(cause.code)
  if (/CERT|SELF_SIGNED|UNABLE_TO_|SSL|TLS/.test(code)) return 'tls'
  return /ENOTFOUND|EAI_|DNS_/.test(code) ? 'dns' : 'connection'
}
