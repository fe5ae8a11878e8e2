/** Longer ones are cut, which bounds the work for a text without spaces. */
const wordPattern = /[\p{L}\p{N}\p{M}]{1,64}/gu
const charactersPerStep = 4096

/** The words of a text in lower case, in steps of bounded length. A word across two steps becomes two. */
export function* splitWords(text: string): Generator<string[]> {
  for (let at = 0; at < text.length; at += charactersPerStep) {
    const piece = text.slice(at, at + charactersPerStep).normalize('NFKC')
    yield piece.toLowerCase().match(wordPattern) ?? []
  }
}
