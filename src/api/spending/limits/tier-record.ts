import { z } from 'zod'
import { tierFields } from '../../../governance/limits/limit-settings.ts'
import type { TierRow } from '../../../governance/limits/store.ts'
import { managedBy } from '../../../http/managed-by.ts'

export const createTierBody = z.strictObject({
  name: tierFields.name,
  description: tierFields.description.optional(),
  is_default: tierFields.is_default.default(false),
})

export const tierRecord = z
  .strictObject({
    ...tierFields,
    source: z
      .enum(['tier', 'settings'])
      .describe('`settings`: it is declared in headgate.yaml, and can only be changed there.'),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'LimitTier' })

export function toTierRecord({
  name,
  description,
  is_default,
  from_settings,
  created_at,
  updated_at,
}: TierRow): z.input<typeof tierRecord> {
  return {
    name,
    description,
    is_default: is_default === 1,
    source: from_settings === 1 ? 'settings' : 'tier',
    created_at,
    updated_at,
  }
}
