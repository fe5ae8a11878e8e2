/** The end of a text that was cut. ASCII, because text with other characters is encoded several times slower. */
export const truncationMarker = '... [truncated]'

const markerBytes = Buffer.byteLength(truncationMarker)

/** The bytes of a value in JSON. */
export function measureJson(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

/** Removes NUL and lone surrogates: some receivers reject them, and the whole batch with them. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** The beginning of a text, cleaned, with a marker if it was cut; at most `maxBytes` in JSON. */
export function fitText(text: string, maxBytes: number): string {
  return cutText(cleanText(preCut(text, maxBytes)), maxBytes)
}

/** The value, its texts cleaned and the longest ones cut as far as needed for `maxBytes` in JSON. */
export function fitJson(value: unknown, maxBytes: number): unknown {
  const cleaned = mapTexts(value, (text) => cleanText(preCut(text, maxBytes)))
  if (measureJson(cleaned) <= maxBytes) return cleaned
  for (const maxItems of listLengths) {
    const fitted = fitTexts(cutLists(cleaned, maxItems), maxBytes)
    if (fitted !== undefined) return fitted
  }
  return truncationMarker
}

/** Tried in turn if texts alone cannot be shortened enough. */
const listLengths = [Number.POSITIVE_INFINITY, 1000, 100, 10]

/** Undefined: too many values to shorten each. */
function fitTexts(value: unknown, maxBytes: number): unknown {
  const textSizes: number[] = []
  mapTexts(value, (text) => {
    textSizes.push(measureJson(text))
    return text
  })
  const structureSize = textSizes.reduce((rest, size) => rest - size, measureJson(value))
  const maxTextBytes = shareBudget(textSizes, maxBytes - structureSize)
  if (maxTextBytes < markerBytes + 2) return undefined
  return mapTexts(value, (text) => cutText(text, maxTextBytes))
}

/** The beginning and the end of long lists, with a marker between. */
function cutLists(value: unknown, maxItems: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, cutLists(member, maxItems)]),
    )
  const half = maxItems / 2
  const items =
    value.length > maxItems ? [...value.slice(0, half), truncationMarker, ...value.slice(-half)] : value
  return items.map((item) => cutLists(item, maxItems))
}

/** A character takes a byte or more: what is certainly too much is dropped before it costs time. */
function preCut(text: string, maxBytes: number): string {
  return text.slice(0, maxBytes + 1)
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
  let cut = text
  let length = text.length
  for (let size = measureJson(text); size > maxBytes && length > 0; size = measureJson(cut)) {
    // In proportion, because a character takes one to six bytes; and always less.
    length = Math.max(0, Math.min(length - 1, Math.floor((length * (maxBytes - markerBytes)) / size)))
    if (isHighSurrogate(text, length - 1)) length--
    cut = text.slice(0, length) + truncationMarker
  }
  return cut
}

/** The first half of a character. */
function isHighSurrogate(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xd800
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
