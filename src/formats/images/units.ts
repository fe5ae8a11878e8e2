import type { GeneratedImage, ImagesCall, PixelSize } from '../call/images.ts'
import type { RequestSize } from '../call/size.ts'
import type { Billable, BilledUnits } from '../call/units.ts'
import { formatSize, maxPixelsOf, tierOf } from './geometry.ts'
import { maxTokensPerImage } from './image-tokens.ts'

const tokensPerRequest = 80
/** Pixels of a reference whose size is not known yet, at most. */
const maxReferencePixels = 64_000_000

/** The most that a provider can count for a request. */
export function computeImagesSize(call: ImagesCall, referencePixels: (number | null)[]): RequestSize {
  const pixels = call.size ? call.size.width * call.size.height : maxPixelsOf(call.resolution ?? '4K')
  const variants = call.size && call.quality ? listVariants(call.quality, call.size) : 'any'
  const known = listKnown(call)
  const inputPixels = referencePixels.reduce<number>((sum, count) => sum + (count ?? maxReferencePixels), 0)
  return {
    promptTokens:
      tokensPerRequest + Buffer.byteLength(call.prompt) + maxTokensPerImage * referencePixels.length,
    outputTokens: maxTokensPerImage,
    choices: call.n,
    images: referencePixels.length,
    hasAudio: false,
    hasLongCache: false,
    webSearches: 0,
    generatedImages: {
      requested: {
        size: call.size && formatSize(call.size),
        resolution: call.resolution ?? (call.size && tierOf(call.size)),
        quality: call.quality,
        previews: call.stream ? (call.partialImages ?? 0) : 0,
      },
      inputImages: referencePixels.length,
      maxTokensPerInput: maxTokensPerImage,
    },
    units: [
      ...listInputUnits(call, inputPixels),
      { billable: 'output_image', unit: 'request', quantity: 1, variants, known },
      { billable: 'output_image', unit: 'image', quantity: call.n, variants, known },
      { billable: 'output_image', unit: 'megapixel', quantity: call.n * pixels, variants, known },
    ],
  }
}

/** A resolution does not fix the size, which depends on the ratio. */
function listKnown({ size, resolution, quality }: ImagesCall): string[] {
  const geometry = size ? [formatSize(size), tierOf(size)] : [resolution]
  return [...geometry, quality].filter((name) => name !== undefined)
}

/** Lists the units a reply may be billed for; its images count as they are, not as they were requested. */
export function listReplyUnits(
  call: ImagesCall,
  images: readonly GeneratedImage[],
  quality: string | undefined,
  inputPixels: number,
): BilledUnits[] {
  const outputs = images.map(({ size }) => ({ size, variants: listVariants(quality, size) }))
  const first = outputs[0]?.variants ?? []
  return [
    ...listInputUnits(call, inputPixels),
    { billable: 'output_image', unit: 'request', quantity: 1, variants: first },
    ...outputs.flatMap(({ size, variants }): BilledUnits[] => [
      { billable: 'output_image', unit: 'image', quantity: 1, variants },
      { billable: 'output_image', unit: 'megapixel', quantity: countPixels(size), variants },
    ]),
  ]
}

/** References are also input images: an endpoint has a price for one of the two. */
function listInputUnits({ references, mask }: ImagesCall, pixels: number): BilledUnits[] {
  const text: BilledUnits = { billable: 'input_text', unit: 'request', quantity: 1, variants: [] }
  const inputs: [Billable, number][] = [
    ['input_reference', references.length],
    ['input_image', references.length + (mask ? 1 : 0)],
  ]
  return [
    text,
    ...inputs.flatMap(([billable, count]): BilledUnits[] =>
      count === 0
        ? []
        : [
            { billable, unit: 'request', quantity: 1, variants: [] },
            { billable, unit: 'image', quantity: count, variants: [] },
            { billable, unit: 'megapixel', quantity: pixels, variants: [] },
          ],
    ),
  ]
}

function countPixels(size: PixelSize | null): number {
  return size ? size.width * size.height : 0
}

/** The names of a price, the most specific first: `high 1024x1024`, `high 1K`, `1024x1024`, `1K`, `high`. */
function listVariants(quality: string | undefined, size: PixelSize | null): string[] {
  const sizes = size ? [formatSize(size), tierOf(size)] : []
  return [
    ...(quality ? sizes.map((name) => `${quality} ${name}`) : []),
    ...sizes,
    ...(quality ? [quality] : []),
  ]
}
