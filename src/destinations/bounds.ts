/** The end of a text that was cut. ASCII, because text with other characters is encoded several times slower. */
export const truncationMarker = '... [truncated]'

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
  return cutText(cleanText(preCut(text, maxBytes)), maxBytes)
}

/** The value, its texts cleaned and the longest ones cut as far as needed for `maxBytes` in JSON. */
export function fitJson(value: unknown, maxBytes: number): unknown {
  const cleaned = mapTexts(value, (text) => cleanText(preCut(text, maxBytes)))
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
