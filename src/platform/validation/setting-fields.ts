import { z } from 'zod'

/** The presentation of a setting to operators, where its value alone does not determine it. */
export const settingKinds = z.registry<{ kind: 'secret' | 'seconds' }>()

/** Seconds in headgate.yaml, milliseconds in the code. */
export function secondsField(fallback: number, max = 86_400) {
  return z
    .number()
    .positive()
    .max(max)
    .default(fallback)
    .transform((value) => value * 1000)
    .register(settingKinds, { kind: 'seconds' })
}

/** Seconds as in `secondsField`, 0 included; null if it is not set. */
export function optionalSecondsField(max: number) {
  return z
    .number()
    .min(0)
    .max(max)
    .nullable()
    .default(null)
    .transform((value) => (value === null ? null : value * 1000))
    .register(settingKinds, { kind: 'seconds' })
}

/** A setting that is never shown. */
export function secretField<S extends z.ZodType>(schema: S): S {
  settingKinds.add(schema, { kind: 'secret' })
  return schema
}
