import { z } from 'zod'
import { decimalPrice } from '../../catalog/price.ts'

export const passthroughMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type PassthroughMethod = (typeof passthroughMethods)[number]

/** One `*` in a segment stands for any characters of it, and `**` at the end for the rest of the path. */
const pathPattern = z
  .string()
  .max(300)
  .regex(
    /^(?:\/(?!\*\*|\.\.?(?:\/|$))[^/*%?#\s\\]*\*?[^/*%?#\s\\]*(?<!\/))*(?:\/\*\*)?$/,
    'must be a path such as /files, /files/*, or /fine_tuning/**',
  )
  .min(1)

/** Operations of a provider that clients may use as they are. */
const passthroughRule = z.strictObject({
  provider: z.string().min(1),
  methods: z
    .array(z.enum(passthroughMethods))
    .min(1)
    .default([...passthroughMethods]),
  /** Below the base URL of the provider. */
  paths: z.array(pathPattern).min(1).max(200),
  /** Ids of the workspaces whose keys may use it: all that use the installation's credential share one account. */
  workspaces: z.union([z.literal('all'), z.array(z.string().min(1)).min(1).max(1000)]),
  /** USD for a request; absent: the price of the model that the request names. */
  price: decimalPrice.optional(),
  /** `allow`: also keys whose requests content filters read, which do not read these. */
  unscanned: z.enum(['refuse', 'allow']).default('refuse'),
})

export type PassthroughRule = z.output<typeof passthroughRule>

export const passthroughSettings = z.array(passthroughRule).max(200).default([])
