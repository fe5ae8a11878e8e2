import type { ImageCapabilities } from '../../catalog/model.ts'
import type { ImagesCall, PixelSize } from '../call/images.ts'

/** The supported values of each parameter of an endpoint. */
export type SupportedParameters = ImageCapabilities['supported_parameters']

/** The requested size: pixels, or a ratio and a tier, or both. */
export type Geometry = Pick<ImagesCall, 'size' | 'resolution' | 'aspectRatio'>

export interface ParameterProblem {
  field: string
  problem: string
}

/** The side of a square image of each tier. */
const tierSides: Readonly<Record<string, number>> = { '512': 512, '1K': 1024, '2K': 2048, '4K': 4096 }
export const resolutions = ['512', '1K', '2K', '4K'] as const

/** Vendors round the sides of a ratio to multiples of 16 or 32. */
const ratioTolerance = 0.05

export function formatSize({ width, height }: PixelSize): string {
  return `${width}x${height}`
}

export function parseSize(text: string): PixelSize | null {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(text) ?? []
  const size = { width: Number(width), height: Number(height) }
  return size.width > 0 && size.height > 0 ? size : null
}

/** The tier whose square has about as many pixels: an area up to twice its own belongs to it. */
export function tierOf({ width, height }: PixelSize): string {
  return resolutions.find((tier) => width * height <= maxPixelsOf(tier)) ?? '4K'
}

/** More pixels than an image of the tier has. */
export function maxPixelsOf(tier: string): number {
  return 2 * (tierSides[tier] ?? 4096) ** 2
}

export function hasRatio({ width, height }: PixelSize, ratio: string): boolean {
  return Math.abs(width / height / parseRatio(ratio) - 1) <= ratioTolerance
}

function parseRatio(ratio: string): number {
  const [width, height] = ratio.split(':').map(Number)
  return (width ?? 1) / (height ?? 1)
}

/** The pixels of a tier and a ratio, in multiples of 16 as the models require. */
export function computeSize({ resolution = '1K', aspectRatio = '1:1' }: Geometry): PixelSize {
  const area = (tierSides[resolution] ?? 1024) ** 2
  const width = Math.sqrt(area * parseRatio(aspectRatio))
  const round = (side: number) => Math.max(16, Math.round(side / 16) * 16)
  return { width: round(width), height: round(area / width) }
}

/**
 * The requested size in the terms that an endpoint supports: pixels become a ratio and a tier, or the reverse. An
 * endpoint that declares no parameters at all is sent what was requested.
 */
export function fitGeometry(call: Geometry, supported: SupportedParameters): Geometry | ParameterProblem {
  if (Object.keys(supported).length === 0) return pickGeometry(call)
  if (call.size) return fitSize(call.size, supported)
  const { resolution, aspectRatio } = call
  const isDirect =
    (resolution === undefined || supported.resolution) &&
    (aspectRatio === undefined || supported.aspect_ratio)
  if (isDirect) return checkTerms({ resolution, aspectRatio }, supported)
  const size = listSizes(supported).find(
    (candidate) =>
      (resolution === undefined || tierOf(candidate) === resolution) &&
      (aspectRatio === undefined || hasRatio(candidate, aspectRatio)),
  )
  if (size) return { size }
  const field = aspectRatio !== undefined && !supported.aspect_ratio ? 'aspect_ratio' : 'resolution'
  return { field, problem: describeSupport(field, supported, supported.size && 'size') }
}

function fitSize(size: PixelSize, supported: SupportedParameters): Geometry | ParameterProblem {
  const text = formatSize(size)
  const { size: sizes, aspect_ratio: ratios, resolution: tiers } = supported
  if (sizes && (sizes.type !== 'enum' || sizes.values.includes(text))) return { size }
  const aspectRatio =
    ratios?.type === 'enum' ? ratios.values.find((ratio) => hasRatio(size, ratio)) : undefined
  const resolution = tierOf(size)
  const isTier = tiers ? tiers.type === 'enum' && tiers.values.includes(resolution) : resolution === '1K'
  if (!sizes && aspectRatio !== undefined && isTier) return { aspectRatio, ...(tiers && { resolution }) }
  return { field: 'size', problem: describeSupport('size', supported, ratios && 'aspect_ratio') }
}

function checkTerms(
  { resolution, aspectRatio }: { resolution: string | undefined; aspectRatio: string | undefined },
  supported: SupportedParameters,
): Geometry | ParameterProblem {
  const fields = { resolution, aspect_ratio: aspectRatio }
  for (const [field, value] of Object.entries(fields)) {
    const capability = supported[field]
    if (value !== undefined && capability?.type === 'enum' && !capability.values.includes(value))
      return { field, problem: describeSupport(field, supported) }
  }
  return pickGeometry({ ...(resolution && { resolution }), ...(aspectRatio && { aspectRatio }) })
}

function pickGeometry({ size, resolution, aspectRatio }: Geometry): Geometry {
  return { ...(size && { size }), ...(resolution && { resolution }), ...(aspectRatio && { aspectRatio }) }
}

function listSizes({ size }: SupportedParameters): PixelSize[] {
  return size?.type === 'enum' ? size.values.flatMap((value) => parseSize(value) ?? []) : []
}

/** Completes the sentence that begins with the field. `alternative` is a field that the endpoint supports instead. */
export function describeSupport(
  field: string,
  supported: SupportedParameters,
  alternative?: string | undefined,
): string {
  const capability = supported[field]
  if (capability?.type === 'enum') return `must be one of ${capability.values.join(', ')} for this model`
  if (capability?.type === 'range')
    return `must be from ${capability.min} to ${capability.max} for this model`
  const other = alternative === undefined ? undefined : supported[alternative]
  if (other?.type === 'enum')
    return `is not supported by this model; send ${alternative}, one of ${other.values.join(', ')}`
  const names = Object.keys(supported)
  return names.length > 0
    ? `is not supported by this model, which supports ${names.join(', ')}`
    : 'is not supported by this model'
}
