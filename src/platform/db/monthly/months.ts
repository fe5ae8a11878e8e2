/** Ids of generations begin with it and the milliseconds of their time, as 12 hex digits. */
const idPrefix = 'gen-'
const timeDigits = 12

/** Ids that begin like this sort after every time: those of video jobs do. */
export const lastId = `${idPrefix}v`

/** A UTC month, counted from the year 0: months can be compared and added to. */
export type Month = number

export function monthOf(time: number): Month {
  const date = new Date(time)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

export function startOfMonth(month: Month): number {
  return Date.UTC(Math.floor(month / 12), month % 12)
}

/** The first id that a generation of this month can have. */
export function firstIdOf(month: Month): string {
  return `${idPrefix}${startOfMonth(month).toString(16).padStart(timeDigits, '0')}`
}

/** The month that begins with this id; null if none does. */
export function monthBeginningWith(id: string): Month | null {
  const time = Number.parseInt(id.slice(idPrefix.length), 16)
  if (Number.isNaN(time)) return null
  const month = monthOf(time)
  return firstIdOf(month) === id ? month : null
}

/** `202611` for November 2026. */
export function formatMonth(month: Month): string {
  return new Date(startOfMonth(month)).toISOString().slice(0, 7).replace('-', '')
}
