import type { BenchmarkResult } from '../result.ts'

/** A score as a source publishes it, before its model is found in the catalog. */
export interface PublishedScore
  extends Pick<BenchmarkResult, 'source' | 'benchmark' | 'variant' | 'score' | 'details'>,
    Partial<Pick<BenchmarkResult, 'deviation' | 'costNanos' | 'latencyMs' | 'tasks'>> {
  model: PublishedModel
  /** The time of the measurement, if the file has a date. */
  measuredAt: string | null
}

/** A source's names of a model. */
export interface PublishedModel {
  displayName: string
  /** Ids and slugs, the most reliable first. */
  names: string[]
  /** The company, for names that several models share. */
  author: string | null
}

/** A file that cannot be imported; the message is for the operator. */
export class ImportError extends Error {}
