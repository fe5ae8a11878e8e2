import { type Detector, findMatches } from './detector.ts'

/** 13 to 19 digits, with a space or a hyphen between groups. */
const cardPattern = /(?<![\d.,-]|\d[ ])\d(?:[ -]?\d){12,18}(?![\d-]|[ ]?\d|[.,]\d)/g

/** The digits that the cards of an issuer begin with, and how many they have. */
const issuers: [prefix: RegExp, lengths: readonly number[]][] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|64[4-9]|65)/, [16, 19]],
  [/^(?:30[0-5]|3095|36|38|39)/, [14, 16, 19]],
  [/^35(?:2[89]|[3-8]\d)/, [16, 19]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:50|5[6-9]|6[0-9])/, [13, 14, 15, 16, 17, 18, 19]],
]

export const findCreditCards: Detector = (text) =>
  findMatches(text, cardPattern, '[CREDIT_CARD]', ({ 0: match }) => isCardNumber(match.replace(/[ -]/g, '')))

function isCardNumber(digits: string): boolean {
  const isIssued = issuers.some(([prefix, lengths]) => lengths.includes(digits.length) && prefix.test(digits))
  return isIssued && passesLuhn(digits) && !/^(\d)\1+$/.test(digits)
}

/** The checksum of ISO/IEC 7812-1. */
export function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 48
    const doubled = index % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
