import { handleRequests } from '../lib/worker-thread.ts'
import { type FilterResult, type FilterRules, FilterSet } from './filter-set.ts'
import { FilterSetCache } from './filter-set-cache.ts'
import { type ScannedText, scanText } from './scan-text.ts'

interface ScanRequest {
  key: string
  /** Absent if this thread should have them. */
  rules?: FilterRules
  /** Of each text. */
  places: Omit<ScannedText, 'text'>[]
}

const sets = new FilterSetCache()

/** Null if the rules are not known here. */
function scan({ key, rules, places }: ScanRequest, texts: readonly string[]): FilterResult[] | null {
  const filters = sets.get(key) ?? (rules && sets.add(key, new FilterSet(rules)))
  return filters
    ? places.map((place, index) => scanText(filters, { ...place, text: texts[index] ?? '' }))
    : null
}

// The first message only starts the thread.
handleRequests((request, texts) => (request === null ? null : scan(request as ScanRequest, texts)))
