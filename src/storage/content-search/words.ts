import { asObject } from '../../platform/json/json-values.ts'

/** Words of a content that are found, the newest first. */
export const maxWords = 2000
/** Longer words are found by their beginning. */
const maxWordLength = 48
/** Characters that are split without a pause. */
const chunkLength = 16_384

/** A character of a script without spaces is a word of its own. */
const spaceless =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}'
const wordPattern = new RegExp(`[${spaceless}]|(?:(?![${spaceless}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')
const spacelessPattern = new RegExp(`^[${spaceless}]$`, 'u')

/** Splits a text into words in one form: lower case, and compatible characters as one. */
export function splitWords(text: string): string[] {
  const words = text.normalize('NFKC').toLowerCase().match(wordPattern) ?? []
  return words.map((word) => word.slice(0, maxWordLength))
}

/** Splits a long text at spaces. */
function* splitChunks(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const limit = at + chunkLength
    const space = limit < text.length ? text.lastIndexOf(' ', limit) : -1
    const end = space > at ? space : limit
    yield text.slice(at, end)
    at = end
  }
}

/** What a text is found by: its words, and the pairs of characters in scripts without spaces. */
function* listTerms(words: readonly string[]): Generator<string> {
  for (const [at, word] of words.entries()) {
    yield word
    const next = words[at + 1]
    if (next !== undefined && spacelessPattern.test(word) && spacelessPattern.test(next)) yield word + next
  }
}

/** Fields of messages that say what they are, not what was said. */
const descriptiveFields: ReadonlySet<string> = new Set(['role', 'type', 'id', 'tool_call_id', 'call_id'])

/** The texts of a logged content: the reply, the error, and the messages from the newest to the oldest. */
export function* listContentTexts(content: unknown): Generator<string> {
  const { input, output, error } = asObject(content) ?? {}
  yield* listTexts(output)
  yield* listTexts(asObject(error)?.message)
  const messages = asObject(input)?.messages
  yield* listTexts(Array.isArray(messages) ? messages.toReversed() : input)
}

function* listTexts(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const item of value) yield* listTexts(item)
  else
    for (const [name, item] of Object.entries(asObject(value) ?? {}))
      if (!descriptiveFields.has(name)) yield* listTexts(item)
}

/** The terms of a content, at most `maxWords`. Its steps are short. */
export function* collectTerms(content: unknown): Generator<void, Set<string>> {
  const terms = new Set<string>()
  for (const text of listContentTexts(content))
    for (const chunk of splitChunks(text)) {
      for (const term of listTerms(splitWords(chunk))) {
        if (terms.size === maxWords) return terms
        terms.add(term)
      }
      yield
    }
  return terms
}

/** What is searched for: phrases, all of which a content has. */
export interface TextQuery {
  /** Words that follow each other. */
  phrases: string[][]
}

/** Reads words and "quoted phrases". */
export function parseTextQuery(text: string): TextQuery {
  const phrases: string[][] = []
  for (const [, quoted, word] of text.matchAll(/"([^"]*)"?|([^\s"]+)/g)) {
    const words = splitWords(quoted ?? word ?? '')
    if (words.length > 0) phrases.push(words)
  }
  return { phrases }
}

/** The terms to look up in the index. */
export function listQueryTerms({ phrases }: TextQuery): string[] {
  const terms = phrases.flatMap((words) => {
    const all = [...listTerms(words)]
    const pairs = all.filter((term) => !words.includes(term))
    // A pair says more than its characters.
    return all.filter((term) => !pairs.some((pair) => pair !== term && pair.includes(term)))
  })
  return [...new Set(terms)]
}

/** Whether a content has all phrases. Its steps are short. */
export function* hasPhrases(content: unknown, { phrases }: TextQuery): Generator<void, boolean> {
  const missing = new Set(phrases.map((words) => ` ${words.join(' ')} `))
  const overlap = Math.max(...phrases.map(({ length }) => length)) - 1
  for (const text of listContentTexts(content)) {
    let last: string[] = []
    for (const chunk of splitChunks(text)) {
      const words = [...last, ...splitWords(chunk)]
      const line = ` ${words.join(' ')} `
      for (const phrase of missing) if (line.includes(phrase)) missing.delete(phrase)
      if (missing.size === 0) return true
      last = overlap === 0 ? [] : words.slice(-overlap)
      yield
    }
  }
  return false
}
