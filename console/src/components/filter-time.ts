/** Times that stay relative in an address, so that a saved view shows the last two hours whenever it is opened. */
const relativePattern = /^(?:(\d{1,4})(m|h|d|w)|now|today|yesterday)$/

const unitMs: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
}

export function isTimeFilter(value: string): boolean {
  return relativePattern.test(value)
}

/** A typed time: relative ones stay, others become the times of the API. Dates are those of the viewer's zone. */
export function readTimeFilter(text: string): string | null {
  const lowered = text.toLowerCase().replace(/^(\d+)min$/, '$1m')
  if (isTimeFilter(lowered)) return lowered
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(\.\d{1,3})?Z?)?$/i.test(text)) return null
  // A date alone would be read in UTC.
  const time = Date.parse(text.length === 10 ? `${text}T00:00` : text)
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}

/** The time of the API that a filter means now. */
export function resolveTimeFilter(value: string, now: number): string {
  const [, count, unit] = relativePattern.exec(value) ?? []
  if (count !== undefined && unit !== undefined)
    return new Date(now - Number(count) * (unitMs[unit] ?? 0)).toISOString()
  if (!isTimeFilter(value)) return value
  if (value === 'now') return new Date(now).toISOString()
  const day = new Date(now)
  day.setHours(0, 0, 0, 0)
  if (value === 'yesterday') day.setDate(day.getDate() - 1)
  return day.toISOString()
}
