import type { RankingReason } from './candidate.ts'
import type { ExclusionReason } from './filter.ts'

type BuiltInReason = Exclude<ExclusionReason, `guardrail:${string}`>

/** Why a candidate stands where it stands, for people. */
export const rankingReasonTexts: Record<RankingReason, string> = {
  own_key: 'A key of your own for this provider is used before shared capacity.',
  fallback_key: 'A key of your own that is kept for when shared capacity fails.',
  order: 'It is listed in `provider.order`.',
  sticky: 'It answered this conversation last and may still have the prompt in its cache.',
  balanced: 'It comes by its price, for when those before it fail.',
  price: 'The cheapest come first.',
  throughput: 'The endpoints with the most tokens a second come first.',
  latency: 'The endpoints that are quickest to begin come first.',
  exacto: 'The endpoints whose tool calls were right most often come first.',
  poor_tool_calls: 'It stands behind the others: its tool calls were wrong more often than theirs.',
  unstable: 'It stands behind the others: requests failed there within the last 30 seconds.',
  too_slow: 'It stands behind the others: it is slower than the request prefers.',
  ejected: 'It has failed again and again, but there is nobody else to ask.',
}

/** Why an endpoint was left out, for people. */
export const exclusionReasonTexts: Record<BuiltInReason, string> = {
  dialect: 'It speaks no format that can be asked for an answer.',
  service_tier: 'It belongs to a service tier that the request did not ask for.',
  data_region: 'The provider does not serve the region this request must stay in.',
  allowed_providers: '`provider.only` or `provider.ignore` leaves it out.',
  distillable: 'The answers of this model may not be used to train others (`enforce_distillable_text`).',
  'data_policy:training': 'The provider may train on prompts, which `data_collection` denies.',
  'data_policy:zdr': 'The provider keeps prompts, which `zdr` or `data_collection` denies.',
  quantization: 'Its quantization is not among `provider.quantizations`.',
  max_price: 'It costs more than `provider.max_price`, or nobody knows what it costs.',
  require_parameters: 'It does not know every parameter that was sent (`require_parameters`).',
  own_key_required: 'The provider may be used with keys of your own only, not with shared capacity.',
  no_credential: 'There is no credential for this provider here.',
  unsupported_feature:
    'It does not know the tools, the response format or the verbosity of the request; others do.',
  context_length: 'Prompt and answer would not fit into it, by an estimate; they fit elsewhere.',
  modality: 'The model does not take what the prompt consists of; another model of the request does.',
  rate_limited: 'The provider asked to be left alone.',
  ejected: 'It has failed again and again, and is left alone for a while.',
  allow_fallbacks: '`allow_fallbacks: false` keeps the request to its first choice, or to `order`.',
  price_unknown: 'Nobody knows what it costs, and the key has a limit to keep to.',
}

const guardrailPrefix = 'guardrail:'

export function describeExclusion(reason: ExclusionReason): string {
  if (isBuiltInReason(reason)) return exclusionReasonTexts[reason]
  return `A guardrail does not allow it (\`${reason.slice(guardrailPrefix.length)}\`).`
}

function isBuiltInReason(reason: ExclusionReason): reason is BuiltInReason {
  return !reason.startsWith(guardrailPrefix)
}
