import type { DetectorSlug } from './detectors.ts'

/**
 * How a text passes a detector while it arrives. A detector without one holds back as many characters as its longest
 * match has.
 */
export interface Flow {
  /** Whether a match may be in the text, or not be decided; `from`: before this place is only context. */
  mayMatch(text: string, from: number): boolean
  /** Finds where a match may begin that is not decided yet; the length of the text if there is none. */
  findOpen(text: string): number
}

/** A byte order mark is a space for the engine, and invisible for the filters. */
const space = /[^\S\ufeff]/

/** Tries the pattern only on characters that it may match: long words are read often. */
function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code <= 32 || code >= 128) && space.test(text.charAt(at))
}

/** The start of the word that ends here; the same place after a space. */
export function findWordStart(text: string, end: number, least = 0): number {
  let start = end
  while (start > least && !isSpace(text, start - 1)) start--
  return start
}

const digit = /\p{Nd}/u
const digitOrColons = /\p{Nd}|:[0-9a-f]{0,4}:/iu
/** More characters than any number has between two of its digits, or a detector reads behind it. */
const maxGap = 18
/** Signs and letters before the first digit: `+ (`, the country of an IBAN. */
const maxPrefix = 4

/** Some digits are pairs of surrogates. */
function isDigit(text: string, at: number): boolean {
  return digit.test(String.fromCodePoint(text.codePointAt(at) ?? 0))
}

/** Numbers: digits with little between them. */
const numbers: Flow = {
  mayMatch: (text, from) => digitOrColons.test(text.slice(from)),
  findOpen(text) {
    let [open, first] = [Math.min(findWordStart(text, text.length), text.length - maxPrefix), text.length]
    for (let at = text.length - 1; at >= 0 && first - at <= maxGap; at--) if (isDigit(text, at)) first = at
    if (first < text.length) open = Math.min(open, findWordStart(text, first), first - maxPrefix)
    return Math.max(0, open)
  },
}

/** The longest part before a sign in brackets, and the longest domain behind it. */
const maxLocal = 70
const maxDomain = 400
const bracketSign = /[[({<]\s{0,2}(?:at|@|arroba|chiocciola)\s{0,2}[\])}>]/gi
const openBracket = /[[({<]\s{0,2}[a-z@.]{0,10}\s{0,2}$/i

const emails: Flow = {
  mayMatch: (text, from) =>
    /[@＠]|%40|&#64;|\bdot\b|[[({<]\s{0,2}(?:at|arroba|chiocciola)/i.test(text.slice(from)),
  findOpen(text) {
    let open = findSpelledStart(text)
    const half = openBracket.exec(text)
    if (half) open = Math.min(open, half.index - maxLocal)
    for (const { index, 0: sign } of text.matchAll(bracketSign))
      if (text.length - index - sign.length <= maxDomain) open = Math.min(open, index - maxLocal)
    return Math.max(0, open)
  },
}

/** The start of `jane dot doe at example`, as far as the end of the text may belong to it. */
function findSpelledStart(text: string): number {
  let start = findWordStart(text, text.length)
  for (let word = text.slice(start); start > 0; ) {
    const end = text.slice(0, start).trimEnd().length
    const before = findWordStart(text, end)
    const previous = text.slice(before, end)
    // The beginning of a sign belongs to the word before it.
    if (!/^(?:a|at|d|do|dot)?$/i.test(word) && !/^(?:at|dot)$/i.test(previous)) break
    ;[start, word] = [before, previous]
  }
  return start
}

/** What of a secret has spaces in it, or is decided by what follows. */
const openSecrets = [
  /(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}["']?[\s:;,|/]{1,4}["']?[A-Za-z0-9+/=]*$/,
  /0x[0-9a-f]{64}(?:[^\w-][\s\S]{0,50})?$/i,
  /-----[A-Z0-9 ]{0,60}-{0,5}(?:["'`]\s{0,8})?$/,
]

const secrets: Flow = {
  mayMatch: (text, from) =>
    /\d|[a-z][A-Z]|[_+=~@\\/]|-----|\S{25}|[A-Z]{8}/.test(text.slice(from)) ||
    /pass|pwd|-u\b|--user/i.test(text),
  findOpen(text) {
    const starts = openSecrets.flatMap((pattern) => pattern.exec(text)?.index ?? [])
    return Math.min(findWordStart(text, text.length), ...starts)
  },
}

export const flows: Readonly<Partial<Record<DetectorSlug, Flow>>> = {
  email: emails,
  phone: numbers,
  ssn: numbers,
  'credit-card': numbers,
  'ip-address': numbers,
  secrets,
}
