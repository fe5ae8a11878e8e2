import { meterSubjects } from '../../../ledger/meter-subjects.ts'
import { nanosFromUsd, usdFromNanos } from '../../../platform/money/money.ts'
import { utcDay } from '../../../platform/time/time.ts'
import { yieldToEventLoop } from '../../../platform/time/time-slicer.ts'
import { type AlertSource, type Finding, formatUsd, quoteName } from '../alert.ts'
import { assessHour, type HourSpend, historyMs } from '../baseline.ts'
import { loadBusyHours, loadKeyHours } from './store.ts'

const hourMs = 3_600_000
/** Keys whose history is in memory at once. */
const chunkSize = 20

/** Notified once a day for a key. Only keys that spent the smallest threshold in an hour are looked at. */
export const unusualSpend: AlertSource = {
  kind: 'unusual_spend',
  async find({ db, clock }, rules) {
    if (rules.organizationIds.length === 0) return []
    const hour = Math.floor(clock.now() / hourMs) * hourMs
    const minNanos = nanosFromUsd(Number(rules.minThreshold.toFixed(9))) ?? 0n
    const busy = await loadBusyHours(db, [hour, hour - hourMs].map(formatHour), minNanos)
    const findings: Finding[] = []
    for (let at = 0; at < busy.length; at += chunkSize) {
      const chunk = busy.slice(at, at + chunkSize)
      const history = await loadHistory(db, chunk, hour)
      findings.push(...chunk.flatMap((row) => assessRow(row, history.get(row.id) ?? [], rules)))
      await yieldToEventLoop()
    }
    return findings
  },
}

type BusyHour = Awaited<ReturnType<typeof loadBusyHours>>[number]

function formatHour(time: number): string {
  return new Date(time).toISOString().slice(0, 13)
}

function parseHour(hour: string): number {
  return Date.parse(`${hour}:00:00.000Z`)
}

async function loadHistory(
  db: Parameters<typeof loadKeyHours>[0],
  rows: readonly BusyHour[],
  hour: number,
): Promise<Map<number, HourSpend[]>> {
  const ids = [...new Set(rows.map(({ id }) => id))]
  const hours = await loadKeyHours(db, ids, formatHour(hour - hourMs - historyMs))
  const spends = Map.groupBy(hours, ({ key_id }) => key_id)
  return new Map(
    [...spends].map(([id, some]) => [
      id,
      some.map((row) => ({ at: parseHour(row.hour), usd: usdFromNanos(row.usage_nanos) })),
    ]),
  )
}

function assessRow(
  row: BusyHour,
  history: readonly HourSpend[],
  rules: Parameters<AlertSource['find']>[1],
): Finding[] {
  const current = { at: parseHour(row.hour), usd: usdFromNanos(row.usage_nanos) }
  const matching = rules
    .match(row.organization_id, row.workspace_id)
    .filter(({ threshold }) => current.usd >= threshold)
  const unusual = matching.length > 0 ? assessHour(current, history) : null
  if (!unusual) return []
  return matching.map((rule) => ({
    rule,
    alert: {
      organizationId: row.organization_id,
      workspaceId: row.workspace_id,
      subject: meterSubjects.key(row.id),
      level: rule.threshold,
      period: utcDay(current.at),
      title: `The key ${quoteName(row.name)} spends unusually much`,
      text: `The API key ${quoteName(row.name)} (${row.label}) spent ${formatUsd(row.usage_nanos)} in the hour from ${row.hour}:00 UTC; ${unusual.expectedUsd.toFixed(2)} USD would be usual. See its requests with GET /activity?api_key_hash=${row.hash}. If they are not yours, disable it with PATCH /keys/${row.hash}.`,
      data: {
        key_hash: row.hash,
        key_name: row.name,
        hour: `${row.hour}:00:00Z`,
        spent_usd: unusual.usd,
        expected_usd: unusual.expectedUsd,
      },
    },
  }))
}
