import { type Detector, findMatches, mergeSpans, outside } from './detector.ts'
import { readDigits } from './digits.ts'
import { findIbans } from './iban.ts'

const digit = '\\p{Nd}'
/** Spaces, line breaks, dots, slashes and dashes of any kind, also with spaces around them. */
const separator = '[\\s.\\/\\p{Pd}\\u2212\\u00b7]{1,3}'
const start = '(?<![\\p{L}\\p{Nd}_.]|\\p{Pd})'
const end = '(?![\\p{L}\\p{Nd}_]|\\p{Pd}|\\.\\p{Nd})'
const pattern = (digits: string, before = start, after = end) =>
  new RegExp(`${before}(?:${digits})${after}`, 'gu')
const repeat = (group: string, min: number, max = min) =>
  `${group}(?:${separator}${group}){${min - 1},${max - 1}}`

const fours = repeat(`${digit}{4}`, 3)
/** Only all of a row of digits can be a card: a part of it passes the checksum too often. */
const rowStart = `(?<!${digit}${separator})${start}`
const rowEnd = `(?!${separator}${digit})${end}`

/** 12 to 19 digits: together, in groups of four, in the groups that some issuers print, or each alone. */
const patterns = [
  pattern(
    `${fours}${separator}${digit}{1,4}|${digit}{4}${separator}${digit}{6}${separator}${digit}{4,5}|${digit}{12,19}`,
  ),
  // Three digits more: of the number, or the code on the back of a card.
  pattern(`${fours}${separator}${digit}{4}${separator}${digit}{1,3}`),
  pattern(`${digit}{8}${separator}${digit}{8}|${digit}{6}${separator}${digit}{7,13}`, rowStart, rowEnd),
  pattern(repeat(digit, 12, 19), rowStart, rowEnd),
  pattern(`${repeat(`${digit}{2}`, 6, 9)}(?:${separator}${digit})?`, rowStart, rowEnd),
]

/** The digits that the cards of an issuer begin with, and how many they have. */
const issuers: [prefix: RegExp, lengths: readonly number[]][] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|64[4-9]|65)/, [16, 17, 18, 19]],
  [/^(?:30[0-5]|3095|36|38|39)/, [14, 15, 16, 17, 18, 19]],
  [/^35(?:2[89]|[3-8]\d)/, [16, 17, 18, 19]],
  [/^(?:2131|1800)/, [15]],
  [/^(?:62|81)/, [16, 17, 18, 19]],
  [/^(?:5018|5019|5020|5038|5893|6304|6390|6759|676[1-3]|67677[04])/, [12, 13, 14, 15, 16, 17, 18, 19]],
  // Mir, Troy, RuPay, Elo and Hipercard, Verve, InterPayment, LankaPay, Uzcard and Humo.
  [/^(?:220[0-5]|9792|60(?:[0-8]|62)|82|508|636|6500|5061|5078|6062|357111|8600|9860)/, [16, 17, 18, 19]],
]

/** Text before a long number that is not a card. */
const otherNumber =
  /(?:(?<![a-z])(?:order|tracking|invoice|serial|imei|isbn|ean|gtin|timestamp|ts|trace|span|request|id|nr|no)|_at|_id|#)["']?\s?[:=#]?\s?["']?$/i
const cardName = /card|credit|debit|visa|master|amex|(?<![a-z])(?:cc|pan|karte|carte|tarjeta|carta)/i
const contextLength = 30

/** Numbers that pass the checksum: in the ranges of the issuers, or called a card. */
export const findCreditCards: Detector = (text) => {
  if (!hasManyDigits.test(text)) return []
  const spans = patterns.flatMap((pattern) =>
    findMatches(text, pattern, '[CREDIT_CARD]', ({ 0: match, index }) => isCard(text, match, index)),
  )
  return spans.length > 0 ? mergeSpans(outside(spans, findIbans(text))) : spans
}

const hasManyDigits = /\p{Nd}(?:[\s./\p{Pd}\u2212\u00b7]{0,3}\p{Nd}){11}/u

function isCard(text: string, match: string, index: number): boolean {
  const digits = readDigits(match)
  if (!passesLuhn(digits) || /^(\d)\1+$/.test(digits)) return false
  const before = text.slice(Math.max(0, index - contextLength), index)
  const isNamed = cardName.test(before)
  const isIssued = issuers.some(([prefix, lengths]) => lengths.includes(digits.length) && prefix.test(digits))
  if (!isIssued) return isNamed && /^[1-9]\d{12,}$/.test(digits) && !otherNumber.test(before)
  // One number in ten passes the checksum by chance.
  return isNamed || /\P{Nd}/u.test(match) || !otherNumber.test(before)
}

/** The checksum of ISO/IEC 7812-1. */
function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 48
    const doubled = index % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
