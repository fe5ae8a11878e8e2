import type { LabelName } from './usage-record.ts'

/** What a roll-up tells apart. What it leaves out is added up. */
export interface LevelDefinition {
  labels: readonly LabelName[]
  /** Whether it knows the hour of the day. */
  byHour: boolean
}

const endpointLabels = ['workspace', 'model', 'provider', 'endpoint'] as const

/** `request` has every request as it is; each other one is small enough to be read whole. Another one is another line. */
export const rollupLevels = {
  /** All that may be asked about a whole year. */
  day: { labels: [...endpointLabels, 'key', 'user', 'app'], byHour: false },
  hour: { labels: endpointLabels, byHour: true },
  ends: { labels: [...endpointLabels, 'finish', 'context'], byHour: false },
  people: { labels: ['workspace', 'external'], byHour: false },
} as const satisfies Record<string, LevelDefinition>

export type RollupLevel = keyof typeof rollupLevels
export type SegmentLevel = RollupLevel | 'request'

export const rollupLevelNames = Object.keys(rollupLevels) as RollupLevel[]
