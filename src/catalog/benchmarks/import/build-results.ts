import type { BenchmarkResult } from '../result.ts'
import type { PublishedScore } from './entry.ts'
import type { ModelMatch, ModelMatcher } from './match-model.ts'

export interface ImportedResults {
  results: BenchmarkResult[]
  /** Names that no model of the catalog has. */
  unmatched: string[]
  /** Other settings of a model, such as a lower reasoning effort: only its best entry is used. */
  superseded: string[]
}

export interface ImportOptions {
  /** The date of files that have none of their own. */
  date: string
  sourceUrl: string | null
  importedAt: string
}

interface MatchedEntry extends ModelMatch {
  scores: PublishedScore[]
}

/** Finds the models of published scores. */
export function buildResults(
  scores: readonly PublishedScore[],
  matcher: ModelMatcher,
  options: ImportOptions,
): ImportedResults {
  const entries = Map.groupBy(scores, ({ model }) => JSON.stringify([model.displayName, model.names]))
  const matched: MatchedEntry[] = []
  const unmatched: string[] = []
  for (const group of entries.values()) {
    const [first] = group
    const match = first && matcher.find(first.model)
    if (match) matched.push({ ...match, scores: group })
    else if (first) unmatched.push(first.model.displayName)
  }
  const best = chooseBest(matched)
  return {
    results: [...best.values()].flatMap((entry) => toResults(entry, options)),
    unmatched: [...new Set(unmatched)].sort(),
    superseded: matched
      .filter((entry) => best.get(entry.model.canonical_slug) !== entry)
      .flatMap(({ scores: [first] }) => first?.model.displayName ?? [])
      .sort(),
  }
}

/** The entry whose name is closest, or else the one with the highest score. */
function chooseBest(entries: readonly MatchedEntry[]): Map<string, MatchedEntry> {
  const sorted = entries.toSorted((a, b) => a.level - b.level || firstScore(b) - firstScore(a))
  const best = new Map<string, MatchedEntry>()
  for (const entry of sorted) {
    const slug = entry.model.canonical_slug
    if (!best.has(slug)) best.set(slug, entry)
  }
  return best
}

function firstScore({ scores: [first] }: MatchedEntry): number {
  return first?.score ?? 0
}

function toResults({ model, scores }: MatchedEntry, options: ImportOptions): BenchmarkResult[] {
  return scores.map(({ model: published, measuredAt, ...score }) => ({
    deviation: null,
    costNanos: null,
    latencyMs: null,
    tasks: null,
    ...score,
    model: model.canonical_slug,
    endpoint: '',
    runId: '',
    displayName: published.displayName,
    measuredAt: measuredAt ?? options.date,
    sourceUrl: options.sourceUrl,
    importedAt: options.importedAt,
  }))
}
