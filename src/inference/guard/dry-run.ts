import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import type { EffectiveRules } from '../../governance/policy/effective.ts'
import { findEndpointBlock, isZdrEnforced } from '../../governance/policy/guard.ts'
import type { Candidate } from '../routing/candidate.ts'

/** The rules in dry run that would have excluded the endpoint that was used. */
export function listEndpointHits(
  rules: EffectiveRules,
  { model, endpoint, byokKey }: Candidate,
): GuardrailHit[] {
  const field = findEndpointBlock(rules, model, endpoint)
  const retains = byokKey?.declaredZdr == null ? endpoint.data_policy.retains : !byokKey.declaredZdr
  return [
    ...(field === undefined ? [] : [describeRule(field)]),
    ...(retains && isZdrEnforced(rules, model, endpoint) ? [describeRule('enforce_zdr')] : []),
  ]
}

/** A rule about something other than texts, which is only recorded. */
export function describeRule(rule: string, layers: readonly string[] = []): GuardrailHit {
  return {
    rule,
    action: 'block',
    isEnforced: false,
    layers,
    direction: 'input',
    part: rule,
    role: null,
    count: 1,
    kinds: [],
  }
}
