import { foldName } from './fold-name.ts'
import lists from './person-names.json' with { type: 'json' }

/** What the lists say about a word with a capital letter. `certain` names are hardly ever other words. */
export interface NameKind {
  first: 'certain' | 'ambiguous' | null
  last: 'certain' | 'ambiguous' | null
}

/** Sorted, and searched by halves: a set of so many words would take 20 MB and 50 ms in every process. */
const sortedNames = lists.names.split(' ')
const ratings: readonly NameKind['first'][] = [null, 'ambiguous', 'certain']
/** The words that were classified last: most words of a text come again. */
const cache = new Map<string, NameKind>()
const maxCache = 4096
/** Endings that hardly any other words have: Magnusson, Karlsdóttir, Dvořáková, Stanković, Azarov, Majewski. */
const surnameEnding =
  /^[a-z']{2,}(?:(?<!le)sson|dottir|ovic|evic|ievich|ovich|escu|enko|opoulos|opoulou|adze|idze|shvili|owski|ewski|insky|inski|yev|wicz|czyk|qvist|quist|strom)$|^[a-z']{4,}(?:[oe]va|[oe]v)$/

/** The kind of a word or of two joined by a hyphen. */
export function classifyName(word: string): NameKind {
  const known = cache.get(word)
  if (known) return known
  const kind = classifyFolded(foldName(word))
  if (cache.size >= maxCache) cache.clear()
  cache.set(word, kind)
  return kind
}

function classifyFolded(folded: string): NameKind {
  const kind = classifyPart(folded)
  if (kind.first || kind.last || !folded.includes('-')) return kind
  const halves = folded.split('-').map(classifyPart)
  const areAll = (part: 'first' | 'last') => halves.every((half) => half[part] === 'certain')
  return { first: areAll('first') ? 'certain' : null, last: areAll('last') ? 'certain' : null }
}

function classifyPart(name: string): NameKind {
  const index = findIndex(name)
  if (sortedNames[index] !== name) return { first: null, last: surnameEnding.test(name) ? 'certain' : null }
  const rate = (list: string) => ratings[Number(list.charAt(index))] ?? null
  const [first, last] = [rate(lists.firstNames), rate(lists.surnames)]
  return { first, last: last ?? (surnameEnding.test(name) ? 'certain' : null) }
}

/** Where the name is, or would be. */
function findIndex(name: string): number {
  let [low, high] = [0, sortedNames.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sortedNames[middle] ?? '') < name) low = middle + 1
    else high = middle
  }
  return low
}
