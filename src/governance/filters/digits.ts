/** The first of the mathematical digits, which are several times ten. Those of other scripts are ten each. */
const mathematicalDigits = 0x1d7ce

/** The digits as ASCII has them. */
export function readDigits(match: string): string {
  let digits = ''
  for (const [character] of match.matchAll(/\p{Nd}/gu)) digits += readDigit(character)
  return digits
}

function readDigit(character: string): number {
  const code = character.codePointAt(0) ?? 0
  if (code < 128) return code - 48
  if (code >= mathematicalDigits) return (code - mathematicalDigits) % 10
  let zero = code
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return code - zero
}

const foreignDigit = /[^\P{Nd}0-9]/gu

/** The text with ASCII digits in place of others; its length remains. */
export function plainDigits(text: string): string {
  return text.replace(foreignDigit, (character) =>
    character.length === 1 ? String(readDigit(character)) : character,
  )
}
