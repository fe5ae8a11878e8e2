import { describeLimit } from '../../governance/limits/audit-target.ts'
import { type LimitRow, listLimitRows, updateLimit } from '../../governance/limits/store.ts'
import { findKeyByHash } from '../../identity/keys.ts'
import { findMemberByEmail } from '../../identity/members.ts'
import { findWorkspaceId } from '../../identity/workspaces.ts'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import { type OpeningSpend, openMeter } from '../../ledger/opening-spend.ts'
import type { LimitReset } from '../../platform/db/schema.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { createLimitRow, prepareLimit } from '../spending/limits/changes.ts'
import { createLimitBody } from '../spending/limits/record.ts'
import type { ImportTransaction } from './import-catalog.ts'
import type { ItemOutcome, PlannedLimit } from './import-plan.ts'
import { mergeExisting } from './imported-values.ts'
import { rememberImported } from './imported-values-store.ts'

/** Creates limits that do not exist: those that measure the same of the same requests in the same window. */
export async function importLimits(
  input: ImportTransaction,
  limits: readonly PlannedLimit[],
): Promise<ItemOutcome[]> {
  const rows = await listLimitRows(input.tx, input.organizationId)
  const known = new Map(rows.map((row) => [identify(row), row]))
  const outcomes: ItemOutcome[] = []
  for (const limit of limits) outcomes.push(await importLimit(input, limit, known))
  return outcomes
}

async function importLimit(
  input: ImportTransaction,
  limit: PlannedLimit,
  known: Map<string, LimitRow>,
): Promise<ItemOutcome> {
  const item = { kind: 'limit', name: limit.name, message: null }
  const match = await resolveMatch(input, limit.match)
  if (!match) return { ...item, outcome: 'skipped', message: 'what it limits is not imported' }
  try {
    const { name, measure, window, amount, per = [] } = limit
    const body = validateInput(createLimitBody, { name, measure, window, amount, match, per }, 'limit')
    const prepared = await prepareLimit(input.tx, input.organizationId, body)
    const existing = known.get(identify(prepared))
    if (existing) return await mergeLimit(input, existing, prepared, limit)
    const row = await createLimitRow(input, prepared)
    known.set(identify(prepared), row)
    const opening = toOpening(input, row, limit)
    if (opening) await openMeter(input.tx, input.gateway.clock, opening)
    await rememberImported(input, subjectOf(row), { amount: String(row.amount) })
    return { ...item, outcome: 'created' }
  } catch (error) {
    if (!(error instanceof GatewayError && error.code === 'invalid_request')) throw error
    return { ...item, outcome: 'skipped', message: error.message }
  }
}

const subjectOf = ({ id }: LimitRow) => `limit:${id}`

async function mergeLimit(
  input: ImportTransaction,
  existing: LimitRow,
  { amount }: Pick<LimitRow, 'amount'>,
  limit: PlannedLimit,
): Promise<ItemOutcome> {
  const { gateway, tx, record } = input
  return mergeExisting(input, {
    item: { kind: 'limit', name: limit.name },
    subject: subjectOf(existing),
    current: { amount: String(existing.amount) },
    planned: { amount: String(amount) },
    opening: toOpening(input, existing, limit),
    apply: async () => {
      const after = await updateLimit(tx, gateway.clock, existing.id, { amount })
      record({
        action: 'limit.update',
        ...describeLimit(after),
        before: { ...existing },
        after: { ...after },
      })
    },
  })
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
  { workspace, member, keyHash, endUser, tag, models, providers }: PlannedLimit['match'],
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
    ...(models && { models }),
    ...(providers && { providers }),
  }
}

const resets: Readonly<Record<string, LimitReset>> = { day: 'daily', week: 'weekly', month: 'monthly' }

/** Only dollars are kept in the ledger. */
function toOpening(
  { organizationId }: ImportTransaction,
  { id }: LimitRow,
  { measure, window, spend }: PlannedLimit,
): OpeningSpend | null {
  if (measure !== 'usd') return null
  const reset = resets[window ?? '']
  return {
    organizationId,
    subject: meterSubjects.limit(id, ''),
    amount: spend,
    window: reset ? { reset, amount: spend } : null,
  }
}
