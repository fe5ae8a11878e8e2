import type { ModelDeclaration } from '../../src/catalogue/declared-model.ts'
import type { Offer } from './offer.ts'

type Video = NonNullable<ModelDeclaration['video']>

const resolutions = ['360p', '480p', '720p', '768p', '1080p', '1K', '2K', '4K'] as const

/** The resolutions with a price of their own can be chosen; what else a model supports is not in the sources. */
export function buildVideoCapabilities({ videos = {} }: Offer): Video {
  const priced = resolutions.filter((resolution) =>
    Object.keys(videos).some((sku) => sku.endsWith(`_${resolution}`)),
  )
  return {
    allowed_passthrough_parameters: [],
    ...(priced.length > 0 && { supported_resolutions: priced }),
    ...(Object.keys(videos).length > 0 && { pricing_skus: videos }),
  }
}
