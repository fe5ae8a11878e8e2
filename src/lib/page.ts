import { z } from 'zod'

/** A whole number in a query string. Empty and `null` mean absent, because clients send both. */
export function queryInteger(options: { min: number; max?: number; fallback: number }) {
  const { min, max = Number.MAX_SAFE_INTEGER, fallback } = options
  const problem =
    options.max === undefined
      ? `must be a whole number of at least ${min}`
      : `must be a whole number from ${min} to ${max}`
  return z
    .string()
    .optional()
    .transform((text, context) => {
      if (text === undefined || text === '' || text === 'null') return fallback
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      if (value >= min && value <= max) return value
      context.addIssue({ code: 'custom', message: problem })
      return z.NEVER
    })
    .meta({
      override: {
        type: 'integer',
        minimum: min,
        ...(options.max !== undefined && { maximum: max }),
        default: fallback,
      },
    })
}

export function queryBoolean() {
  return z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .meta({ override: { type: 'boolean' } })
}

export const pageQuery = z.object({
  offset: queryInteger({ min: 0, fallback: 0 }),
  limit: queryInteger({ min: 1, max: 100, fallback: 50 }),
})

export type Page = z.output<typeof pageQuery>
