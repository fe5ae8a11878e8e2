import { z } from 'zod'

/** Why another model is to serve a request. */
export const fallbackReasons = ['context_length', 'content_policy', 'rate_limit', 'error', 'budget'] as const
export type FallbackReason = (typeof fallbackReasons)[number]

const maxFallbackModels = 3
const models = z.array(z.string().min(1).max(256)).min(1).max(maxFallbackModels).optional()

/** Models to try for each reason, in order. */
export const reasonFallbacks = z
  .strictObject({
    context_length: models.describe('The prompt is longer than the context of the model'),
    content_policy: models.describe('The provider rejects the content, or the model refuses to reply'),
    rate_limit: models.describe('Every provider of the model is rate limited'),
    error: models.describe('Every provider of the model fails otherwise'),
    budget: models.describe('A spending limit does not allow what the request may cost'),
  })
  .meta({ id: 'ReasonFallbacks' })

export type ReasonFallbacks = z.output<typeof reasonFallbacks>

/** A list for any reason, or a list for each. */
export const fallbacks = z.union([
  z.array(z.strictObject({ model: z.string().min(1) })).max(maxFallbackModels),
  reasonFallbacks,
])
