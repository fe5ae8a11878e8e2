import { handleRequests } from '../lib/worker-thread.ts'
import { type FilterResult, FilterSet } from './filter-set.ts'
import { FilterSetCache } from './filter-set-cache.ts'
import { type RedactedText, redactText } from './redact-text.ts'
import type { FilterRules } from './rules.ts'
import { type ScannedText, scanText } from './scan-text.ts'

interface ScanRequest {
  key: string
  /** Absent if this thread should have them. */
  rules?: FilterRules
  /** Of each text. */
  places: Omit<ScannedText, 'text'>[]
  /** The texts are redacted here: the places of their matches can be more than the texts. */
  redacts: boolean
}

const sets = new FilterSetCache()

/** Null if the rules are not known here. */
function scan(
  { key, rules, places, redacts }: ScanRequest,
  texts: readonly string[],
): FilterResult[] | RedactedText[] | null {
  const filters = sets.get(key) ?? (rules && sets.add(key, new FilterSet(rules)))
  if (!filters) return null
  return redacts
    ? places.map(({ place }, index) => redactText(filters, texts[index] ?? '', place))
    : places.map((place, index) => scanText(filters, { ...place, text: texts[index] ?? '' }))
}

// The first message only starts the thread.
handleRequests((request, texts) => (request === null ? null : scan(request as ScanRequest, texts)))
