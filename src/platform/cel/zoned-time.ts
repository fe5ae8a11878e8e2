/** Parts of a time, by the names of CEL: months and days of the week begin at 0, the week on Sunday. */
export const timeParts = [
  'getHours',
  'getMinutes',
  'getDayOfWeek',
  'getDate',
  'getMonth',
  'getFullYear',
] as const
type TimePart = (typeof timeParts)[number]

interface Zone {
  format: Intl.DateTimeFormat
  /** The parts of the last minute that was read: conditions read several of one time. */
  minute: number
  parts: Record<TimePart, number>
}

/** By name. There are a few hundred, each with several spellings. */
const zones = new Map<string, Zone>()
const maxZones = 1000
const maxNameLength = 50
const minuteMs = 60_000

/** Undefined if there is no such time zone. */
export function findZone(name: string): Zone | undefined {
  const known = zones.get(name)
  if (known || name.length > maxNameLength) return known
  const format = createFormat(name)
  if (!format) return undefined
  if (zones.size >= maxZones) zones.clear()
  const zone = { format, minute: Number.NaN, parts: readParts(format, 0) }
  zones.set(name, zone)
  return zone
}

export function readTimePart(zone: Zone, part: TimePart, time: number): number {
  const minute = Math.floor(time / minuteMs)
  if (zone.minute !== minute) {
    zone.parts = readParts(zone.format, minute * minuteMs)
    zone.minute = minute
  }
  return zone.parts[part]
}

function createFormat(timeZone: string): Intl.DateTimeFormat | null {
  const numeric = 'numeric'
  try {
    return new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, calendar: 'gregory', hourCycle: 'h23', weekday: 'short' },
      ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric },
    })
  } catch {
    return null
  }
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

function readParts(format: Intl.DateTimeFormat, time: number): Zone['parts'] {
  const texts = new Map(format.formatToParts(time).map(({ type, value }) => [type, value]))
  return {
    getHours: Number(texts.get('hour')),
    getMinutes: Number(texts.get('minute')),
    getDayOfWeek: weekdays.indexOf(texts.get('weekday') ?? ''),
    getDate: Number(texts.get('day')),
    getMonth: Number(texts.get('month')) - 1,
    getFullYear: Number(texts.get('year')),
  }
}
