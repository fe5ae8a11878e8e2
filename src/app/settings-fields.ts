import { z } from 'zod'

/** Seconds in headgate.yaml, milliseconds in the code. */
export function secondsField(fallback: number, max = 86_400) {
  return z
    .number()
    .positive()
    .max(max)
    .default(fallback)
    .transform((value) => value * 1000)
}
