import type { RankingReason } from './candidate.ts'
import type { ExclusionReason } from './filter.ts'

type BuiltInReason = Exclude<ExclusionReason, `guardrail:${string}`>

/** Sentences that say why a candidate has its rank. */
export const rankingReasonTexts: Record<RankingReason, string> = {
  own_key: 'Your BYOK key for this provider is used before shared capacity.',
  fallback_key: 'Your BYOK key is a fallback for when shared capacity fails.',
  order: 'It is listed in `provider.order`.',
  sticky: 'It served the last turn of this conversation and may still have the prompt in its cache.',
  balanced: 'It is ranked by price, as a fallback for the endpoints before it.',
  price: 'Endpoints are sorted by price, the cheapest first.',
  throughput: 'Endpoints are sorted by throughput, the highest first.',
  latency: 'Endpoints are sorted by latency, the lowest first.',
  exacto: 'Endpoints are sorted by the success rate of their tool calls and by benchmarks, the best first.',
  poor_tool_calls:
    'It ranks below the others: its tool calls were invalid more often than theirs or than before, or it has become worse in benchmarks.',
  unstable: 'It ranks below the others: requests to it failed within the last 30 seconds.',
  too_slow: 'It ranks below the others: it is slower than the request prefers.',
  ejected: 'It failed repeatedly, but no other endpoint is available.',
}

/** Sentences that say why an endpoint was excluded. */
export const exclusionReasonTexts: Record<BuiltInReason, string> = {
  dialect: 'It supports no format for what the request asks for.',
  service_tier: 'It belongs to a service tier that the request did not select.',
  data_region: 'The provider does not serve the region this request must stay in.',
  allowed_providers: '`provider.only` or `provider.ignore` excludes it.',
  distillable:
    'The output of this model must not be used to train other models (`enforce_distillable_text`).',
  'data_policy:training': 'The provider may train on prompts, which `data_collection` denies.',
  'data_policy:zdr': 'The provider retains prompts, which `zdr` or `data_collection` denies.',
  quantization: 'Its quantization is not among `provider.quantizations`.',
  max_price: 'It costs more than `provider.max_price`, or its price is unknown.',
  require_parameters: 'It does not support every parameter of the request (`require_parameters`).',
  own_key_required: 'The provider may be used with your BYOK keys only, not with shared capacity.',
  no_credential: 'No credential is configured for this provider.',
  unsupported_feature:
    'It does not support the tools, the response format or the verbosity of the request; others do.',
  context_length: 'Prompt and reply are estimated to exceed its context length; another endpoint has room.',
  modality: 'The model does not accept the modalities of the prompt; another model of the request does.',
  rate_limited: 'The provider is rate limited and cooling down.',
  ejected: 'It failed repeatedly and is ejected for a while.',
  allow_fallbacks: '`allow_fallbacks: false` limits the request to its first choice, or to `order`.',
  limit_reached: 'A limit on this model or provider leaves too little for the request.',
  budget: 'A spending limit does not allow what the request may cost at the models that were requested.',
  price_unknown:
    'Its price is unknown, and the key has a spending limit, or the operator refuses unknown prices.',
}

const guardrailPrefix = 'guardrail:'

export function describeExclusion(reason: ExclusionReason): string {
  if (isBuiltInReason(reason)) return exclusionReasonTexts[reason]
  return `A guardrail does not allow it (\`${reason.slice(guardrailPrefix.length)}\`).`
}

function isBuiltInReason(reason: ExclusionReason): reason is BuiltInReason {
  return !reason.startsWith(guardrailPrefix)
}
