import { z } from 'zod'

/** The largest integer of fifteen digits, which a number holds exactly. */
export const maxQueryInteger = 999_999_999_999_999

/** An integer in a query string. Empty and `null` mean absent, because clients send both. */
export function queryInteger(options: { min: number; max?: number; fallback: number }) {
  const { min, max = maxQueryInteger, fallback } = options
  const problem =
    options.max === undefined
      ? `must be an integer of at least ${min}`
      : `must be an integer from ${min} to ${max}`
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
      param: { allowEmptyValue: true },
      override: {
        type: ['integer', 'null'],
        minimum: min,
        maximum: max,
        default: fallback,
      },
    })
}

export function queryBoolean() {
  return (
    z
      .enum(['true', 'false'], 'must be true or false')
      .transform((text) => text === 'true')
      // An object override would keep the enum of strings, which no boolean satisfies.
      .meta({
        override: (context) => {
          context.jsonSchema.type = 'boolean'
          delete context.jsonSchema.enum
        },
      })
  )
}

/** Text that the results of a list or a search must contain. */
export const searchText = z.string().trim().min(1).max(200)

const maxIds = 100

/** Only those with one of these ids. */
export const idList = z
  .string()
  .transform((text) => text.split(','))
  .refine((ids) => ids.length <= maxIds, `must be at most ${maxIds} ids`)
  .meta({
    override: { type: 'string' },
    description: `An extension: those with one of these ids, at most ${maxIds}, separated by commas.`,
  })

export const pageQuery = z.object({
  offset: queryInteger({ min: 0, fallback: 0 }),
  limit: queryInteger({ min: 1, max: 100, fallback: 50 }),
})

export type Pagination = z.output<typeof pageQuery>
