import { listOrganizations, lockOrganization } from '../../identity/organizations.ts'
import { findWorkspaceId } from '../../identity/workspaces.ts'
import { newUuid } from '../../platform/crypto/ids.ts'
import type { Db } from '../../platform/db/db.ts'
import { encodeList, toFlag } from '../../platform/db/values.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { AuditOrigin } from '../audit/entry.ts'
import { type AuditDeps, type RecordEvent, transactAs } from '../audit/transaction.ts'
import { describeLimit, describeTier } from './audit-target.ts'
import { encodeAmount } from './limit-fields.ts'
import type { SettingsLimit, SettingsTier } from './limit-settings.ts'
import {
  deleteLimit,
  hasSettingsLimits,
  insertLimit,
  type LimitRow,
  listSettingsLimits,
  type TierRow,
  updateLimit,
} from './store.ts'
import {
  clearDefaultTier,
  deleteTier,
  findTier,
  insertTier,
  isTierOfKeys,
  listSettingsTiers,
  updateTier,
} from './tier-store.ts'

export interface LimitDeclarations {
  tiers: readonly SettingsTier[]
  usage_limits: readonly SettingsLimit[]
}

interface Applying {
  tx: Db
  clock: Clock
  record: RecordEvent
  organizationId: string
}

/** Gives every organization the tiers and limits of headgate.yaml, and removes those that it no longer has. */
export async function applyLimitSettings(
  deps: AuditDeps,
  declared: LimitDeclarations,
  origin: AuditOrigin,
): Promise<void> {
  const isEmpty = declared.tiers.length === 0 && declared.usage_limits.length === 0
  if (isEmpty && !(await hasSettingsLimits(deps.db))) return
  for (const { id } of await listOrganizations(deps.db))
    await transactAs(deps, { ...origin, organizationId: id }, (tx, record) =>
      applyToOrganization({ tx, clock: deps.clock, record, organizationId: id }, declared),
    )
}

export async function applyToOrganization(applying: Applying, declared: LimitDeclarations): Promise<void> {
  await lockOrganization(applying.tx, applying.organizationId)
  const { tiers, usage_limits } = declared
  const stored = await listSettingsTiers(applying.tx, applying.organizationId)
  const outdated = stored.filter((row) => !tiers.some(({ name }) => name === row.name))
  for (const row of outdated) await removeTier(applying, row)
  for (const tier of tiers) await applyTier(applying, tier)
  await applyLimits(applying, usage_limits)
}

/** A tier that keys have stays theirs, so that declaring it again is enough to limit them again. */
async function removeTier({ tx, clock, record }: Applying, row: TierRow): Promise<void> {
  if (await isTierOfKeys(tx, row)) {
    const after = await updateTier(tx, clock, row, {
      from_settings: toFlag(false),
      is_default: toFlag(false),
    })
    record({ action: 'tier.update', ...describeTier(row), before: { ...row }, after: { ...after } })
    return
  }
  await deleteTier(tx, row)
  record({ action: 'tier.delete', ...describeTier(row), before: { ...row } })
}

/** A tier of the same name that was created by hand becomes that of the settings. */
async function applyTier({ tx, clock, record, organizationId }: Applying, tier: SettingsTier): Promise<void> {
  const before = await findTier(tx, organizationId, tier.name)
  const columns = {
    description: tier.description,
    is_default: toFlag(tier.is_default),
    from_settings: toFlag(true),
  }
  if (before && isUnchanged(before, columns)) return
  if (tier.is_default) await clearDefaultTier(tx, organizationId)
  const after = before
    ? await updateTier(tx, clock, before, columns)
    : await insertTier(tx, clock, { organization_id: organizationId, name: tier.name, ...columns })
  record({
    action: before ? 'tier.update' : 'tier.create',
    ...describeTier(after),
    ...(before && { before: { ...before } }),
    after: { ...after },
  })
}

/** What a changed limit counts would mix with what it has counted before: then it is replaced by another one. */
async function applyLimits(applying: Applying, limits: readonly SettingsLimit[]): Promise<void> {
  const { tx, clock, record, organizationId } = applying
  const outdated = new Map((await listSettingsLimits(tx, organizationId)).map((row) => [row.name, row]))
  for (const limit of limits) {
    const columns = await toColumns(tx, organizationId, limit)
    if (!columns) continue
    const { counted, amounts } = columns
    const before = outdated.get(limit.name)
    if (!before || !isUnchanged(before, counted)) {
      const after = await insertLimit(tx, clock, { id: newUuid(), ...counted, ...amounts })
      record({ action: 'limit.create', ...describeLimit(after), after: { ...after } })
      continue
    }
    outdated.delete(limit.name)
    if (isUnchanged(before, amounts)) continue
    const after = await updateLimit(tx, clock, before.id, amounts)
    record({ action: 'limit.update', ...describeLimit(after), before: { ...before }, after: { ...after } })
  }
  for (const row of outdated.values()) {
    await deleteLimit(tx, row.id)
    record({ action: 'limit.delete', ...describeLimit(row), before: { ...row } })
  }
}

type CountedColumn = Exclude<keyof LimitRow, 'id' | 'created_at' | 'updated_at' | keyof AmountColumns>
type AmountColumns = Pick<LimitRow, 'amount' | 'include_byok' | 'enabled'>

/** Null if the organization does not have the workspace that the limit is for. */
async function toColumns(
  tx: Db,
  organizationId: string,
  { name, measure, window, amount, include_byok, match, per }: SettingsLimit,
): Promise<{ counted: Pick<LimitRow, CountedColumn>; amounts: AmountColumns } | null> {
  const workspaceId = match.workspace ? await findWorkspaceId(tx, organizationId, match.workspace) : null
  if (workspaceId === undefined) return null
  return {
    counted: {
      organization_id: organizationId,
      name,
      measure,
      period: window,
      workspace_id: workspaceId,
      user_id: null,
      key_id: null,
      tier: match.tier ?? null,
      end_user: match.end_user ?? null,
      tags: encodeList(match.tags ?? []) ?? '[]',
      models: encodeList(match.models ?? []) ?? '[]',
      providers: encodeList(match.providers ?? []) ?? '[]',
      per: encodeList(per) ?? '[]',
      from_settings: toFlag(true),
    },
    amounts: {
      amount: encodeAmount(measure, amount) ?? 0n,
      include_byok: toFlag(include_byok),
      enabled: toFlag(true),
    },
  }
}

function isUnchanged<R extends object>(row: R, columns: Partial<R>): boolean {
  return Object.entries(columns).every(([name, value]) => String(row[name as keyof R]) === String(value))
}
