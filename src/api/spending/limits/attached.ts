import type { Gateway } from '../../../gateway/gateway.ts'
import {
  type AttachedLimit,
  isAttachedSource,
  limitSources,
  listGuardedSubjects,
} from '../../../governance/limits/attached-limit-store.ts'
import type { LimitWindow } from '../../../governance/limits/limit-rule.ts'
import type { LimitRow } from '../../../governance/limits/store.ts'
import { locateInWindow } from '../../../governance/limits/window.ts'
import { loadHashesOfKeys } from '../../../identity/keys.ts'
import { evaluateLimit } from '../../../ledger/ledger-state.ts'
import { loadMetersForDay } from '../../../ledger/meter-days.ts'
import { meterSubjects } from '../../../ledger/meter-subjects.ts'
import { windowByReset } from '../../../ledger/usage.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { BudgetInterval } from '../../../platform/db/schema.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { utcDay } from '../../../platform/time/time.ts'
import type { LimitRecord } from './record.ts'
import { toLimitRecord } from './store.ts'
import { type LimitUsage, loadLimitUsage, maxCounts } from './usage.ts'

const windowOf: Readonly<Record<BudgetInterval, LimitWindow>> = {
  daily: 'day',
  weekly: 'week',
  monthly: 'month',
  lifetime: 'lifetime',
}

export function isAttached(limit: LimitRow | AttachedLimit): limit is AttachedLimit {
  return 'owner' in limit
}

/** `key:<hash>`, `member:<id>`, `workspace:<id>:<interval>` or `guardrail:<id>`. */
export function formatAttachedId({ source, owner }: Pick<AttachedLimit, 'source' | 'owner'>): string {
  return `${source}:${owner}`
}

/** Null for the id of a declared limit. */
export function parseAttachedId(id: string): Pick<AttachedLimit, 'source' | 'owner'> | null {
  const separator = id.indexOf(':')
  const source = limitSources.find((name) => name === id.slice(0, separator))
  if (separator < 0 || !source || !isAttachedSource(source)) return null
  return { source, owner: id.slice(separator + 1) }
}

export function toAnyLimitRecord(
  db: Db,
  limit: LimitRow | AttachedLimit,
): LimitRecord | Promise<LimitRecord> {
  return isAttached(limit) ? toAttachedRecord(limit) : toLimitRecord(db, limit)
}

export function toAttachedRecord(limit: AttachedLimit): LimitRecord {
  const { source, owner } = limit
  return {
    id: formatAttachedId(limit),
    source,
    name: limit.name,
    measure: 'usd',
    window: windowOf[limit.interval],
    amount: usdFromNanos(limit.amount),
    include_byok: limit.includeByok,
    enabled: true,
    match: {
      workspace_id: limit.workspaceId,
      user_id: source === 'member' ? owner : null,
      key_hash: source === 'key' ? owner : null,
      tier: null,
      guardrail_id: source === 'guardrail' ? owner : null,
      end_user: null,
      tags: [],
      models: [],
      providers: [],
    },
    per: source === 'guardrail' ? ['key'] : [],
    created_at: limit.createdAt,
    updated_at: limit.updatedAt,
  }
}

export function loadAnyLimitUsage(
  gateway: Gateway,
  organizationId: string,
  limit: LimitRow | AttachedLimit,
): Promise<LimitUsage> {
  return isAttached(limit)
    ? loadAttachedUsage(gateway, organizationId, limit)
    : loadLimitUsage(gateway, limit)
}

async function loadAttachedUsage(
  gateway: Gateway,
  organizationId: string,
  limit: AttachedLimit,
): Promise<LimitUsage> {
  const { amount, includeByok } = limit
  const now = gateway.clock.now()
  const window = windowByReset[limit.interval]
  const subjects = await listSubjects(gateway.db, organizationId, limit)
  const meters = await loadMetersForDay(gateway.db, subjects, utcDay(now))
  const hashes = await loadKeyHashes(gateway.db, limit, subjects)
  const counts = meters.map((meter) => {
    const ledgerLimit = { kind: limit.source, subject: meter.subject, window, includeByok, amount }
    const { spent, held } = evaluateLimit(ledgerLimit, meter, { amount: 0n, byok: 0n })
    const used = spent + held
    return {
      counter: nameCounter(limit, meter.subject, hashes),
      used: usdFromNanos(used),
      remaining: usdFromNanos(used > amount ? 0n : amount - used),
    }
  })
  const { end } = locateInWindow(windowOf[limit.interval], now)
  return {
    id: formatAttachedId(limit),
    source: limit.source,
    name: limit.name,
    measure: 'usd',
    window: windowOf[limit.interval],
    amount: usdFromNanos(amount),
    resets_at: end === null ? null : new Date(end).toISOString(),
    counts: counts.toSorted((a, b) => b.used - a.used).slice(0, maxCounts),
  }
}

async function listSubjects(db: Db, organizationId: string, limit: AttachedLimit): Promise<string[]> {
  switch (limit.source) {
    case 'key':
      return [meterSubjects.key(limit.keyId ?? 0)]
    case 'member':
      return [meterSubjects.memberTotal(limit.owner)]
    case 'workspace':
      return [meterSubjects.workspace(limit.workspaceId ?? '')]
    case 'guardrail':
      return listGuardedSubjects(db, limit, organizationId)
  }
}

async function loadKeyHashes(
  db: Db,
  { source }: AttachedLimit,
  subjects: readonly string[],
): Promise<Map<string, string>> {
  if (source !== 'guardrail') return new Map()
  const ids = subjects.flatMap((subject) => (subject.startsWith('key:') ? Number(subject.slice(4)) : []))
  return loadHashesOfKeys(db, ids)
}

/** The key or member that a guardrail counts. */
function nameCounter(
  { source }: AttachedLimit,
  subject: string,
  hashes: ReadonlyMap<string, string>,
): Record<string, string> {
  if (source !== 'guardrail') return {}
  const [kind, id = '', userId = ''] = subject.split(':')
  return kind === 'key' ? { key: hashes.get(id) ?? '' } : { member: userId }
}
