import { z } from 'zod'
import { isUtcTimestamp, utcPattern } from '../time/time.ts'

// Separate from the arithmetic: the threads that only count need not load zod.

export const utcTimestamp = z
  .string()
  .refine(isUtcTimestamp, 'must be a UTC time with seconds, such as 2027-01-31T23:59:59Z')
  .meta({ format: 'date-time', pattern: utcPattern.source, example: '2027-01-31T23:59:59Z' })
