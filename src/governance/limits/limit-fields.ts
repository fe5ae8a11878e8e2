import { z } from 'zod'
import { maxUsd, roundToNanos, usdFromNanos } from '../../platform/money/money.ts'
import { lineField, nameField, textLine } from '../../platform/validation/name-schema.ts'
import { isTagName, isTagValue, maxNameLength, maxValueLength, splitTag } from '../tags/tag.ts'
import { type LimitMeasure, limitDimensions, limitMeasures, limitWindows } from './limit-rule.ts'

const maxCount = 1e15
const maxValues = 100

const maxTagLength = maxNameLength + maxValueLength + 1
const tag = z
  .string()
  .max(maxTagLength)
  .transform((text, context) => {
    const { name, value } = splitTag(text)
    if (isTagName(name) && isTagValue(value)) return `${name}=${value}`
    context.addIssue({ code: 'custom', message: 'must be a tag such as project=apollo' })
    return z.NEVER
  })
  .meta({ override: { type: 'string', maxLength: maxTagLength } })
const dimension = z
  .union([
    z.enum(limitDimensions),
    z
      .string()
      .regex(/^tag:[a-z0-9_.-]{1,64}$/, `must be one of ${limitDimensions.join(', ')}, or tag:<name>`),
  ])
  .describe('`tag:project` counts each value of the tag `project` by itself.')

/** What a limit counts, besides records of an organization. */
export const matchFields = {
  tier: lineField(64).nullish().describe('Requests with keys of this tier.'),
  end_user: textLine(256).min(1).nullish().describe('Requests for this end user.'),
  tags: z.array(tag).max(maxValues).optional().describe('Requests that have all of these tags.'),
  models: z
    .array(lineField(256))
    .max(maxValues)
    .optional()
    .describe('Requests that one of these models serves. A name may end with `*`: `openai/*`.'),
  providers: z
    .array(lineField(128))
    .max(maxValues)
    .optional()
    .describe('Requests that one of these providers or endpoints serves.'),
}

export const limitFields = {
  name: nameField(100),
  measure: z.enum(limitMeasures).describe('What is limited: `usd` is spending.'),
  window: z
    .enum(limitWindows)
    .nullable()
    .describe(
      'Seconds, minutes and hours slide; days, weeks and months are those of the calendar, in UTC. null for `concurrent_requests`.',
    ),
  amount: z.number().min(0).max(maxCount).describe('US dollars, or a whole number of requests or tokens.'),
  include_byok: z.boolean().describe('Whether dollars include the list price of requests with BYOK keys.'),
  enabled: z.boolean(),
  per: z
    .array(dimension)
    .max(4)
    .describe(
      'What is counted separately: `["end_user"]` gives each end user the whole amount. Requests without a value are counted together.',
    ),
}

/** The first problem of these fields together. */
export function findLimitProblem(
  measure: LimitMeasure,
  { window, amount }: { window?: string | null | undefined; amount: number },
): { field: 'window' | 'amount'; message: string } | null {
  if (measure === 'concurrent_requests' && window)
    return { field: 'window', message: 'must be null for concurrent_requests' }
  if (measure !== 'concurrent_requests' && !window)
    return { field: 'window', message: `is required: one of ${limitWindows.join(', ')}` }
  if (encodeAmount(measure, amount) !== undefined) return null
  return { field: 'amount', message: measure === 'usd' ? 'is too large' : 'must be a whole number' }
}

/** The amount as it is stored; undefined if the measure does not have such amounts. */
export function encodeAmount(measure: LimitMeasure, amount: number): bigint | undefined {
  if (measure === 'usd') return amount > maxUsd ? undefined : roundToNanos(amount)
  return Number.isSafeInteger(amount) ? BigInt(amount) : undefined
}

export function decodeAmount(measure: LimitMeasure, amount: bigint): number {
  return measure === 'usd' ? usdFromNanos(amount) : Number(amount)
}
