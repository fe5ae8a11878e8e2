import type { LabelName } from '../../ledger/usage-record.ts'

/** The labels of a roll-up. It aggregates over all others. */
export interface LevelDefinition {
  labels: readonly LabelName[]
  /** Whether it has the hour of the day. */
  byHour: boolean
}

const endpointLabels = ['workspace', 'model', 'provider', 'endpoint'] as const

/**
 * `request` has one row for each request; every other level is small enough to be read completely. A new
 * level is one line.
 */
export const rollupLevels = {
  /** The level for a whole year, with every label that can be queried then. */
  day: { labels: [...endpointLabels, 'key', 'user', 'app'], byHour: false },
  hour: { labels: endpointLabels, byHour: true },
  ends: { labels: [...endpointLabels, 'finish', 'context'], byHour: false },
  people: { labels: ['workspace', 'external'], byHour: false },
  /** A level with few rows, however many keys and workspaces there are. */
  models: { labels: ['model', 'provider', 'finish'], byHour: true },
  keys: { labels: ['workspace', 'key', 'user'], byHour: false },
} as const satisfies Record<string, LevelDefinition>

export type RollupLevel = keyof typeof rollupLevels
export type SegmentLevel = RollupLevel | 'request'

export const rollupLevelNames = Object.keys(rollupLevels) as RollupLevel[]
