import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { findKeyById } from '../../../identity/keys.ts'
import { loadKeyUsage, zeroUsage } from '../../../ledger/usage.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { runInSlices } from '../../../platform/time/time-slicer.ts'
import {
  type ComparedSide,
  type Comparison,
  type DifferenceKind,
  differenceKinds,
} from '../../../storage/shadows/comparison.ts'
import { listComparisonRows, listSkips } from '../../../storage/shadows/comparison-store.ts'
import type { ShadowRow } from '../../../storage/shadows/shadow.ts'

const dayMs = 86_400_000
/** The newest comparisons that a report is made of. */
const maxRead = 10_000
const maxErrors = 20

const percentiles = z.strictObject({ p50: z.number(), p95: z.number() }).nullable()

const distribution = z
  .strictObject({
    compared: z.int().describe('Requests whose times are known at both sides.'),
    original: percentiles,
    mirror: percentiles,
    difference: percentiles.describe('Of the mirror minus the original, for each request.'),
  })
  .meta({ id: 'ShadowDistribution' })

const errors = z.array(
  z.strictObject({
    code: z.string(),
    requests: z.int(),
    example: z.string().describe('The id of a comparison.'),
  }),
)

const perSide = z.strictObject({ original: z.number(), mirror: z.number(), difference: z.number() })

export const shadowReport = z
  .strictObject({
    from: z.string(),
    mirrored: z.int().describe('Requests that were compared.'),
    is_complete: z.boolean().describe('False if there are more: the newest 10,000 are in the report.'),
    identical: z.int().describe('Comparisons without a difference.'),
    differing: z.array(z.strictObject({ kind: z.enum(differenceKinds), requests: z.int() })),
    skipped: z.array(z.strictObject({ reason: z.string(), requests: z.int() })),
    pending: z.int().describe('Mirrors of this node that wait or run, of all shadows.'),
    prompt_tokens: perSide,
    completion_tokens: perSide,
    cost_usd: perSide.extend({ compared: z.int().describe('Requests whose costs are known at both sides.') }),
    latency_ms: distribution,
    first_token_ms: distribution,
    structured_output: z.strictObject({
      checked: z.int(),
      valid_original: z.int(),
      valid_mirror: z.int(),
    }),
    errors: z.strictObject({ original: errors, mirror: errors }),
    spend: z.strictObject({ today_usd: z.number(), total_usd: z.number(), daily_usd: z.number() }),
  })
  .meta({ id: 'ShadowReport' })
export type ShadowReport = z.output<typeof shadowReport>

/** What a shadow has found in the last days. */
export async function buildReport(gateway: Gateway, row: ShadowRow, days: number): Promise<ShadowReport> {
  const { db, clock, mirrors } = gateway
  const now = clock.now()
  const from = new Date(now - days * dayMs).toISOString()
  const selection = { shadowId: row.id, from, differing: false, before: null, limit: maxRead + 1 }
  const rows = await listComparisonRows(db, selection)
  const totals = new ReportTotals()
  await runInSlices(totals.addAll(rows.slice(0, maxRead)))
  const key = await findKeyById(db, row.key_id)
  const usage = (key && (await loadKeyUsage(db, [key.id], now)).get(key.id)) ?? zeroUsage
  return {
    from,
    is_complete: rows.length <= maxRead,
    skipped: await listSkips(db, row.id, from.slice(0, 10)),
    pending: mirrors.size,
    ...totals.toReport(),
    spend: {
      today_usd: usdFromNanos(usage.credits.daily + usage.byok.daily),
      total_usd: usdFromNanos(usage.credits.total + usage.byok.total),
      daily_usd: usdFromNanos(row.daily_nanos),
    },
  }
}

type SideName = 'original' | 'mirror'
type TokenCount = 'prompt_tokens' | 'completion_tokens'
type Measure = 'latency_ms' | 'first_token_ms'

class ReportTotals {
  #mirrored = 0
  #identical = 0
  #costs = 0
  readonly #differing = new Map<DifferenceKind, number>()
  readonly #tokens = { prompt_tokens: newSums(), completion_tokens: newSums() }
  readonly #cost = { original: 0n, mirror: 0n }
  readonly #times = { latency_ms: newTimes(), first_token_ms: newTimes() }
  readonly #errors = { original: newErrors(), mirror: newErrors() }
  readonly #structured = { checked: 0, valid_original: 0, valid_mirror: 0 }

  #add(id: string, comparison: Comparison): void {
    const { original, mirror, differences, structured_output } = comparison
    this.#mirrored++
    if (differences.length === 0) this.#identical++
    for (const kind of new Set(differences.map((one) => one.kind)))
      this.#differing.set(kind, (this.#differing.get(kind) ?? 0) + 1)
    this.#addTokens(original, mirror, 'prompt_tokens')
    this.#addTokens(original, mirror, 'completion_tokens')
    this.#addTimes(original, mirror, 'latency_ms')
    this.#addTimes(original, mirror, 'first_token_ms')
    this.#addCost(original, mirror)
    this.#addError('original', original, id)
    this.#addError('mirror', mirror, id)
    if (structured_output.original === null && structured_output.mirror === null) return
    this.#structured.checked++
    if (structured_output.original) this.#structured.valid_original++
    if (structured_output.mirror) this.#structured.valid_mirror++
  }

  /** Sums are of requests whose counts are known at both sides. */
  #addTokens(original: ComparedSide, mirror: ComparedSide, name: TokenCount): void {
    const [own, other] = [original[name], mirror[name]]
    if (own === null || other === null) return
    this.#tokens[name].original += own
    this.#tokens[name].mirror += other
  }

  #addCost(original: ComparedSide, mirror: ComparedSide): void {
    if (original.cost_nanos === null || mirror.cost_nanos === null) return
    this.#costs++
    this.#cost.original += BigInt(original.cost_nanos)
    this.#cost.mirror += BigInt(mirror.cost_nanos)
  }

  #addTimes(original: ComparedSide, mirror: ComparedSide, name: Measure): void {
    const [own, other] = [original[name], mirror[name]]
    if (own === null || other === null) return
    const times = this.#times[name]
    times.original.push(own)
    times.mirror.push(other)
    times.difference.push(other - own)
  }

  #addError(name: SideName, { error }: ComparedSide, id: string): void {
    if (error === null) return
    const known = this.#errors[name].get(error)
    if (known) known.requests++
    else this.#errors[name].set(error, { code: error, requests: 1, example: id })
  }

  *addAll(rows: readonly { id: string; record: string }[]): Generator<void> {
    for (const { id, record } of rows) {
      this.#add(id, JSON.parse(record) as Comparison)
      yield
    }
  }

  toReport() {
    const { original, mirror } = this.#cost
    return {
      mirrored: this.#mirrored,
      identical: this.#identical,
      differing: differenceKinds.flatMap((kind) => {
        const requests = this.#differing.get(kind)
        return requests ? [{ kind, requests }] : []
      }),
      prompt_tokens: withDifference(this.#tokens.prompt_tokens),
      completion_tokens: withDifference(this.#tokens.completion_tokens),
      cost_usd: {
        compared: this.#costs,
        original: usdFromNanos(original),
        mirror: usdFromNanos(mirror),
        difference: usdFromNanos(mirror - original),
      },
      latency_ms: describeTimes(this.#times.latency_ms),
      first_token_ms: describeTimes(this.#times.first_token_ms),
      structured_output: this.#structured,
      errors: { original: listErrors(this.#errors.original), mirror: listErrors(this.#errors.mirror) },
    }
  }
}

const newSums = () => ({ original: 0, mirror: 0 })
const newTimes = () => ({ original: [] as number[], mirror: [] as number[], difference: [] as number[] })
const newErrors = () => new Map<string, { code: string; requests: number; example: string }>()

function withDifference({ original, mirror }: Record<SideName, number>) {
  return { original, mirror, difference: mirror - original }
}

function describeTimes({ original, mirror, difference }: ReturnType<typeof newTimes>) {
  return {
    compared: original.length,
    original: computePercentiles(original),
    mirror: computePercentiles(mirror),
    difference: computePercentiles(difference),
  }
}

function computePercentiles(values: readonly number[]): { p50: number; p95: number } | null {
  const sorted = Float64Array.from(values).sort()
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
  return sorted.length === 0 ? null : { p50: at(0.5), p95: at(0.95) }
}

function listErrors(known: ReturnType<typeof newErrors>) {
  return [...known.values()].sort((a, b) => b.requests - a.requests).slice(0, maxErrors)
}
