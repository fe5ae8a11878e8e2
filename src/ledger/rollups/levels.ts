import type { LabelName } from './facts.ts'

/** What a roll-up tells apart. What it leaves out is added up. */
export interface LevelTraits {
  labels: readonly LabelName[]
  /** Whether it knows the hour of the day. */
  byHour: boolean
}

const place = ['workspace', 'model', 'provider', 'endpoint'] as const

/** `request` has every request as it is; each other one is small enough to be read whole. Another one is another line. */
export const rolledLevels = {
  /** All that may be asked about a whole year. */
  day: { labels: [...place, 'key', 'user', 'app'], byHour: false },
  hour: { labels: place, byHour: true },
  ends: { labels: [...place, 'finish', 'context'], byHour: false },
  people: { labels: ['workspace', 'external'], byHour: false },
} as const satisfies Record<string, LevelTraits>

export type RolledLevel = keyof typeof rolledLevels
export type Level = RolledLevel | 'request'

export const rolledLevelNames = Object.keys(rolledLevels) as RolledLevel[]
