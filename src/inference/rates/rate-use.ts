import type { LimitMeasure } from '../../governance/limits/limit-rule.ts'

/** What the rates of providers count. */
export type RateMeasure = Exclude<LimitMeasure, 'usd' | 'concurrent_requests'>
/** What a request uses of each measure. */
export type RateUse = Readonly<Record<RateMeasure, number>>

export const rateMeasures = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const

/** What an attempt uses that the provider has rejected or failed. */
export const failedUse: RateUse = { requests: 1, tokens: 0, input_tokens: 0, output_tokens: 0 }
/** Of one that was not sent. */
export const noUse: RateUse = { requests: 0, tokens: 0, input_tokens: 0, output_tokens: 0 }
