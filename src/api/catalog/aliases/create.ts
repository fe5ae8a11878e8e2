import type { ModelAliasRow } from '../../../catalog/aliases.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { describeAlias } from './record.ts'
import { insertAlias } from './store.ts'
import { resolveRules } from './targets.ts'

/** An audited transaction, and the catalog that has the models of the alias. */
interface AliasCreation {
  gateway: Pick<Gateway, 'clock' | 'settings'>
  catalog: Catalog
  tx: Db
  record: RecordEvent
}

export async function createAliasRow(
  { gateway, catalog, tx, record }: AliasCreation,
  settings: Omit<ModelAliasRow, 'id' | 'rules' | 'created_at' | 'updated_at'>,
): Promise<ModelAliasRow> {
  const { organization_id: organizationId } = settings
  await lockOrganization(tx, organizationId)
  validateExpiration(settings)
  const rules = await resolveRules(tx, catalog, settings)
  const now = isoNow(gateway.clock)
  const created = { ...settings, id: newUuid(), rules, created_at: now, updated_at: now }
  await insertAlias(tx, created)
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'model_aliases', organizationId)
  record({ action: 'model_alias.create', ...describeAlias(created), after: created })
  return created
}

export function validateExpiration({
  expires_at,
  replacement,
}: Pick<ModelAliasRow, 'expires_at' | 'replacement'>): void {
  if (replacement !== null && expires_at === null)
    throw invalidFieldError('expires_at', 'is required with replacement')
}
