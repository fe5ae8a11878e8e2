/** Letters that have no decomposition. */
const plainLetters = new Map([
  ['’', "'"],
  ['ł', 'l'],
  ['ø', 'o'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['þ', 'th'],
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['ı', 'i'],
])

/** A name without accents, in lower case: the form of the lists. */
export function foldName(name: string): string {
  const lower = name.toLowerCase()
  if (/^[a-z'-]*$/.test(lower)) return lower
  return lower
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[’łøđðþßæœı]/g, (letter) => plainLetters.get(letter) ?? letter)
}
