import { escapePattern } from '../text/escape-pattern.ts'

/** A key or value of a JSON text, in the order of the text. */
interface Token {
  isKey: boolean
  isText: boolean
  /** A text as it is decoded, anything else as it is written. */
  value: string
}

/**
 * Whether a repaired text has the keys and values of its source: none added, none lost, none changed, and none of them
 * swallowed syntax. It errs on the side of no.
 */
export function isFaithful(source: string, repaired: string): boolean {
  const tokens = listTokens(repaired)
  return (
    joinContent(tokens) === reduceSource(source) &&
    tokens.every((token) => isFaithfulToken(source, token)) &&
    !endsWithinText(source, tokens) &&
    countEmpty(repaired) <= countEmpty(source) &&
    tokens.filter(({ isKey }) => isKey).length === countKeys(JSON.parse(repaired))
  )
}

/** Counts the keys of a parsed value: of two members with the same name, a parser retains one. */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum, item) => sum + countKeys(item), own)
}

const validToken = /"(?:[^"\\]|\\.)*"(\s*:)?|[^\s{}[\],:"]+/g

function listTokens(json: string): Token[] {
  return Array.from(json.matchAll(validToken), ([text, colon]) => {
    const isText = text.startsWith('"')
    const isKey = colon !== undefined
    const literal = isKey ? text.slice(0, -colon.length) : text
    return { isKey, isText, value: isText ? String(JSON.parse(literal)) : literal }
  })
}

/** Syntax and white space, which a repair may add or remove anywhere; dots are those of an omission. */
const syntax = /[\s"'`´“”‘’«»„{}[\],:;\\\p{Cc}\p{Cf}]|\.{3,}|…/gu

function joinContent(tokens: readonly Token[]): string {
  return tokens
    .map(({ value, isText }) => (isText ? value : normalizeNumber(value)))
    .join(' ')
    .replace(syntax, '')
}

/** The same of a text that is not valid: escapes are decoded wherever they are. */
function reduceSource(source: string): string {
  return source
    .replace(/(["'])\s*\+\s*\1/g, '')
    .replace(/\\(?:u([0-9a-fA-F]{4})|[\s\S])/g, (escaped, code?: string) => decodeEscape(escaped, code))
    .replace(/(?<![\w.])[+-]?\.\d+/g, normalizeNumber)
    .replace(syntax, '')
}

function decodeEscape(escaped: string, code: string | undefined): string {
  if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
  return /[bfnrt]/.test(escaped[1] ?? '') ? '' : (escaped[1] ?? '')
}

/** `.5` is `0.5`. */
function normalizeNumber(text: string): string {
  return text.replace(/^([+-]?)\./, '$10.')
}

const quotes = `["'\`´“”‘’«»„]`
const plainWord = /^[\p{L}_$][\p{L}\p{N}_$ .\-/]*$/u
/** Notations that are not numbers, though they may begin with digits. */
const knownNotations = [
  /^\d{4}-\d{2}-\d{2}(?:[T ][\d:.+Z-]+)?$/,
  /^\d+(?:\.\d+){2,}$/,
  /^https?:\/\/[^\s"'<>]+$/,
  /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i,
]
const notNumbers: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity', 'undefined'])

function isFaithfulToken(source: string, token: Token): boolean {
  const { isKey, isText, value } = token
  if (!isText) return true
  if (hasOddQuotes(value) && !isEscapedQuote(source, value)) return false
  if (isKey && !isKeyInSource(source, value)) return false
  if (isQuoted(source, value)) return !isOnlySyntax(value) || isQuotedWhole(source, value)
  return isDelimited(source, value) && isPlainText(value, isKey)
}

/** Typographic quotes belong to them: models close with a plain one. */
function hasOddQuotes(value: string): boolean {
  return (value.match(/["“”„«»]/g)?.length ?? 0) % 2 === 1
}

/** A quote that the model escaped is part of the text: an odd number of others is where a text was cut or joined. */
function isEscapedQuote(source: string, value: string): boolean {
  if (!value.includes('"')) return !/^[“”„«»]|[“”„«»]$/.test(value)
  return source.includes(JSON.stringify(value).slice(1, -1))
}

function isPlainText(value: string, isKey: boolean): boolean {
  if (notNumbers.has(value)) return false
  if (plainWord.test(value) || knownNotations.some((notation) => notation.test(value))) return true
  return isKey && /^\d+$/.test(value)
}

/** A text whose first characters follow a quote. Its end may be elsewhere, if it contains quotes. */
function isQuoted(source: string, value: string): boolean {
  if (value === '') return true
  const [head = ''] = /^[^"'\\\p{Cc}]{0,24}/u.exec(value) ?? []
  return head === '' || new RegExp(quotes + escapePattern(head), 'u').test(source)
}

function isOnlySyntax(value: string): boolean {
  return value !== '' && value.replace(/[\s,:{}[\]]/g, '') === ''
}

/** Whether the quotes enclose this text, and not the end of one text and the beginning of the next. */
function isQuotedWhole(source: string, value: string): boolean {
  return new RegExp(`(?:^|[\\s,:{[])${quotes}${escapePattern(value)}${quotes}\\s*(?:[,:}\\]]|$)`, 'u').test(
    source,
  )
}

function isDelimited(source: string, value: string): boolean {
  return new RegExp(`(?:^|[\\s,:;{[])${escapePattern(value)}["']?\\s*(?:[,:;}\\]\\n]|$)`, 'u').test(source)
}

/** Whether a colon follows the key, or quotes surround it if the colon is missing. */
function isKeyInSource(source: string, key: string): boolean {
  const written = escapePattern(key).replace(/\p{Cc}/gu, '[\\s\\S]{1,6}')
  if (new RegExp(`${written}\\\\*${quotes}?\\s*(?::|=>|=)`, 'u').test(source)) return true
  return !key.endsWith(':') && new RegExp(`[{,\\s]${quotes}${written}${quotes}`, 'u').test(source)
}

/** The source ends before the last text does: what is missing is not known. */
function endsWithinText(source: string, tokens: readonly Token[]): boolean {
  const last = tokens.findLast(({ isText }) => isText)
  if (!last) return false
  const trimmed = source.trimEnd()
  if (last.value === '') return /(?:^|[^"])"$/.test(trimmed)
  const written = [last.value, JSON.stringify(last.value).slice(1, -1)].map((text) => text.trimEnd())
  return written.some((text) => trimmed.endsWith(text))
}

function countEmpty(text: string): number {
  return text.match(/\{\s*\}|\[\s*\]/g)?.length ?? 0
}
