import { readJsonText } from '../call/json-text.ts'
import type { TextPlace } from '../call/texts.ts'
import type { FilterResult, FilterSet } from './filter-set.ts'

/** In a JSON text, filters read the strings without escapes; redactions refer to that form. */
export function scanText(filters: FilterSet, text: string, place: TextPlace): FilterResult {
  return filters.scan(readJsonText(text)?.readable ?? text, place)
}
