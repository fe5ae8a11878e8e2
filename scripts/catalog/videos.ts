import type { ModelDeclaration } from '../../src/catalog/declared-model.ts'
import type { Offer } from './offer.ts'

type Video = NonNullable<ModelDeclaration['video']>

const resolutions = ['360p', '480p', '720p', '768p', '1080p', '1K', '2K', '4K'] as const

/** Every model has one of these: prices that name none of them name only the exceptions. */
const usualResolutions = new Set<string>(['360p', '480p', '720p', '768p'])

/** The resolutions are those with a price of their own; what else a model supports is not in the sources. */
export function buildVideoCapabilities({ videos = {} }: Offer): Video {
  const priced = resolutions.filter((resolution) =>
    Object.keys(videos).some((sku) => sku.endsWith(`_${resolution}`)),
  )
  const isComplete = priced.some((resolution) => usualResolutions.has(resolution))
  return {
    allowed_passthrough_parameters: [],
    ...(isComplete && { supported_resolutions: priced }),
    ...(Object.keys(videos).length > 0 && { pricing_skus: videos }),
  }
}
