import type { PlacedText } from '../../formats/call/texts.ts'
import { handleRequests, type ReceiveText } from '../../platform/concurrency/worker-thread.ts'
import { type FilterHit, type FilterResult, FilterSet } from './filter-set.ts'
import { FilterSetCache } from './filter-set-cache.ts'
import { findEdits, RedactedSections } from './redact-text.ts'
import type { FilterRules } from './rules.ts'
import { type ScannedText, scanText } from './scan-text.ts'

/** Kind of result that the main thread gets for each text. */
export type ScanMode =
  /** The places of all matches, with the reply. */
  | 'places'
  /** The redacted text, if it has a match. */
  | 'texts'
  /** Replacements in the text, section by section. */
  | 'edits'

export interface ScanRequest {
  key: string
  /** Absent if this thread should have them. */
  rules?: FilterRules
  /** Place of each text. */
  places: Omit<ScannedText, 'text'>[]
  mode: ScanMode
}

const sets = new FilterSetCache()

/** Matches after which garbage is collected: this thread would otherwise let it grow to a hundred megabytes. */
const maxGarbageMatches = 10_000
let garbageMatches = 0

function collectGarbage(matches: number, max = maxGarbageMatches): void {
  garbageMatches += matches
  if (garbageMatches < max) return
  garbageMatches = 0
  Bun.gc(true)
}

/** Null if the rules are not known here. */
function scan(
  { key, rules, places, mode }: ScanRequest,
  texts: readonly string[],
  send: ReceiveText,
): FilterResult[] | FilterHit[][] | null {
  const filters = sets.get(key) ?? (rules && sets.add(key, new FilterSet(rules)))
  if (!filters) return null
  const scanOne = mode === 'texts' ? redact : sendEdits
  return mode === 'places'
    ? places.map((place, index) => scanText(filters, { ...place, text: texts[index] ?? '' }))
    : places.map(({ place }, index) => {
        const sendOf = (text: string) => send(index, text)
        return scanOne(filters, { text: texts[index] ?? '', place }, sendOf)
      })
}

type ScanOne = (filters: FilterSet, text: PlacedText, send: (text: string) => void) => FilterHit[]

const redact: ScanOne = (filters, { text, place }, send) => {
  const redacted = new RedactedSections(text)
  const hits = findEdits(filters, text, place, (edits) => {
    redacted.add(edits)
    collectGarbage(edits.length)
  })
  const result = redacted.take()
  if (result !== null) send(result)
  // The sections of a long text are garbage now, as long as the text itself.
  if (text.length > longTextLength) collectGarbage(1, 1)
  return hits
}

const longTextLength = 4 * 1024 * 1024

const sendEdits: ScanOne = (filters, { text, place }, send) =>
  findEdits(filters, text, place, (edits) => {
    send(JSON.stringify(edits))
    collectGarbage(edits.length)
  })

// The first message only starts the thread.
handleRequests((request, texts, send) =>
  request === null ? null : scan(request as ScanRequest, texts, send),
)
