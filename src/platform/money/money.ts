/** Money is a bigint of nano-dollars: 1 USD = 1,000,000,000. */
const nanosPerUsd = 1_000_000_000n

/** Keeps every sum of balances well within a 64-bit integer. */
export const maxUsd = 1_000_000_000

const decimalPattern = /^(-?)(\d+)(?:\.(\d{1,9}))?$/

/** Exact, or undefined where the amount is not a whole number of nano-dollars. */
export function nanosFromUsd(amount: number | string): bigint | undefined {
  const text = typeof amount === 'number' ? formatDecimal(amount) : amount
  const match = decimalPattern.exec(text)
  if (!match) return undefined
  const [, sign, whole = '0', fraction = ''] = match
  const nanos = BigInt(whole) * nanosPerUsd + BigInt(fraction.padEnd(9, '0'))
  return sign ? -nanos : nanos
}

/** The nearest nano-dollar, of two equally near ones the even one; undefined where the amount is not a number. */
export function roundToNanos(amount: number): bigint | undefined {
  const [, sign, whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(formatDecimal(amount)) ?? []
  if (sign === undefined) return undefined
  const nanos = BigInt(whole) * nanosPerUsd + BigInt(fraction.slice(0, 9).padEnd(9, '0'))
  const rest = fraction.slice(9).replace(/0+$/, '')
  const isUp = rest === '5' ? nanos % 2n === 1n : rest > '5'
  const rounded = isUp ? nanos + 1n : nanos
  return sign ? -rounded : rounded
}

const maxExactNanos = BigInt(Number.MAX_SAFE_INTEGER)

/** The double nearest to the exact amount, so that what was stored reads back as it was sent. */
export function usdFromNanos(nanos: bigint): number {
  // Exact as a double, so that the quotient is the nearest one: true of nearly every amount.
  if (nanos >= -maxExactNanos && nanos <= maxExactNanos) return Number(nanos) / 1e9
  const digits = (nanos < 0n ? -nanos : nanos).toString().padStart(10, '0')
  const value = Number(`${digits.slice(0, -9)}.${digits.slice(-9)}`)
  return nanos < 0n ? -value : value
}

/** Formats without the exponent that very small and very large numbers print with. */
function formatDecimal(value: number): string {
  const text = String(value)
  return /e/.test(text) && Math.abs(value) < 1 ? value.toFixed(20).replace(/\.?0+$/, '') : text
}

/** One nano-dollar. */
export const minUsd = 1e-9
