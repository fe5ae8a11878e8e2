import { handleRequests } from '../lib/worker-thread.ts'
import { type FilterResult, type FilterRules, FilterSet } from './filter-set.ts'
import { FilterSetCache } from './filter-set-cache.ts'
import { scanText } from './scan-text.ts'
import type { ScannedText } from './scanner.ts'

interface ScanRequest {
  key: string
  /** Absent if this thread should have them. */
  rules?: FilterRules
  texts: ScannedText[]
}

const sets = new FilterSetCache()

/** Null if the rules are not known here. */
function scan({ key, rules, texts }: ScanRequest): FilterResult[] | null {
  const filters = sets.get(key) ?? (rules && sets.add(key, new FilterSet(rules)))
  return filters ? texts.map(({ text, place }) => scanText(filters, text, place)) : null
}

// The first message only starts the thread.
handleRequests((request) => (request === null ? null : scan(request as ScanRequest)))
