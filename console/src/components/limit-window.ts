import type { Schemas } from '../api/client.ts'

export type Window = NonNullable<Schemas['Limit']['window']>

/** The names of choices, and texts after an amount. */
export const windowTexts: Record<Window, { label: string; each: string }> = {
  second: { label: 'Second', each: 'a second' },
  minute: { label: 'Minute', each: 'a minute' },
  hour: { label: 'Hour', each: 'an hour' },
  day: { label: 'Day', each: 'a day' },
  week: { label: 'Week', each: 'a week' },
  month: { label: 'Month', each: 'a month' },
  lifetime: { label: 'Lifetime', each: 'in total' },
}
