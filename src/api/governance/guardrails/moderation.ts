import { z } from 'zod'
import { findModelForTask } from '../../../catalog/lookup.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { ModerationRule } from '../../../governance/policy/guardrail.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'

const action = z
  .enum(['flag', 'block'])
  .describe('`block` refuses what the model flags with 403; `flag` only records it.')

/** Maximum categories, far more than any model has. */
const maxCategories = 100

export const moderationBody = z.strictObject({
  action,
  model: z
    .string()
    .min(1)
    .max(256)
    .nullish()
    .describe('A model for moderations. Defaults to `moderation.model` of the gateway.'),
  categories: z
    .array(z.string().min(1).max(100))
    .min(1)
    .max(maxCategories)
    .nullish()
    .describe('The categories that count, as the model names them; null for all.'),
})

const ruleFields = {
  action,
  model: z.string().nullable().describe('null for `moderation.model` of the gateway.'),
  categories: z.array(z.string()).nullable().describe('The categories that count; null for all.'),
}

export const moderationRecord = z.strictObject(ruleFields).meta({ id: 'GuardrailModeration' })

export const effectiveModeration = <L extends z.ZodType>(layer: L) => z.strictObject({ layer, ...ruleFields })

/** The stored form of a rule whose model can be called. */
export function encodeModeration(
  { catalog, settings }: Pick<Gateway, 'catalog' | 'settings'>,
  body: z.output<typeof moderationBody> | null,
): string | null {
  if (body === null) return null
  const { action: taken, model: name = null, categories = null } = body
  if (name === null && settings.moderation.model === null)
    throw invalidFieldError(
      'moderation.model',
      'is required, because the gateway has no moderation model (`moderation.model` in headgate.yaml)',
    )
  const model = name === null ? null : findModelForTask(catalog, name, 'moderations')
  if (model === undefined)
    throw invalidFieldError(
      'moderation.model',
      `"${name}" is not a model with an endpoint of the wire format moderations`,
    )
  const rule: ModerationRule = {
    action: taken,
    model: model?.id ?? null,
    categories: categories && [...new Set(categories)],
  }
  return JSON.stringify(rule)
}
