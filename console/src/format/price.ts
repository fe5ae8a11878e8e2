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
