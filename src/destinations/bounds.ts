/** The end of a text that was cut. */
export const truncationMarker = '… [truncated]'

const markerBytes = Buffer.byteLength(truncationMarker)

/** The bytes of a value in JSON. */
export function measureJson(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

/** Without NUL and lone surrogates: some receivers reject them, and the whole batch with them. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** The beginning of a text, cleaned, with a marker if it was cut; at most `maxBytes` in JSON. */
export function fitText(text: string, maxBytes: number): string {
  return cutText(cleanText(text), maxBytes)
}

/** The value, its texts cleaned and the longest ones cut as far as needed for `maxBytes` in JSON. */
export function fitJson(value: unknown, maxBytes: number): unknown {
  const cleaned = mapTexts(value, cleanText)
  const size = measureJson(cleaned)
  if (size <= maxBytes) return cleaned
  const textSizes: number[] = []
  mapTexts(cleaned, (text) => {
    textSizes.push(measureJson(text))
    return text
  })
  const structureSize = textSizes.reduce((rest, textSize) => rest - textSize, size)
  const maxTextBytes = shareBudget(textSizes, maxBytes - structureSize)
  // Too many values to shorten each.
  if (maxTextBytes < markerBytes + 2) return truncationMarker
  return mapTexts(cleaned, (text) => cutText(text, maxTextBytes))
}

/** The size to cut texts to so that all of them fit. Short ones leave their share to the others. */
function shareBudget(sizes: number[], budget: number): number {
  const ascending = sizes.toSorted((a, b) => a - b)
  let left = budget
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index)
    if (size > share) return Math.floor(share)
    left -= size
  }
  return budget
}

function cutText(text: string, maxBytes: number): string {
  if (measureJson(text) <= maxBytes) return text
  let length = Math.max(0, maxBytes - markerBytes - 2)
  for (;;) {
    const cut = text.slice(0, length).replace(/[\ud800-\udbff]$/, '') + truncationMarker
    const size = measureJson(cut)
    if (size <= maxBytes || length === 0) return cut
    // A character takes up to six bytes: shorten in proportion, and always.
    length = Math.min(length - 1, Math.floor((length * maxBytes) / size))
  }
}

/** Requests are nested 128 levels at most, so the recursion is bounded. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [cleanText(name), mapTexts(member, change)]),
  )
}
