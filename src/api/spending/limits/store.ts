import { decodeAmount } from '../../../governance/limits/limit-fields.ts'
import { type LimitRow, toLimitRule } from '../../../governance/limits/store.ts'
import { requireTier } from '../../../governance/limits/tier-store.ts'
import { findKey, findKeyById } from '../../../identity/keys.ts'
import { findMember } from '../../../identity/members.ts'
import { requireWorkspace } from '../../../identity/workspaces.ts'
import type { Db } from '../../../platform/db/db.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import type { LimitRecord } from './record.ts'

interface MatchBody {
  workspace_id?: string | null | undefined
  user_id?: string | null | undefined
  key_hash?: string | null | undefined
  tier?: string | null | undefined
}

interface OwnerColumns {
  workspace_id: string | null
  user_id: string | null
  key_id: number | null
  tier: string | null
}

/** Resolves what a limit names; a 400 names the field of what does not exist. */
export async function resolveOwners(db: Db, organizationId: string, match: MatchBody): Promise<OwnerColumns> {
  const { workspace_id, user_id, key_hash, tier } = match
  const workspace = workspace_id ? await requireWorkspace(db, organizationId, workspace_id) : null
  if (user_id && !(await findMember(db, organizationId, user_id)))
    throw invalidFieldError('match.user_id', 'is not a member of the organization')
  const key = key_hash ? await findKey(db, organizationId, key_hash) : null
  if (key_hash && key?.kind !== 'inference') throw invalidFieldError('match.key_hash', 'is not a key')
  return {
    workspace_id: workspace?.id ?? null,
    user_id: user_id ?? null,
    key_id: key?.id ?? null,
    tier: await requireTier(db, organizationId, tier ?? null, 'match.tier'),
  }
}

export function sourceOf({ from_settings }: LimitRow): 'limit' | 'settings' {
  return from_settings === 1 ? 'settings' : 'limit'
}

export async function toLimitRecord(db: Db, row: LimitRow): Promise<LimitRecord> {
  const rule = toLimitRule(row)
  const { match } = rule
  const key = match.keyId === null ? undefined : await findKeyById(db, match.keyId)
  return {
    id: rule.id,
    source: sourceOf(row),
    name: rule.name,
    measure: rule.measure,
    window: rule.window,
    amount: decodeAmount(rule.measure, rule.amount),
    include_byok: rule.includeByok,
    enabled: row.enabled === 1,
    match: {
      workspace_id: match.workspaceId,
      user_id: match.userId,
      key_hash: key?.hash ?? null,
      tier: match.tier,
      guardrail_id: null,
      end_user: match.endUser,
      tags: [...match.tags],
      models: [...match.models],
      providers: [...match.providers],
    },
    per: [...rule.per],
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}
