/** Characters that filters may look back at. */
const contextLength = 128
const space = /\s/

/**
 * Finds the start of the context of the text after `end`: at a word, and not within a match. Cut off at another place,
 * the context could itself match.
 */
export function findContext(text: string, end: number, lastMatch: number): number {
  let start = Math.max(0, end - contextLength)
  while (start > 0 && end - start < 2 * contextLength && !space.test(text.charAt(start - 1))) start--
  // A pattern can tell by one character that this is not the beginning of the text.
  return Math.min(Math.max(start, lastMatch), Math.max(0, end - 1))
}
