const dayMs = 86_400_000

const time = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const dateAndTime = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})
const localDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const utcDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' })

/** The API counts days in UTC. */
export function isWholeDays(bucketMs: number): boolean {
  return bucketMs >= dayMs
}

/** A point in time on an axis: in the zone of the viewer, or the UTC day of a bucket of a day. */
export function formatBucket(ms: number, bucketMs: number, stepMs = 0): string {
  if (isWholeDays(bucketMs)) return utcDay.format(ms)
  if (stepMs === 0) return dateAndTime.format(ms)
  return stepMs >= dayMs || isLocalMidnight(ms) ? localDay.format(ms) : time.format(ms)
}

function isLocalMidnight(ms: number): boolean {
  const date = new Date(ms)
  return date.getHours() === 0 && date.getMinutes() === 0
}
