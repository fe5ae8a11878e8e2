import { formatMoney } from './money.ts'

/** A price per token, as the API has it, in dollars per million tokens; null if it is not known. */
export function perMillion(price: string | undefined): number | null {
  const dollars = Number(price)
  return price === undefined || !Number.isFinite(dollars) || dollars < 0
    ? null
    : Math.round(dollars * 1e15) / 1e9
}

/** `$2.50`, `free`, or `–` if it is not known. */
export function formatPerMillion(price: string | undefined): string {
  const dollars = perMillion(price)
  if (dollars === null) return '–'
  return dollars === 0 ? 'free' : formatMoney(dollars)
}

/** `2.5` dollars per million tokens as the API has it per token, exactly; null if it is not an amount. */
export function toPricePerToken(perMillionText: string): string | null {
  const match = /^(\d{1,9})(?:[.](\d{1,20}))?$/.exec(perMillionText.trim())
  if (!match) return null
  const [, whole = '', fraction = ''] = match
  const digits = whole.padStart(7, '0')
  const price = `${digits.slice(0, -6)}.${digits.slice(-6)}${fraction}`
  return price.replace(/^0+(?=\d)/, '').replace(/[.]?0+$/, '') || '0'
}

/** The reverse of `toPricePerToken`. */
export function toPricePerMillion(price: string | undefined): string {
  const match = /^(\d+)(?:[.](\d+))?$/.exec(price ?? '')
  if (!match) return ''
  const [, whole = '', fraction = ''] = match
  const shifted = fraction.padEnd(6, '0')
  const digits = `${whole}${shifted.slice(0, 6)}`.replace(/^0+(?=\d)/, '')
  return `${digits}.${shifted.slice(6)}`.replace(/[.]?0*$/, '')
}
