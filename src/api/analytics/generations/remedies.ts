import type { RefusedRow } from '../../../analytics/request-log/walk.ts'
import type { RecordedPlan } from '../../../inference/plan/recorded-plan.ts'
import type { ErrorCode } from '../../../platform/errors/table.ts'
import { asNumber, asObjects, asString, type JsonObject } from '../../../platform/json/json-values.ts'

interface Refusal {
  row: RefusedRow
  details: JsonObject
  plan: RecordedPlan | null
}

type DescribeRemedies = (refusal: Refusal) => string[]

const maxExcluded = 10

/** Describes changes that would have let a rejected request pass; empty if the message already says it. */
export function describeRemedies(row: RefusedRow, plan: RecordedPlan | null): string[] {
  const details: JsonObject = JSON.parse(row.details)
  const describe = remedies[row.error_code as ErrorCode]
  return describe ? describe({ row, details, plan }) : []
}

const remedies: Partial<Record<ErrorCode, DescribeRemedies>> = {
  credits_exhausted: describeLimit('Add credits to the account', 'POST /credits/grants'),
  key_limit_reached: describeLimit('Raise the limit of the key', 'PATCH /keys/{hash}'),
  member_limit_reached: describeLimit('Raise the limit of the member', 'PATCH /organization/members/{id}'),
  workspace_budget_reached: describeLimit(
    'Raise the budget of the workspace',
    'PUT /workspaces/{workspace_ref}/budgets/{interval}',
  ),
  guardrail_budget_reached: describeLimit('Raise the budget of the guardrail', 'PATCH /guardrails/{id}'),
  guardrail_blocked: describeGuardrail,
  no_provider: describeExclusions,
  no_endpoints: () => [
    'Set up a credential of one of its providers in headgate.yaml, or a BYOK key: POST /byok.',
  ],
  model_unknown: () => ['Request a model that GET /models lists.'],
  model_wrong_endpoint: () => ['Send the request to the endpoint for the output of this model.'],
  rate_limited: () => ['Send fewer requests in a minute, or ask the operator to raise the limit.'],
  upstream_rate_limited: () => [
    'Wait until a provider accepts requests again, or add another model or provider.',
  ],
  price_unknown: () => ['Ask the operator to set a price of the model, or `billing.unknown_price`.'],
  permission_missing: ({ details }) => [
    `An admin of the organization can grant the permission ${asString(details.permission) ?? ''}.`,
  ],
  wrong_key_kind: () => ['Send the request with an inference key: POST /keys creates one.'],
  invalid_request: ({ details }) =>
    asObjects(details.issues)
      .slice(0, maxExcluded)
      .map(({ field, message }) => `Change ${asString(field)}: it ${asString(message)}.`),
}

/** Describes by how much a limit was too low. */
function describeLimit(raise: string, call: string): DescribeRemedies {
  return ({ details }) => {
    const needed = asNumber(details.needed)
    const remaining = asNumber(details.remaining)
    if (needed === undefined || remaining === undefined) return [`${raise} (${call}).`]
    const missing = Math.max(0, needed - remaining)
      .toFixed(9)
      .replace(/\.?0+$/, '')
    const interval = asString(details.interval)
    return [
      `${raise} by at least $${missing} (${call}).`,
      'Lower `max_tokens` or shorten the prompt: the worst case of the request must fit.',
      ...(interval && interval !== 'lifetime' ? [`Wait: the ${interval} limit resets at 00:00 UTC.`] : []),
    ]
  }
}

function describeGuardrail(refusal: Refusal): string[] {
  const filters = asObjects(refusal.details.filters).map(({ filter }) => asString(filter) ?? '')
  if (filters.length === 0) return describeExclusions(refusal)
  const names = [...new Set(filters)].join(', ')
  return [
    `Remove what the filter found (${names}).`,
    `Set the action of the filter to \`redact\` or \`flag\` in the guardrail: ${names}.`,
  ]
}

/** Describes why endpoints were excluded: each would otherwise be a candidate. */
function describeExclusions({ plan }: Refusal): string[] {
  const excluded = plan?.endpoints.excluded ?? []
  return excluded
    .slice(0, maxExcluded)
    .map(({ provider, model, detail }) => `${provider} would serve ${model}, but: ${detail}`)
}
