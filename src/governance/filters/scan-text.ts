import { readJsonText } from '../../formats/call/json-text.ts'
import type { TextPlace } from '../../formats/call/texts.ts'
import type { FilterResult, FilterSet } from './filter-set.ts'

export interface ScannedText {
  text: string
  place: TextPlace
  /** Start of a section in a longer text: the text before it is only context. */
  from?: number
}

/** Scans a text. In a whole JSON text, filters read the strings without escapes; redactions refer to that form. */
export function scanText(filters: FilterSet, { text, place, from }: ScannedText): FilterResult {
  const readable = from === undefined ? readJsonText(text)?.readable : text
  return filters.scan(readable ?? text, place, from)
}
