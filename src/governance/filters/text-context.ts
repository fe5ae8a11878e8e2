/** Characters that filters may look back at. */
const contextLength = 128
const space = /\s/

/**
 * Finds the start of the context of the text after `end`: at a word, and not within a match. Cut off at another place,
 * the context could itself match.
 */
export function findContext(
  text: string,
  end: number,
  matches: readonly { start: number; end: number }[],
): number {
  let start = Math.max(0, end - contextLength)
  while (start > 0 && end - start < 2 * contextLength && !space.test(text.charAt(start - 1))) start--
  const cut = matches.find((match) => match.start < start && match.end > start)
  // A pattern can tell by one character that this is not the beginning of the text.
  return Math.min(cut?.end ?? start, Math.max(0, end - 1))
}
