/** A text with ordinary letters, and where its characters were before. */
export interface PlainText {
  text: string
  offsetOf: (index: number) => number
}

/** Characters without a shape: they break words apart for a program, not for a reader. */
const invisible = /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/
const unusual =
  /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u0391-\u03c9\u0405-\u0458\uff01-\uff5e]/g

/** Greek and Cyrillic letters with the shape of Latin ones. */
const lookalikes = new Map(
  zip('аеорсухіјѕАВЕКМНОРСТУХІЈЅ', 'aeopcyxijsABEKMHOPCTYXIJS').concat(
    zip('ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονιαρ', 'ABEZHIKMNOPTYXovıap'.replace('ı', 'i')),
  ),
)

/** Fullwidth and lookalike letters replaced by the Latin ones, and invisible characters removed. */
export function plainLetters(text: string): PlainText {
  if (text.search(unusual) === -1) return { text, offsetOf: (index) => index }
  const removed: number[] = []
  const plain = text.replace(unusual, (character, index: number) => {
    if (!invisible.test(character)) return latinOf(character)
    removed.push(index)
    return ''
  })
  return { text: plain, offsetOf: (index) => findOriginal(removed, index) }
}

function latinOf(character: string): string {
  const code = character.charCodeAt(0)
  if (code >= 0xff01) return String.fromCharCode(code - 0xfee0)
  return lookalikes.get(character) ?? character
}

/** The index plus the number of characters removed before it. */
function findOriginal(removed: readonly number[], index: number): number {
  let [low, high] = [0, removed.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((removed[middle] ?? 0) - middle <= index) low = middle + 1
    else high = middle
  }
  return index + low
}

function zip(from: string, to: string): [string, string][] {
  return [...from].map((character, index) => [character, to.charAt(index)])
}
