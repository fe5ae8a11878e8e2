import { type Detector, findMatches, mergeSpans, type Span } from './detector.ts'

const label = '[PHONE]'

/** `+49 30 1234567`, `0033 1 23 45 67 89`: a country code and 6 to 14 more digits. */
const internationalPattern =
  /(?<![\w+./-])(?:\+|00)[ ]?(?:\(?\d{1,4}\)?)(?:[ .\-/]{0,2}\(?\d{1,5}\)?){1,6}(?![\w]|[.-]\d)/g

/** `914-309-4996`, `(914) 309 4996`, `1.914.309.4996`, `9143094996` and an extension. */
const northAmericanPattern =
  /(?<![\w.+/-]|\d[ ])(?:1[ .-]?)?(?:\([2-9]\d{2}\)[ .-]?|[2-9]\d{2}[ .-]?)[2-9]\d{2}[ .-]?\d{4}(?:[ ]?(?:x|ext\.?)[ ]?\d{1,5})?(?![\w]|[.-]\d|[ ]\d{3,})/gi

/** `06 12 34 56 78`, `030/1234567`, `020 7946 0958`: a trunk prefix and groups. */
const nationalPattern =
  /(?<![\w.+/-]|\d[ ])\(?0\d{1,4}\)?(?:[ .\-/]{1,2}\d{2,8}){1,5}(?![\w]|[.\-/]\d|[ ]\d)/g

/** Any number of 6 to 15 digits right after a word that announces one. */
const announcedPattern =
  /(?<=\b(?:phone|telephone|tel|mobile|cell|fax|call|text|whatsapp|sms|telefon|handy|mobil|rufnummer|téléphone|teléfono|móvil|telefono|cellulare|telefone|celular)(?: (?:number|no|nr|me|us|at|on|is|is at|nummer|numéro|número))?[.:]{0,2}\s{0,3})\(?\+?\d(?:[ .()\-/]{0,2}\d){5,14}(?!\d)/giu

export const findPhones: Detector = (text) =>
  mergeSpans([
    ...findMatches(text, internationalPattern, label, ({ 0: match }) => hasDigits(match, 8, 17)),
    ...findMatches(text, northAmericanPattern, label, ({ 0: match }) => !isRepeated(match)),
    ...findNational(text),
    ...findMatches(text, announcedPattern, label, ({ 0: match }) => !isDate(match)),
  ])

function findNational(text: string): Span[] {
  return findMatches(
    text,
    nationalPattern,
    label,
    ({ 0: match }) => hasDigits(match, 9, 13) && !isDate(match),
  )
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
  return /^\(?(?:\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2})/.test(text)
}
