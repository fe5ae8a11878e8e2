import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { decodeCounter, toLedgerLimit } from '../../../governance/limits/applied-limits.ts'
import { limitSources } from '../../../governance/limits/attached-limit-store.ts'
import { decodeAmount } from '../../../governance/limits/limit-fields.ts'
import {
  type LimitRule,
  ledgerWindowOf,
  limitMeasures,
  limitWindows,
} from '../../../governance/limits/limit-rule.ts'
import { type LimitRow, toLimitRule } from '../../../governance/limits/store.ts'
import { locateInWindow } from '../../../governance/limits/window.ts'
import { loadHashesOfKeys } from '../../../identity/keys.ts'
import { evaluateLimit } from '../../../ledger/ledger-state.ts'
import { loadMetersForDay } from '../../../ledger/meter-days.ts'
import { meterSubjects } from '../../../ledger/meter-subjects.ts'
import { listMeterSubjects } from '../../../ledger/usage.ts'
import { utcDay } from '../../../platform/time/time.ts'
import { sourceOf } from './store.ts'

const count = z.strictObject({
  counter: z
    .record(z.string(), z.string())
    .describe('The values of `per`; empty for a limit that counts all requests together.'),
  used: z.number().describe('What was used, and is reserved for requests in progress.'),
  remaining: z.number(),
})

export const limitUsage = z
  .strictObject({
    id: z.string(),
    source: z.enum(limitSources),
    name: z.string(),
    measure: z.enum(limitMeasures),
    window: z.enum(limitWindows).nullable(),
    amount: z.number(),
    resets_at: z
      .string()
      .nullable()
      .describe(
        'When the window ends; of a window that slides, when what is counted now begins to count less.',
      ),
    counts: z.array(count).describe('The closest to the limit first. Concurrent requests are not listed.'),
  })
  .meta({ id: 'LimitUsage' })

export type LimitUsage = z.input<typeof limitUsage>

export const maxCounts = 100

export async function loadLimitUsage(gateway: Gateway, row: LimitRow): Promise<LimitUsage> {
  const rule = toLimitRule(row)
  const now = gateway.clock.now()
  const used = ledgerWindowOf(rule)
    ? await loadSpending(gateway, rule, now)
    : await gateway.limitCounts.list(rule, now)
  const hashes = await loadKeyHashes(gateway, used)
  const counts = used.map(([counter, amount]) => ({
    counter: nameKey(decodeCounter(counter), hashes),
    used: decodeAmount(rule.measure, amount),
    remaining: decodeAmount(rule.measure, amount > rule.amount ? 0n : rule.amount - amount),
  }))
  const end = rule.window && locateInWindow(rule.window, now).end
  return {
    id: rule.id,
    source: sourceOf(row),
    name: rule.name,
    measure: rule.measure,
    window: rule.window,
    amount: decodeAmount(rule.measure, rule.amount),
    resets_at: end === null ? null : new Date(end).toISOString(),
    counts: counts.toSorted((a, b) => b.used - a.used).slice(0, maxCounts),
  }
}

async function loadSpending(gateway: Gateway, rule: LimitRule, now: number): Promise<[string, bigint][]> {
  const prefix = meterSubjects.limit(rule.id, '')
  const subjects =
    rule.per.length === 0 ? [prefix] : await listMeterSubjects(gateway.db, `${prefix}:`, maxCounts)
  const meters = await loadMetersForDay(gateway.db, subjects, utcDay(now))
  return meters.flatMap((meter): [string, bigint][] => {
    const counter = meter.subject.slice(prefix.length + 1)
    const limit = toLedgerLimit({ rule, counter })
    if (!limit) return []
    const { spent, held } = evaluateLimit(limit, meter, { amount: 0n, byok: 0n })
    return [[counter, spent + held]]
  })
}

type Counter = Record<string, string>

/** Counters have the number of a key, which the API does not show. */
async function loadKeyHashes(
  gateway: Gateway,
  used: readonly (readonly [counter: string, used: bigint])[],
): Promise<Map<string, string>> {
  const ids = used.flatMap(([counter]) => decodeCounter(counter).key ?? []).slice(0, maxCounts)
  return loadHashesOfKeys(gateway.db, ids.map(Number))
}

function nameKey({ key, ...others }: Counter, hashes: ReadonlyMap<string, string>): Counter {
  return key === undefined ? others : { ...others, key: hashes.get(key) ?? '' }
}
