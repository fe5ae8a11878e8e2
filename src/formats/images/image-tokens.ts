import type { RequestedImages } from '../call/requested-images.ts'

/** More than any vendor counts for one image, read or generated. */
export const maxTokensPerImage = 24_000

/** Tokens that a vendor counts for the images of a request to a model. */
export interface ImageTokens {
  /** Output tokens of one image. A row without a size, a resolution or a quality applies to all of them. */
  output: readonly ImageTokenRow[]
  /** Output tokens by size, instead of `output`, where the client chooses any size. */
  byArea?: AreaTokens
  /** Output tokens of one preview. */
  preview: number
  /** Output tokens besides those of images, such as reasoning. */
  text: number
  /** Prompt tokens of one input image, at most. */
  input: number
  /** The most images in one reply of a conversation; null if only its tokens limit them. */
  replyImages: number | null
  /** The most output tokens of one reply of a conversation; null if it is not published. */
  replyTokens: number | null
}

/** An image is divided into columns, as many as its quality says, and rows of the same height. */
interface AreaTokens {
  columns: Record<string, number>
  /** The tokens of a cell grow with the pixels of the image. */
  pixelOffset: number
  pixelsPerToken: number
  /** The largest image, as a square: it has the most cells. */
  maxEdge: number
}

interface ImageTokenRow {
  tokens: number
  size?: string
  resolution?: string
  quality?: string
}

/** The columns are the qualities low, medium and high. */
function listRows(bySize: Record<string, readonly [number, number, number]>): ImageTokenRow[] {
  const qualities = ['low', 'medium', 'high'] as const
  return Object.entries(bySize).flatMap(([size, counts]) =>
    qualities.map((quality, index) => ({ size, quality, tokens: counts[index] ?? 0 })),
  )
}

const imagesOnly = { replyImages: null, replyTokens: null }

const gptImage: ImageTokens = {
  ...imagesOnly,
  output: listRows({
    '1024x1024': [272, 1056, 4160],
    '1024x1536': [408, 1584, 6240],
    '1536x1024': [400, 1568, 6208],
  }),
  preview: 100,
  text: 0,
  // With high fidelity.
  input: 8400,
}

/**
 * Counts of the vendor's cost calculator. Tokens of input images are not published: the most of any model is assumed.
 */
const gptImage2: ImageTokens = {
  ...imagesOnly,
  output: [],
  byArea: {
    columns: { low: 16, medium: 48, high: 96 },
    pixelOffset: 2_000_000,
    pixelsPerToken: 4_000_000,
    maxEdge: 2880,
  },
  preview: 100,
  text: 0,
  input: maxTokensPerImage,
}

/**
 * Assumes the tokens of the largest image of the previous model, whose images cost more: the vendor publishes the price
 * of a token, but not how many an image has.
 */
const gptImage25: ImageTokens = {
  ...imagesOnly,
  output: [{ tokens: maxTokensPerImage }],
  preview: 100,
  text: 0,
  input: maxTokensPerImage,
}

/** Vertex AI documents ten output images per prompt for Gemini 2.5, and the limit of output tokens for later models. */
const gemini = { preview: 0, text: 2000, input: 2600, replyImages: null, replyTokens: 32_768 }

/** Counts by the vendor's name of the model, without a date. Any other model gets the highest possible counts. */
const tokensByModel: readonly (readonly [string, ImageTokens])[] = [
  [
    'gpt-image-1-mini',
    {
      ...gptImage,
      // Only prices in tenths of a cent are published: the most that is rounded to them.
      output: listRows({
        '1024x1024': [688, 1438, 4563],
        '1024x1536': [813, 1938, 6563],
        '1536x1024': [813, 1938, 6563],
      }),
    },
  ],
  ['gpt-image-1', gptImage],
  ['gpt-image-1.5', gptImage],
  ['gpt-image-2', gptImage2],
  ['gpt-image-2.5-flare', gptImage25],
  ['gpt-image-2.5-sunburst', gptImage25],
  ['gemini-2.5-flash-image', { ...gemini, replyImages: 10, output: [{ tokens: 1290 }] }],
  // It makes images of 1K only.
  ['gemini-3.1-flash-lite-image', { ...gemini, replyTokens: 4096, output: [{ tokens: 1120 }] }],
  [
    'gemini-nano-banana-2.1',
    {
      ...gemini,
      // Above 1K only prices of images are published, rounded: the most that they stand for.
      output: [
        { resolution: '1K', tokens: 1120 },
        { resolution: '2K', tokens: 1800 },
        { resolution: '4K', tokens: 3850 },
      ],
    },
  ],
  [
    'gemini-3-pro-image',
    {
      ...gemini,
      output: [
        { resolution: '1K', tokens: 1120 },
        { resolution: '2K', tokens: 1120 },
        { resolution: '4K', tokens: 2000 },
      ],
    },
  ],
  [
    'gemini-3.1-flash-image',
    {
      ...gemini,
      output: [
        { resolution: '512', tokens: 747 },
        { resolution: '1K', tokens: 1120 },
        { resolution: '2K', tokens: 1680 },
        { resolution: '4K', tokens: 2520 },
      ],
    },
  ],
]

/** Null if it is not known. Names may begin with a vendor, and end with a date. */
export function findImageTokens(upstreamModel: string): ImageTokens | null {
  const name = upstreamModel.slice(upstreamModel.lastIndexOf('/') + 1)
  const known = tokensByModel.find(
    ([model]) =>
      name === model || (name.startsWith(model) && /^(?:-preview|-\d{4})/.test(name.slice(model.length))),
  )
  return known?.[1] ?? null
}

/** The most that one image counts, with its previews; what the request leaves open counts as much as it can. */
export function countImageTokens({ output, byArea, preview }: ImageTokens, images: RequestedImages): number {
  if (byArea) return countByArea(byArea, images) + preview * images.previews
  const possible = output.filter(
    (row) =>
      isPossible(row.size, images.size) &&
      isPossible(row.resolution, images.resolution) &&
      isPossible(row.quality, images.quality),
  )
  // A size that the vendor does not list may count as any of them.
  const rows = possible.length > 0 ? possible : output
  return Math.max(...rows.map(({ tokens }) => tokens)) + preview * images.previews
}

function countByArea(
  { columns, pixelOffset, pixelsPerToken, maxEdge }: AreaTokens,
  { size, quality }: RequestedImages,
): number {
  const across = columns[quality ?? ''] ?? Math.max(...Object.values(columns))
  const [width = maxEdge, height = maxEdge] = size?.split('x').map(Number) ?? []
  const long = Math.max(width, height)
  const down = Math.round((across * Math.min(width, height)) / long)
  return Math.ceil((across * down * (pixelOffset + width * height)) / pixelsPerToken)
}

function isPossible(value: string | undefined, requested: string | undefined): boolean {
  return value === undefined || requested === undefined || value === requested
}
