import { z } from 'zod'

const seconds = z.number().positive().max(86_400)

/** Time limits in seconds. A number is `total`. */
export const timeout = z
  .union(
    [
      seconds,
      z.strictObject({
        first_byte: seconds.optional(),
        first_content: seconds.optional(),
        idle: seconds.optional(),
        total: seconds.optional(),
      }),
    ],
    'must be seconds, or an object of first_byte, first_content, idle and total in seconds',
  )
  .meta({ id: 'AttemptTimeout' })

/** The statuses of errors that another attempt may not have. */
const retryStatus = z
  .int()
  .refine((status) => temporaryStatuses.has(status) || (status >= 500 && status <= 599), {
    error: 'must be 408, 409, 425, 429 or from 500 to 599',
  })

const temporaryStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429])
const backoffSeconds = z.number().min(0).max(60)

export const retry = z
  .strictObject({
    max_retries: z.int().min(0).max(5).describe('Retries at the same endpoint before the next one is tried'),
    statuses: z
      .array(retryStatus)
      .min(1)
      .max(100)
      .optional()
      .describe('Statuses of the provider that are retried; 502, 503 and 529 if absent'),
    backoff: backoffSeconds
      .optional()
      .describe('Seconds before the first retry, doubled before each further one; 0.5 if absent'),
    max_backoff: backoffSeconds.optional().describe('The most seconds before a retry; 8 if absent'),
    connection_errors: z
      .boolean()
      .optional()
      .describe(
        'Whether attempts without a status are retried: broken connections, timeouts and replies that cannot be read. The provider may have billed them',
      ),
  })
  .meta({ id: 'RetryPolicy' })

/** When a request is sent to the next endpoint too. */
export const hedge = z
  .union(
    [
      z.literal(false),
      z
        .strictObject({
          after: seconds.optional().describe('Seconds without content'),
          percentile: z
            .enum(['p50', 'p75', 'p90', 'p99'])
            .optional()
            .describe(
              'Instead, for streams: the time to first content of the last five minutes, if it is known',
            ),
        })
        .refine(({ after, percentile }) => after !== undefined || percentile !== undefined),
    ],
    'must be false, or an object with `after`, `percentile` or both',
  )
  .meta({ id: 'HedgePolicy' })

/** What an attempt may take and how often it is repeated, as providers, models, endpoints and requests declare it. */
export const attemptPolicyFields = {
  timeout: timeout.optional(),
  retry: retry.optional(),
  hedge: hedge.optional(),
}

export type DeclaredAttemptPolicy = z.output<z.ZodObject<typeof attemptPolicyFields>>
