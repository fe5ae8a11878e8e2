/** A positive number in decimal notation without an exponent. */
function parseDigits(value: number): { digits: string; scale: number } {
  if (!Number.isFinite(value) || value < 0) throw new Error(`not a price: ${value}`)
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: whole + fraction, scale: fraction.length - Number(exponent) }
}

/** Shifts the decimal point in the text, which is exact. Negative places shift it to the right. */
export function shiftLeft(value: number, places: number): string {
  const { digits, scale } = parseDigits(value)
  return placePoint(digits, scale + places)
}

/** Number of decimals, enough that rounding never changes a charge. */
const quotientDecimals = 18

/** Divides by units that do not divide evenly, such as an hour into seconds. */
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
