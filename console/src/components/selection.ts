interface Toggle {
  key: string
  /** The other end of a range; null for one row. */
  from: string | null
}

/** The selection after a click on a row: rows of a range become what the row becomes. */
export function selectRange(
  keys: readonly string[],
  selected: ReadonlySet<string>,
  { key, from }: Toggle,
): Set<string> {
  const isChosen = !selected.has(key)
  const end = keys.indexOf(key)
  const begin = from === null || !keys.includes(from) ? end : keys.indexOf(from)
  const range = keys.slice(Math.min(begin, end), Math.max(begin, end) + 1)
  const next = new Set(selected)
  for (const each of range) {
    if (isChosen) next.add(each)
    else next.delete(each)
  }
  return next
}

export function toggleAll(keys: readonly string[], selected: ReadonlySet<string>): Set<string> {
  return new Set(keys.every((key) => selected.has(key)) ? [] : keys)
}
