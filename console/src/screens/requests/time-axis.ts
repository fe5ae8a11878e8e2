const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Distances between the marks of an axis that people read easily. */
const steps = [
  ...[1000, 5000, 15_000, minuteMs, 5 * minuteMs, 10 * minuteMs, 15 * minuteMs, 30 * minuteMs, hourMs],
  ...[2 * hourMs, 3 * hourMs, 6 * hourMs, 12 * hourMs, dayMs, 2 * dayMs, 5 * dayMs, 7 * dayMs, 14 * dayMs],
  ...[30 * dayMs, 90 * dayMs, 365 * dayMs],
]

export interface AxisMark {
  time: number
  /** Percent of the width. */
  left: number
  label: string
}

/** Marks at full hours or days in the zone of the viewer, at most `count` of them. */
export function listMarks(start: number, end: number, count: number): AxisMark[] {
  const span = Math.max(1, end - start)
  const step = steps.find((size) => span / size <= count) ?? span
  // Midnight of the first day in the zone of the viewer.
  const origin = new Date(start).setHours(0, 0, 0, 0)
  const first = origin + Math.ceil((start - origin) / step) * step
  const marks: AxisMark[] = []
  for (let time = first; time < end && marks.length < count; time += step)
    marks.push({ time, left: ((time - start) / span) * 100, label: formatMark(time, step) })
  return marks
}

const formats = {
  second: new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' }),
  time: new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' }),
  day: new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' }),
}

/** A day at its beginning, otherwise the time of day. */
function formatMark(time: number, step: number): string {
  const date = new Date(time)
  if (step >= dayMs || (date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0))
    return formats.day.format(time)
  return (step < minuteMs ? formats.second : formats.time).format(time)
}
