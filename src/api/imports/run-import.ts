import type { Catalog } from '../../catalog/catalog.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { installOverrides } from '../../gateway/reload.ts'
import type { RecordEvent } from '../../governance/audit/transaction.ts'
import { findOperatorOrganization } from '../../identity/organizations.ts'
import type { Scope } from '../../identity/permissions/grant.ts'
import type { Db } from '../../platform/db/db.ts'
import { dryRun } from '../../platform/db/dry-run.ts'
import { importAccounts } from './import-accounts.ts'
import { type ImportedCatalog, type ImportTransaction, importCatalog } from './import-catalog.ts'
import type { ImportPlan, ItemOutcome } from './import-plan.ts'
import { importPolicies } from './import-policies.ts'
import { updateOpenings } from './imported-values.ts'
import { SourceError } from './source.ts'

export interface ImportRun {
  gateway: Gateway
  organizationId: string
  /** Where keys may be imported. */
  scope: Scope
  plan: ImportPlan
  /** Reports what would happen, and changes nothing. */
  isPlan: boolean
  /** Whether no other process has the meters in memory. */
  canUpdateSpend: boolean
  /** Runs an audited transaction. */
  transact: <T>(work: (tx: Db, record: RecordEvent) => Promise<T>) => Promise<T>
}

export interface ImportReport {
  plan: boolean
  created: number
  updated: number
  existing: number
  skipped: number
  items: ItemOutcome[]
}

/** Makes the changes of a plan in one transaction, or says what they would be. */
export async function runImport(run: ImportRun): Promise<ImportReport> {
  const { gateway, organizationId, scope, plan, isPlan } = run
  if (changesCatalog(plan)) await requireOperator(gateway, organizationId)
  const { outcomes, overrides } = await dryRun<Pick<ImportedCatalog, 'outcomes' | 'overrides'>>(
    isPlan,
    (finish) =>
      run.transact(async (tx, record) => {
        const openings = run.canUpdateSpend ? [] : null
        const input: ImportTransaction = { gateway, tx, record, organizationId, scope, openings }
        const imported = await importCatalog(input, plan.catalog)
        const accounts = await importAccounts(input, imported.catalog satisfies Catalog, plan.accounts)
        const policies = plan.policies ? await importPolicies(input, imported.catalog, plan.policies) : []
        const items = [...imported.outcomes, ...accounts, ...policies]
        if (!isPlan && items.length > 0) recordImport(record, organizationId, items)
        await updateOpenings(input)
        return finish({ overrides: imported.overrides, outcomes: items })
      }),
  )
  if (overrides && !isPlan) installOverrides(gateway, overrides)
  return report(outcomes, plan.skipped, isPlan)
}

export function changesCatalog({ catalog }: ImportPlan): boolean {
  return catalog.providers.length + catalog.models.length + catalog.fallbacks.length > 0
}

/** The catalog belongs to the installation. */
async function requireOperator(gateway: Gateway, organizationId: string): Promise<void> {
  const operator = await findOperatorOrganization(gateway.db)
  if (operator?.id !== organizationId)
    throw new SourceError('Models are imported by the organization that operates this installation.')
}

function report(
  outcomes: readonly ItemOutcome[],
  skipped: ImportPlan['skipped'],
  isPlan: boolean,
): ImportReport {
  const items: ItemOutcome[] = [
    ...outcomes,
    ...skipped.map(({ kind, name, reason }) => ({
      kind,
      name,
      outcome: 'skipped' as const,
      message: reason,
    })),
  ]
  return { plan: isPlan, ...countOutcomes(items), items }
}

function countOutcomes(items: readonly ItemOutcome[]) {
  const count = (outcome: ItemOutcome['outcome']) => items.filter((item) => item.outcome === outcome).length
  return {
    created: count('created'),
    updated: count('updated'),
    existing: count('existing'),
    skipped: count('skipped'),
  }
}

/** Beside the entries of the single changes, so that an import can be found as one. */
function recordImport(record: RecordEvent, organizationId: string, items: readonly ItemOutcome[]): void {
  const target = { type: 'organization', id: organizationId, name: null }
  record({ action: 'import.apply', target, workspaceId: null, details: countOutcomes(items) })
}
