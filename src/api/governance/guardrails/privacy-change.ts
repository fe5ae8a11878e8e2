import type { GuardrailRow } from '../../../governance/policy/guardrail.ts'
import { assertPrivacyUnlocked } from '../../../governance/privacy-lock.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { GuardrailSettings } from './body.ts'

/** The columns of the organization's guardrail that the lock protects: a dry run would switch all of them off. */
const lockedColumns = [
  'enable_free_model_publication',
  'enable_free_model_training',
  'enable_paid_model_training',
  'enforce_zdr',
  'enforce_zdr_vendor_a',
  'enforce_zdr_vendor_b',
  'enforce_zdr_vendor_c',
  'enforce_zdr_vendor_d',
  'enforce_zdr_other',
  'allowed_providers',
  'ignored_providers',
  'external_checks',
  'dry_run',
] as const satisfies (keyof GuardrailSettings)[]

/** Throws if a change of the organization's guardrail touches locked privacy settings. */
export async function assertPrivacyChangeAllowed(
  tx: Db,
  row: GuardrailRow,
  changes: Partial<GuardrailSettings>,
): Promise<void> {
  if (row.workspace_id !== null) return
  const field = lockedColumns.find((name) => changes[name] !== undefined && changes[name] !== row[name])
  await assertPrivacyUnlocked(tx, row.organization_id, field ? { field, problem: 'cannot be changed' } : null)
}

export async function assertPrivacyResetAllowed(tx: Db, row: GuardrailRow): Promise<void> {
  if (row.workspace_id !== null) return
  const problem = 'the guardrail of the organization cannot be deleted'
  await assertPrivacyUnlocked(tx, row.organization_id, { field: 'id', problem })
}
