import { type Detector, findMatches, mergeSpans, outside } from './detector.ts'
import { findIbans } from './iban.ts'

/** 13 to 19 digits: together, in groups of four, or in the three groups that some issuers print. */
const cardPattern =
  /(?<![\w.-])(?:\d{4}([ \u00a0\u2009\u202f\-\u2011])\d{4}\1\d{4}\1\d{4}|\d{4}[ \u00a0-]\d{6}[ \u00a0-]\d{4,5}|\d{13,19})(?![\w-]|\.\d)/g

/** Four groups and three digits more: of the number, or the code on the back of a card. */
const longPattern = /(?<![\w.-])\d{4}([ \u00a0\u2009\u202f\-\u2011])\d{4}\1\d{4}\1\d{4}\1\d{3}(?![\w-]|\.\d)/g

/** The digits that the cards of an issuer begin with, and how many they have. */
const issuers: [prefix: RegExp, lengths: readonly number[]][] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|64[4-9]|65)/, [16, 19]],
  [/^(?:30[0-5]|3095|36|38|39)/, [14, 16, 19]],
  [/^35(?:2[89]|[3-8]\d)/, [16, 19]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:5018|5019|5020|5038|5893|6304|6759|676[1-3])/, [16, 17, 18, 19]],
]

/** Text before a long number that is not a card. */
const otherNumber =
  /(?:(?<![a-z])(?:order|tracking|invoice|serial|imei|isbn|ean|gtin|timestamp|ts|trace|span|request|id|nr|no)|_at|_id|#)["']?\s?[:=#]?\s?["']?$/i
const cardName = /card|credit|debit|visa|master|amex|(?<![a-z])(?:cc|pan|karte|carte|tarjeta|carta)/i
const contextLength = 30

/** Numbers that pass the checksum, in the ranges of the issuers. */
export const findCreditCards: Detector = (text) => {
  const spans = [cardPattern, longPattern].flatMap((pattern) =>
    findMatches(text, pattern, '[CREDIT_CARD]', ({ 0: match, index }) => isCard(text, match, index)),
  )
  return spans.length > 0 ? mergeSpans(outside(spans, findIbans(text))) : spans
}

function isCard(text: string, match: string, index: number): boolean {
  const digits = match.replace(/\D/g, '')
  if (!isCardNumber(digits)) return false
  // One number in ten passes the checksum by chance.
  const before = text.slice(Math.max(0, index - contextLength), index)
  return match !== digits || cardName.test(before) || !otherNumber.test(before)
}

function isCardNumber(digits: string): boolean {
  const isIssued = issuers.some(([prefix, lengths]) => lengths.includes(digits.length) && prefix.test(digits))
  return isIssued && passesLuhn(digits) && !/^(\d)\1+$/.test(digits)
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
