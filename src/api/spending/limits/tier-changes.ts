import type { z } from 'zod'
import { describeTier } from '../../../governance/limits/audit-target.ts'
import type { TierRow } from '../../../governance/limits/store.ts'
import { clearDefaultTier, deleteTier, findTier, insertTier } from '../../../governance/limits/tier-store.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import type { Db } from '../../../platform/db/db.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { assertNotFromSettings, type Changing } from './changes.ts'
import type { createTierBody } from './tier-record.ts'

export async function createTierRow(
  { gateway, tx, record }: Changing,
  organizationId: string,
  body: z.output<typeof createTierBody>,
): Promise<TierRow> {
  await lockOrganization(tx, organizationId)
  if (await findTier(tx, organizationId, body.name))
    throw gatewayError('conflict', `name: a tier "${body.name}" exists already.`)
  if (body.is_default) await clearDefaultTier(tx, organizationId)
  const created = await insertTier(tx, gateway.clock, {
    organization_id: organizationId,
    name: body.name,
    description: body.description ?? null,
    is_default: toFlag(body.is_default),
    from_settings: toFlag(false),
  })
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'limit_tiers', organizationId)
  record({ action: 'tier.create', ...describeTier(created), after: { ...created } })
  return created
}

/** Deletes a tier with its limits. */
export async function deleteTierRow(
  { tx, record }: Pick<Changing, 'tx' | 'record'>,
  organizationId: string,
  name: string,
): Promise<void> {
  await lockOrganization(tx, organizationId)
  const row = await requireTierRow(tx, organizationId, name)
  assertNotFromSettings(row, 'tier')
  await deleteTier(tx, row)
  record({ action: 'tier.delete', ...describeTier(row), before: { ...row } })
}

export async function requireTierRow(tx: Db, organizationId: string, name: string): Promise<TierRow> {
  const row = await findTier(tx, organizationId, name)
  if (!row) throw gatewayError('not_found', 'The tier does not exist.')
  return row
}
