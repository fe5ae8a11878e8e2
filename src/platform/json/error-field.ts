/** A non-null `error` field. */
const errorField = /"error"\s*(?::\s*[{["]|[,}])/

/** Whether JSON text may have an error. Called for most events of streams: a search is cheaper than the pattern. */
export function hasErrorField(text: string): boolean {
  return text.includes('"error"') && errorField.test(text)
}
