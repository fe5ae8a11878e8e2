interface Range {
  start: number
  end: number
}

/** A text with its misspelled words corrected, of the same length. */
export interface Respelled {
  text: string
  /** The words that were corrected, in order. */
  words: Range[]
  /** Ranges of several corrected words close together: one may be a typing error, two are hardly. */
  suspicious: Range[]
}

/** Recognized with their inner letters in another order. */
const scrambledWords = [
  'ignore',
  'bypass',
  'override',
  'reveal',
  'delete',
  'system',
  'prompt',
  'instructions',
]
/** Recognized with digits and signs in the shape of their letters. */
const disguisedWords = [
  ...scrambledWords,
  'previous',
  'prior',
  'disregard',
  'forget',
  'safety',
  'jailbreak',
  'rules',
]

const scrambledPattern = new RegExp(
  `\\b(?:${scrambledWords.map((word) => `${word.at(0)}[a-z]{${word.length - 2}}${word.at(-1)}`).join('|')})\\b`,
  'gi',
)
const sortedWords = new Map(scrambledWords.map((word) => [sortInner(word), word]))

const shapes: Readonly<Record<string, string>> = {
  a: 'a4@',
  b: 'b8',
  e: 'e3',
  g: 'g9',
  i: 'i1!|',
  l: 'l1|',
  o: 'o0',
  s: 's5$',
  t: 't7',
}
const disguisedPattern = new RegExp(
  `(?<![a-z0-9])(?:${disguisedWords.map((word) => `(${disguise(word)})`).join('|')})(?![a-z0-9])`,
  'gi',
)
/** No disguised word is without one. */
const disguiseSign = /[a-z][01345789@$!|]{1,2}[a-z]|[1!|][gn]/i

const maxDistance = 40

export function respell(text: string): Respelled {
  const words: Range[] = []
  const note = (index: number, word: string, correct: string | undefined): string => {
    if (correct === undefined || correct === word.toLowerCase()) return word
    words.push({ start: index, end: index + word.length })
    return correct
  }
  let corrected = text.replace(scrambledPattern, (word, index: number) =>
    note(index, word, sortedWords.get(sortInner(word.toLowerCase()))),
  )
  if (disguiseSign.test(text))
    corrected = corrected.replace(disguisedPattern, (word, ...groups) =>
      note(groups[disguisedWords.length] as number, word, disguisedWords[groups.indexOf(word)]),
    )
  words.sort((a, b) => a.start - b.start)
  return { text: corrected, words, suspicious: findPairs(corrected, words) }
}

/** Two different corrected words close together. */
function findPairs(text: string, words: readonly Range[]): Range[] {
  return words.slice(1).flatMap((word, index) => {
    const before = words[index]
    if (!before || word.start - before.end > maxDistance) return []
    const isSame = text.slice(before.start, before.end) === text.slice(word.start, word.end)
    return isSame ? [] : [{ start: before.start, end: word.end }]
  })
}

function sortInner(word: string): string {
  return `${word.at(0)}${[...word.slice(1, -1)].sort().join('')}${word.at(-1)}`
}

function disguise(word: string): string {
  return [...word].map((letter) => `[${shapes[letter] ?? letter}]`).join('')
}
