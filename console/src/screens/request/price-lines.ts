import type { Schemas } from '../../api/client.ts'

type Line = NonNullable<Schemas['RequestExplanation']['price']>['lines'][number]

const labels: Record<string, string> = {
  input: 'Prompt',
  output: 'Reply',
  reasoning: 'Reasoning',
  cache_read: 'Read from the prompt cache',
  cache_write: 'Written to the prompt cache',
  cache_write_1h: 'Written to the prompt cache for an hour',
  input_audio: 'Audio in the prompt',
  input_image: 'Images in the prompt',
  output_audio: 'Audio in the reply',
  output_image: 'Images in the reply',
  web_search: 'Web searches',
  request: 'Per request',
  discount: 'Discount',
  paid_to_provider: 'Paid to the provider with your BYOK key',
  byok_fee: 'Fee for using a BYOK key',
  capped: 'Above the hold, not charged',
  not_itemized: 'Prices of the time are not known',
  rounding: 'Rounding',
}

export interface PriceLine {
  label: string
  /** `8 tokens × $1 per million` */
  terms: string
  amount: string
}

export function describeLine({ kind, name, quantity, unit, rate, amount }: Line): PriceLine {
  const label = labels[kind] ?? kind.replaceAll('_', ' ')
  const count = `${quantity.toLocaleString('en-US')} ${unit}${quantity === 1 ? '' : 's'}`
  return {
    label: name === null ? label : `${label}: ${name}`,
    terms: rate === null ? '' : `${count} × ${formatRate(rate, unit)}`,
    amount: formatAmount(amount),
  }
}

/** Tokens are priced by the million. The point is moved in the text, so no digit is lost. */
function formatRate(rate: string, unit: string): string {
  return unit === 'token' ? `$${movePoint(rate, 6)} per million` : `$${rate}`
}

export function movePoint(decimal: string, places: number): string {
  const [whole = '0', fraction = ''] = decimal.split('.')
  const digits = fraction.padEnd(places, '0')
  const moved = `${whole}${digits.slice(0, places)}`.replace(/^(-?)0+(?=\d)/, '$1')
  const rest = digits.slice(places).replace(/0+$/, '')
  return rest === '' ? moved : `${moved}.${rest}`
}

function formatAmount(amount: string): string {
  return amount.startsWith('-') ? `−$${amount.slice(1)}` : `$${amount}`
}
