import { z } from 'zod'
import type { TierRow } from '../../../governance/limits/store.ts'
import { textLine } from '../../../platform/validation/name-schema.ts'

const tierName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be lower-case letters, digits, - and _, at most 64')

export const tierFields = {
  name: tierName,
  description: textLine(500).nullable(),
  is_default: z.boolean().describe('Whether new keys that name no tier have this one.'),
}

export const createTierBody = z.strictObject({
  name: tierFields.name,
  description: tierFields.description.optional(),
  is_default: tierFields.is_default.default(false),
})

export const tierRecord = z
  .strictObject({ ...tierFields, created_at: z.string(), updated_at: z.string() })
  .meta({ id: 'LimitTier' })

export function toTierRecord({
  name,
  description,
  is_default,
  created_at,
  updated_at,
}: TierRow): z.input<typeof tierRecord> {
  return { name, description, is_default: is_default === 1, created_at, updated_at }
}
