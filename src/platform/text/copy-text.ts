/** Characters of a text that make a copy of one of its parts worthwhile. */
const minLongLength = 64 * 1024

/**
 * A part of a text that is stored for longer than the text. The runtime's substrings hold the whole text in memory, so
 * a small part of a long text is copied.
 */
export function copyPart(part: string, whole: string): string {
  const isWorthIt = whole.length >= minLongLength && part.length < whole.length / 2
  return isWorthIt ? (JSON.parse(JSON.stringify(part)) as string) : part
}
