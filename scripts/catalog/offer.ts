import type { Pricing } from '../../src/catalog/price.ts'
import type { ServiceTier, WireFormatName } from '../../src/formats/vocabulary.ts'
import type { ImageRow, VideoSkus } from './entry-media.ts'
import type { PromptUnit } from './entry-prices.ts'
import type { ModelIdentity } from './model-identity.ts'
import type { PriceEntry } from './price-list.ts'

/** One model of one provider, as one of the sources or both of them describe it. */
export interface Offer {
  /** The model's id in the catalog. */
  id: string
  /** The slug of our provider. */
  provider: string
  /** The provider's name of the model. */
  upstream: string
  /** Distinguishes endpoints of the same model and provider. */
  variant?: string | undefined
  /** The id with the variant in it, in case that is a model of its own. */
  fullId?: string
  tier?: ServiceTier
  quantization?: ModelIdentity['quantization']
  /** Undefined: no price is known. */
  pricing?: Pricing
  promptUnit: PromptUnit
  images?: ImageRow[]
  videos?: VideoSkus
  context?: number
  maxPrompt?: number
  maxCompletion?: number
  /** Formats that the source says it is limited to. */
  wireFormats?: WireFormatName[]
  /** The provider makes the model: its name becomes an alias. */
  isMaker?: boolean
  /** An aggregator of other providers. */
  isRouter?: boolean
  name?: string
  description?: string
  /** The row of the price list. */
  entry?: PriceEntry
}

/** Key that two offers of the same endpoint have in common. */
export function endpointKey({ id, provider, variant, tier }: Offer): string {
  return [id, provider, variant ?? '', tier ?? ''].join(' ')
}
