import type { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { describeLimit } from '../../../governance/limits/audit-target.ts'
import { encodeAmount, findLimitProblem } from '../../../governance/limits/limit-fields.ts'
import { deleteLimit, insertLimit, type LimitRow } from '../../../governance/limits/store.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { encodeList, toFlag } from '../../../platform/db/values.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import type { createLimitBody } from './record.ts'
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
  const problem = findLimitProblem(measure, body)
  if (problem) throw invalidFieldError(problem.field, problem.message)
  return {
    id: newUuid(),
    organization_id: organizationId,
    name: body.name,
    measure,
    period: body.window ?? null,
    amount: requireAmount(measure, body.amount),
    include_byok: toFlag(body.include_byok),
    enabled: toFlag(body.enabled),
    ...(await resolveOwners(db, organizationId, match)),
    end_user: match.end_user ?? null,
    tags: encodeList(match.tags ?? []) ?? '[]',
    models: encodeList(match.models ?? []) ?? '[]',
    providers: encodeList(match.providers ?? []) ?? '[]',
    per: encodeList(body.per) ?? '[]',
    from_settings: toFlag(false),
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
  assertNotFromSettings(row, 'limit')
  await deleteLimit(tx, row.id)
  record({ action: 'limit.delete', ...describeLimit(row), before: { ...row } })
}

export function requireAmount(measure: CreateBody['measure'], amount: number): bigint {
  const encoded = encodeAmount(measure, amount)
  if (encoded === undefined)
    throw invalidFieldError('amount', measure === 'usd' ? 'is too large' : 'must be a whole number')
  return encoded
}

/** Those of headgate.yaml would return with its next reload. */
export function assertNotFromSettings({ from_settings }: { from_settings: number }, kind: string): void {
  if (from_settings === 1)
    throw gatewayError('conflict', `The ${kind} is declared in headgate.yaml: change or remove it there.`)
}
