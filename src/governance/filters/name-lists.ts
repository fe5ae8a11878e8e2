import { ambiguousNames, firstNames, surnames } from './first-names.ts'
import { foldName } from './fold-name.ts'
import lists from './person-names.json' with { type: 'json' }

/** What the lists say about a word with a capital letter. `certain` names are hardly ever other words. */
export interface NameKind {
  first: 'certain' | 'ambiguous' | null
  last: 'certain' | 'ambiguous' | null
}

const certainFirsts = createSet(lists.firstNames, firstNames)
const ambiguousFirsts = createSet(lists.ambiguousFirstNames, ambiguousNames)
const certainLasts = createSet(lists.surnames)
const ambiguousLasts = createSet(lists.ambiguousSurnames, surnames)
/** Endings that hardly any other words have: Magnusson, Karlsdóttir, Dvořáková, Stanković, Azarov, Majewski. */
const surnameEnding =
  /^[a-z']{2,}(?:(?<!le)sson|dottir|ovic|evic|ievich|ovich|escu|enko|opoulos|opoulou|adze|idze|shvili|owski|ewski|insky|inski|yev|wicz|czyk|qvist|quist|strom)$|^[a-z']{4,}(?:[oe]va|[oe]v)$/

/** The kind of a word or of two joined by a hyphen. */
export function classifyName(word: string): NameKind {
  const folded = foldName(word)
  const kind = classifyFolded(folded)
  if (kind.first || kind.last || !folded.includes('-')) return kind
  const halves = folded.split('-').map(classifyFolded)
  const areAll = (part: 'first' | 'last') => halves.every((half) => half[part] === 'certain')
  return { first: areAll('first') ? 'certain' : null, last: areAll('last') ? 'certain' : null }
}

function classifyFolded(name: string): NameKind {
  const first = certainFirsts.has(name) ? 'certain' : ambiguousFirsts.has(name) ? 'ambiguous' : null
  if (certainLasts.has(name)) return { first, last: 'certain' }
  if (ambiguousLasts.has(name)) return { first, last: 'ambiguous' }
  return { first, last: surnameEnding.test(name) ? 'certain' : null }
}

function createSet(names: string, others: Iterable<string> = []): ReadonlySet<string> {
  return new Set([...names.split(' '), ...[...others].map(foldName)])
}
