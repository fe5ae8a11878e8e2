/** A positive number as the digits it was written with, without an exponent. */
function parseDigits(value: number): { digits: string; scale: number } {
  if (!Number.isFinite(value) || value < 0) throw new Error(`not a price: ${value}`)
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: whole + fraction, scale: fraction.length - Number(exponent) }
}

/** Moves the decimal point to the left in the text, so that no digit is lost or made up. */
export function shiftLeft(value: number, places: number): string {
  const { digits, scale } = parseDigits(value)
  return placePoint(digits, scale + places)
}

/** Decimals far beyond a nano-dollar a day: rounding there never shows in a bill. */
const quotientDecimals = 18

/** For units that do not divide evenly, such as an hour into seconds. */
export function divide(value: number, divisor: number): string {
  const { digits, scale } = parseDigits(value)
  const numerator = BigInt(digits) * 10n ** BigInt(quotientDecimals)
  const denominator = BigInt(divisor) * 10n ** BigInt(Math.max(scale, 0))
  return placePoint(String((numerator + denominator / 2n) / denominator), quotientDecimals)
}

function placePoint(digits: string, scale: number): string {
  const padded = scale > 0 ? digits.padStart(scale + 1, '0') : digits + '0'.repeat(-scale)
  const cut = padded.length - Math.max(scale, 0)
  const whole = padded.slice(0, cut).replace(/^0+(?=\d)/, '')
  const fraction = padded.slice(cut).replace(/0+$/, '')
  return fraction ? `${whole}.${fraction}` : whole
}
