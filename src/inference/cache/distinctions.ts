import { negations, numberWords, opposites, sentenceStarters } from './distinctive-words.ts'

/**
 * The words of a text that change what it means although they hardly change its vector: numbers, negations, names,
 * code, quotes, units and words with an opposite, in their order. Texts whose distinctions differ are not about the
 * same thing, however similar they are. Null if they cannot be read: the text has letters that are not Latin ones.
 */
export function readDistinctions(text: string): string[] | null {
  if (otherLetter.test(text)) return null
  const found: string[] = []
  let isInitial = true
  for (const [token] of text.matchAll(tokenPattern)) {
    const distinction = describeToken(token, isInitial)
    if (distinction !== null) found.push(distinction)
    isInitial = sentenceEnd.test(token)
  }
  return found
}

/** Many scripts have no capital letters, and the words below are of languages in Latin letters. */
const otherLetter = /[^\P{L}\p{Script=Latin}]/u

/** A longer quote is read as the words that it consists of: an open one would be searched for its end many times. */
const quotedText = (open: string, excluded: string, close: string) =>
  `${open}[^${excluded}\\n]{1,200}${close}`
const quoted = [
  quotedText('"', '"', '"'),
  quotedText('“', '”', '”'),
  quotedText('„', '“”', '[“”]'),
  quotedText('«', '»', '»'),
  quotedText('`', '`', '`'),
]
const singleQuoted = quotedText("(?<![\\p{L}\\p{N}])'", "'", "'(?![\\p{L}\\p{N}])")
/** A word with what joins its parts: a time, a path, an address, an option, an identifier. */
const word = "[@#$]?[-]{0,2}[\\p{L}\\p{N}_]+(?:(?:[.,:/@#'’+=-]|\\(\\))+[\\p{L}\\p{N}_]+)*"
const symbol = '[€$£¥₹%<>=+*^&|~≤≥≠°]'
const tokenPattern = new RegExp([...quoted, singleQuoted, word, symbol, '[.!?:;\\n]'].join('|'), 'gu')
const sentenceEnd = /^[.!?:;\n]$/

/** The form in which a token is compared; null if it does not distinguish texts. */
function describeToken(token: string, isInitial: boolean): string | null {
  if (/^[.!?:;\n]$/.test(token)) return null
  if (/^["“„«`']/.test(token)) return token.slice(1, -1).trim()
  const lower = token.toLowerCase().replaceAll('’', "'")
  if (lower.endsWith("n't") || negations.has(lower)) return 'not'
  if (numberWords.has(lower) || opposites.has(lower)) return lower
  if (!/^\p{L}[\p{L}'’-]*$/u.test(token)) return token
  return isName(token, isInitial) ? token.replace(/['’]s?$/, '') : null
}

/** A capital letter, except that of the word that begins a sentence, and a capital or hyphenated part inside a word. */
function isName(word: string, isInitial: boolean): boolean {
  if (/\p{Ll}\p{Lu}|\p{Lu}{2}/u.test(word)) return true
  if (!/^\p{Lu}/u.test(word)) return false
  const stem = word.toLowerCase().replace(/['’].*$/, '')
  return stem !== 'i' && !(isInitial && sentenceStarters.has(stem))
}
