/** The number of characters of an IBAN by country, from the registry of ISO 13616. */
const lengths = new Map(
  'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20'
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))] as const),
)

const startPattern = /(?<![A-Za-z0-9])([A-Z]{2})\d{2}[ -]?[A-Z0-9]/g

interface Range {
  start: number
  end: number
}

/** The account numbers in a text whose checksum is right, with or without spaces between their groups. */
export function findIbans(text: string): Range[] {
  const ranges: Range[] = []
  for (const { index, 1: country = '' } of text.matchAll(startPattern)) {
    const length = lengths.get(country)
    const range = length === undefined ? null : readIban(text, index, length)
    if (range) ranges.push(range)
  }
  return ranges
}

function readIban(text: string, start: number, length: number): Range | null {
  let [compact, at] = ['', start]
  for (; compact.length < length; at++) {
    const character = text.charAt(at)
    if (/[A-Z0-9]/.test(character)) compact += character
    else if (!/[ -]/.test(character) || !/[A-Z0-9]/.test(text.charAt(at + 1))) return null
  }
  return /[A-Za-z0-9]/.test(text.charAt(at)) || !hasValidChecksum(compact) ? null : { start, end: at }
}

/** ISO 7064, modulo 97. */
function hasValidChecksum(compact: string): boolean {
  let remainder = 0
  for (const character of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder === 1
}
