import { z } from 'zod'
import { maxUsd, roundToNanos } from './money.ts'

// Separate from the arithmetic: the threads that only count need not load zod.

const amountProblem = `must be an amount in USD, up to ${maxUsd}`

/** An amount a client sends, rounded to nano-dollars. */
function usdSchema(min: number) {
  return z
    .number()
    .min(min)
    .max(maxUsd, amountProblem)
    .transform((amount, context) => {
      const nanos = roundToNanos(amount)
      if (nanos !== undefined) return nanos
      context.addIssue({ code: 'custom', message: amountProblem })
      return z.NEVER
    })
}

export const usdAmount = usdSchema(0)
export const signedUsdAmount = usdSchema(-maxUsd)
