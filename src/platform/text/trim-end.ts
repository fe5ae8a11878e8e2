/** Removes all of the characters from the end, in linear time, which a pattern such as `/x+$/` does not have. */
export function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}
