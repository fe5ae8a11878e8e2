import { createLimitRow, prepareLimit } from '../../api/spending/limits/changes.ts'
import { createLimitBody } from '../../api/spending/limits/record.ts'
import { type LimitRow, listLimitRows } from '../../governance/limits/store.ts'
import { findKeyByHash } from '../../identity/keys.ts'
import { findMemberByEmail } from '../../identity/members.ts'
import { findWorkspaceId } from '../../identity/workspaces.ts'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import { openMeter } from '../../ledger/opening-spend.ts'
import type { LimitReset } from '../../platform/db/schema.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import type { ImportTransaction } from './import-catalog.ts'
import type { ItemOutcome, PlannedLimit } from './import-plan.ts'

/** Creates limits that do not exist: those that measure the same of the same requests in the same window. */
export async function importLimits(
  input: ImportTransaction,
  limits: readonly PlannedLimit[],
): Promise<ItemOutcome[]> {
  const rows = await listLimitRows(input.tx, input.organizationId)
  const known = new Set(rows.map(identify))
  const outcomes: ItemOutcome[] = []
  for (const limit of limits) outcomes.push(await importLimit(input, limit, known))
  return outcomes
}

async function importLimit(
  input: ImportTransaction,
  limit: PlannedLimit,
  known: Set<string>,
): Promise<ItemOutcome> {
  const item = { kind: 'limit', name: limit.name, message: null }
  const match = await resolveMatch(input, limit.match)
  if (!match) return { ...item, outcome: 'skipped', message: 'what it limits is not imported' }
  try {
    const { name, measure, window, amount } = limit
    const body = validateInput(createLimitBody, { name, measure, window, amount, match }, 'limit')
    const prepared = await prepareLimit(input.tx, input.organizationId, body)
    if (known.has(identify(prepared))) return { ...item, outcome: 'existing' }
    known.add(identify(prepared))
    const row = await createLimitRow(input, prepared)
    await openLimit(input, row, limit)
    return { ...item, outcome: 'created' }
  } catch (error) {
    if (!(error instanceof GatewayError && error.code === 'invalid_request')) throw error
    return { ...item, outcome: 'skipped', message: error.message }
  }
}

type Identity = Pick<
  LimitRow,
  | 'measure'
  | 'period'
  | 'workspace_id'
  | 'user_id'
  | 'key_id'
  | 'tier'
  | 'end_user'
  | 'tags'
  | 'models'
  | 'providers'
  | 'per'
>

function identify(row: Identity): string {
  const { measure, period, workspace_id, user_id, key_id, tier, end_user, tags, models, providers, per } = row
  return JSON.stringify([
    measure,
    period,
    workspace_id,
    user_id,
    key_id,
    tier,
    end_user,
    tags,
    models,
    providers,
    per,
  ])
}

/** Null if one of the records does not exist. */
async function resolveMatch(
  { tx, organizationId }: ImportTransaction,
  { workspace, member, keyHash, endUser, tag }: PlannedLimit['match'],
) {
  const workspaceId = workspace === undefined ? null : await findWorkspaceId(tx, organizationId, workspace)
  const userId = member === undefined ? null : (await findMemberByEmail(tx, organizationId, member))?.id
  const key = keyHash === undefined ? null : await findKeyByHash(tx, keyHash)
  if (workspaceId === undefined || userId === undefined || key === undefined) return null
  return {
    workspace_id: workspaceId,
    user_id: userId,
    key_hash: key?.hash ?? null,
    end_user: endUser ?? null,
    ...(tag !== undefined && { tags: [tag] }),
  }
}

const resets: Readonly<Record<string, LimitReset>> = { day: 'daily', week: 'weekly', month: 'monthly' }

/** Only dollars are kept in the ledger. */
async function openLimit(
  { gateway, tx, organizationId }: ImportTransaction,
  { id }: LimitRow,
  { measure, window, spend }: PlannedLimit,
): Promise<void> {
  if (measure !== 'usd') return
  const reset = resets[window ?? '']
  await openMeter(tx, gateway.clock, {
    organizationId,
    subject: meterSubjects.limit(id, ''),
    amount: spend,
    window: reset ? { reset, amount: spend } : null,
  })
}
