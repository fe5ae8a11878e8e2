import { type Detector, findMatches, outside, type Span } from './detector.ts'
import { plainDigits } from './digits.ts'
import { findIbans } from './iban.ts'

const label = '[PHONE]'
const space = '[ \\u00a0\\u2009\\u202f]'
const separator = '[ \\u00a0\\u2009\\u202f.\\-\\u2010-\\u2015\\u2212/]'
const notInside = '(?<![\\w.+/#$€£%-]|\\d[ :])'

/** `+49 30 1234567`, `+44 (0)20 7946 0958`: a country code and 6 to 14 more digits. */
const internationalPattern = new RegExp(
  `(?<![\\w+]|\\d[ ])(?:\\+|＋|00(?=[1-9]))${space}?\\(?[1-9]\\d{0,3}\\)?(?:${separator}{0,2}\\(?\\d{1,12}\\)?){1,7}(?![\\w]|[.-]\\d)`,
  'g',
)

/** `914-309-4996`, `(914) 309 4996`, `1.914.309.4996`, `9143094996` and an extension. */
const northAmericanPattern = new RegExp(
  `(?<![\\w.+/#$€£%-])(?:1${separator}?)?(?:\\([2-9]\\d{2}\\)${separator}?|[2-9]\\d{2}${separator}?)[2-9]\\d{2}${separator}?\\d{4}(?:,?${space}?(?:x|ext\\.?|extension)${space}?\\d{1,5})?(?![\\w%€$£]|[.:-]\\d|-[\\w])`,
  'gi',
)

/** `06 12 34 56 78`, `030/1234567`, `020 7946 0958`: a trunk prefix and groups. */
const nationalPattern = new RegExp(
  `${notInside}\\(?0[1-9]\\d{0,3}\\)?(?:${separator}{1,3}\\d{2,8}){1,5}(?![\\w]|[.\\-/:]\\d|[ ]\\d)`,
  'g',
)

/** A word that announces a number, of any form: `phone: 612 34 56 78`, `call me at 11 91234-5678`. */
const announcement =
  /(?<![A-Za-zÀ-ɏ])(?:phones?|telephone|office|desk|direct|home|work|reach|answering|pager|hotline|landline|tel[eé]f|tel|tlf|tél|mobile|mob|cell|fax|call|text|ring|dial|whatsapp|sms|telefon|telefonnummer|handy|handynummer|mobil|rufnummer|durchwahl|téléphone|portable|teléfono|móvil|telefono|cellulare|telefone|telemóvel|celular|telefoon|telefoonnummer|mobiel|gsm|电话|手机|电话号码|手机号|電話|電話番号|携帯)(?:[ _](?:number|no|nr|num|me|us|at|on|is at|is|me at|us at|me on|us on|back at|nummer|numéro|número|numero|ist|est|es|è|é|al|au|le|el|il|是))?["']?[.:：=]{0,2}\s{0,3}["']?(?=[(+＋\d])/gi
const announcedNumber =
  /\(?[+＋]?\(?\d(?:[ \u00a0\u2009\u202f.()\-\u2010-\u2015\u2212/]{0,2}\d){5,14}(?![\d%€$£]|[.,:]\d)/y

/** `655 437 108 office`, `085 175 7641-Fax`: the word after a number, as signatures have it. */
const labeledPattern =
  /(?<![\w.+/#$€£%-]|\d[ :])\(?\d(?:[ \u00a0\u2009\u202f.()\-\u2010-\u2015\u2212/]{0,2}\d){5,14}(?=[ -]{1,2}\(?(?:office|fax|mobile|cell|home|work|desk|direct|tel|phone|büro|mobil|bureau|oficina|móvil|ufficio|escritório)\b)/gi

/** `138 0013 8000`: eleven digits, of which the first three name a network. */
const chinesePattern = /(?<![\w.+-])1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?![\w]|[.-]\d)/g

export const findPhones: Detector = (written) => {
  const text = plainDigits(written)
  if (!/\d/.test(text)) return []
  const spans = [
    ...findMatches(text, internationalPattern, label, ({ 0: match }) => isInternational(match)),
    ...findMatches(text, northAmericanPattern, label, ({ 0: match, index }) =>
      isNorthAmerican(text, match, index),
    ),
    ...findMatches(text, nationalPattern, label, ({ 0: match }) => isNational(match)),
    ...findMatches(
      text,
      chinesePattern,
      label,
      ({ 0: match, index }) => !isNamedOtherwise(text, match, index),
    ),
    ...findMatches(text, labeledPattern, label, ({ 0: match }) => !isDate(match) && !isRepeated(match)),
    ...findAnnounced(text),
  ]
  return spans.length > 0 ? outside(spans, findIbans(text)) : spans
}

function findAnnounced(text: string): Span[] {
  return [...text.matchAll(announcement)].flatMap(({ index, 0: words }) => {
    const start = index + words.length
    announcedNumber.lastIndex = start
    const match = announcedNumber.exec(text)?.[0]
    return match === undefined || isDate(match) ? [] : [{ start, end: start + match.length, label }]
  })
}

function isInternational(match: string): boolean {
  return (
    hasDigits(match, 8, 16) &&
    !isRepeated(match) &&
    !(match.startsWith('00') && /^00[1-9]\d{3,}$/.test(match) && match.length < 11)
  )
}

function isNorthAmerican(text: string, match: string, index: number): boolean {
  if (isRepeated(match) || /^\d{4}-/.test(match)) return false
  if (/[^\d\s]/.test(match)) return true
  return !isAmongNumbers(text, index, index + match.length) && !isNamedOtherwise(text, match, index)
}

/** Digits with only spaces between them may be a part of a longer number. */
function isAmongNumbers(text: string, start: number, end: number): boolean {
  return (
    /\d[ ,:]$/.test(text.slice(Math.max(0, start - 2), start)) ||
    /^(?:,\d| \d{3})/.test(text.slice(end, end + 4))
  )
}

function isNational(match: string): boolean {
  return (
    hasDigits(match, 9, 13) &&
    !isDate(match) &&
    !/^0\d[./]\d{2}[./]|^\d{3}-\d{2}-\d{4}$/.test(match) &&
    !isRepeated(match)
  )
}

/** Digits without separators are an amount, an account or a time unless nothing says so. */
const otherName =
  /(?:order|invoice|ticket|case|ref(?:erence)?|account|acct|customer|kunden?(?:nr)?|bestell(?:ung|nr)?|rechnung|commande|pedido|ordine|nr|no|num|number|id|ids|pid|uid|sku|isbn|issn|ean|serial|time|timestamp|ts|_at|iat|exp|nbf|seed|size|bytes|offset|count|total|amount|port|line|code|hash|sha|version|build|row|订单号|编号|注文番号|#|№|=|0x|["']?:)["')]?[\s.:#=]{0,3}["'(]?$/i
const phoneName =
  /(?:phone|tel|mobile|cell|fax|call|contact|whatsapp|sms|handy|telefon)[\w ]{0,12}["')]?[\s.:#=]{0,3}["'(]?$/i

function isNamedOtherwise(text: string, match: string, index: number): boolean {
  if (/\D/.test(match)) return false
  const before = text.slice(Math.max(0, index - 24), index)
  if (phoneName.test(before)) return false
  return (
    otherName.test(before) || isListed(before, text.slice(index + match.length, index + match.length + 3))
  )
}

/** `{ 3735928559, 2882400001 }`, `> 3735928559`: values of a program. */
function isListed(before: string, after: string): boolean {
  return /\d[,;]\s?$|[{[<>+*/-]\s?$/.test(before) || /^[,;]\s?\d/.test(after)
}

function hasDigits(text: string, min: number, max: number): boolean {
  const count = text.replace(/\D/g, '').length
  return count >= min && count <= max
}

function isRepeated(text: string): boolean {
  return /^(\d)\1+$/.test(text.replace(/\D/g, ''))
}

/** `01.02.2024`, `2024-01-02`. */
function isDate(text: string): boolean {
  return /^\(?(?:\d{1,2}[./-]\d{1,2}[./-](?:19|20)?\d{2}(?!\d|[./-]\d)|(?:19|20)\d{2}[./-]?\d{1,2}[./-]?\d{1,2}(?!\d))/.test(
    text,
  )
}
