import type { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { limitWindows } from '../../../governance/limits/limit-rule.ts'
import { deleteLimit, insertLimit, type LimitRow } from '../../../governance/limits/store.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { encodeList, toFlag } from '../../../platform/db/values.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { type createLimitBody, encodeAmount } from './record.ts'
import { resolveOwners } from './store.ts'

type CreateBody = z.output<typeof createLimitBody>
type NewLimit = Omit<LimitRow, 'created_at' | 'updated_at'>

/** An audited transaction. */
export interface Changing {
  gateway: Pick<Gateway, 'clock' | 'settings'>
  tx: Db
  record: RecordEvent
}

/** The row of a new limit; a 400 names the field of what is not valid. */
export async function prepareLimit(db: Db, organizationId: string, body: CreateBody): Promise<NewLimit> {
  const { match, measure } = body
  return {
    id: newUuid(),
    organization_id: organizationId,
    name: body.name,
    measure,
    period: resolveWindow(measure, body.window),
    amount: requireAmount(measure, body.amount),
    include_byok: toFlag(body.include_byok),
    enabled: toFlag(body.enabled),
    ...(await resolveOwners(db, organizationId, match)),
    end_user: match.end_user ?? null,
    tags: encodeList(match.tags ?? []) ?? '[]',
    models: encodeList(match.models ?? []) ?? '[]',
    providers: encodeList(match.providers ?? []) ?? '[]',
    per: encodeList(body.per) ?? '[]',
  }
}

export async function createLimitRow({ gateway, tx, record }: Changing, row: NewLimit): Promise<LimitRow> {
  await lockOrganization(tx, row.organization_id)
  const created = await insertLimit(tx, gateway.clock, row)
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'limits', row.organization_id)
  record({ action: 'limit.create', ...describeLimit(created), after: { ...created } })
  return created
}

export async function deleteLimitRow(
  { tx, record }: Pick<Changing, 'tx' | 'record'>,
  row: LimitRow,
): Promise<void> {
  await deleteLimit(tx, row.id)
  record({ action: 'limit.delete', ...describeLimit(row), before: { ...row } })
}

function resolveWindow(measure: CreateBody['measure'], window: CreateBody['window']): string | null {
  if (measure === 'concurrent_requests') {
    if (window) throw invalidFieldError('window', 'must be null for concurrent_requests')
    return null
  }
  if (!window) throw invalidFieldError('window', `is required: one of ${limitWindows.join(', ')}`)
  return window
}

export function requireAmount(measure: CreateBody['measure'], amount: number): bigint {
  const encoded = encodeAmount(measure, amount)
  if (encoded === undefined)
    throw invalidFieldError('amount', measure === 'usd' ? 'is too large' : 'must be a whole number')
  return encoded
}

export function describeLimit({ id, name, workspace_id }: LimitRow) {
  return { target: { type: 'limit' as const, id, name }, workspaceId: workspace_id }
}
