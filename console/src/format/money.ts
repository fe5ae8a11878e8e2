/** Dollars to the digits that matter: cents from a dollar on, otherwise three significant digits. */
export function formatMoney(dollars: number): string {
  const size = Math.abs(dollars)
  if (size === 0) return '$0'
  if (size >= 1) return currency(2).format(dollars)
  const leadingZeros = Math.max(0, -Math.floor(Math.log10(size)) - 1)
  return currency(2, Math.min(leadingZeros + 3, 12)).format(dollars)
}

/** Every digit: the gateway counts in billionths of a dollar. */
export function formatExactMoney(dollars: number): string {
  return currency(2, 9).format(dollars)
}

function currency(minimumFractionDigits: number, maximumFractionDigits = minimumFractionDigits) {
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits,
    maximumFractionDigits,
  })
}
