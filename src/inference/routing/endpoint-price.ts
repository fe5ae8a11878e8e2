import type { Endpoint } from '../../catalog/model.ts'
import type { EndpointPricing } from '../../catalog/price.ts'
import type { Gateway } from '../../gateway/gateway.ts'

const zeroPrice = { prompt: '0', completion: '0' }

/** The price, or that of the operator's `billing.unknown_price`; null if there is neither. */
export function pricingOf({ settings }: Gateway, { pricing }: Endpoint): EndpointPricing | null {
  const { unknown_price: unknown = null } = settings.billing
  if (pricing || unknown === null || unknown === 'refuse') return pricing
  return unknown === 'zero' ? zeroPrice : unknown
}
