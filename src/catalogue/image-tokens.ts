import type { RequestedImages } from '../call/requested-images.ts'

/** What a vendor counts for the images of a request to a model. */
export interface ImageTokens {
  /** Output tokens of one image. A row without a size, a resolution or a quality applies to all of them. */
  output: readonly ImageTokenRow[]
  /** Output tokens of one preview. */
  preview: number
  /** Output tokens besides those of images, such as reasoning. */
  text: number
  /** Prompt tokens of one input image, at most. */
  input: number
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

const gptImage: ImageTokens = {
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

const gemini = { preview: 0, text: 2000, input: 2600 }

/**
 * By the beginning of the vendor's name of the model, the longest first. Models that are not here count as much as
 * any model may.
 */
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
  ['gemini-2.5-flash-image', { ...gemini, output: [{ tokens: 1290 }] }],
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
      name === model || (name.startsWith(model) && /^(?:-preview|-\d{4}|\.5)/.test(name.slice(model.length))),
  )
  return known?.[1] ?? null
}

/** The most that one image counts, with its previews; what the request leaves open counts as much as it can. */
export function countImageTokens({ output, preview }: ImageTokens, images: RequestedImages): number {
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

function isPossible(value: string | undefined, requested: string | undefined): boolean {
  return value === undefined || requested === undefined || value === requested
}
