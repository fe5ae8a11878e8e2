import { encodePng } from './png.ts'
import { composeScene, type Scene } from './scene.ts'

export type PictureFormat = 'png' | 'jpeg' | 'webp'

export interface PictureOptions {
  text: string
  width: number
  height: number
  /** `auto` is opaque. JPEG cannot be transparent. */
  background: 'auto' | 'transparent' | 'opaque'
  seed: number
  /** PNG unless stated. */
  format?: PictureFormat
  /** The quality of a JPEG, from 0 to 100; the other formats are lossless. */
  quality?: number
}

export const maxPictureSide = 4096
const defaultQuality = 90

/** A picture with the words of the text on a colored or transparent background. */
export async function drawPicture(options: PictureOptions): Promise<Uint8Array> {
  const { text, width, height, background, seed, format = 'png', quality = defaultQuality } = options
  for (const side of [width, height]) {
    if (!Number.isInteger(side) || side < 1 || side > maxPictureSide) {
      throw new RangeError(`width and height must be whole numbers from 1 to ${maxPictureSide}`)
    }
  }
  const isTransparent = background === 'transparent'
  if (format === 'jpeg' && isTransparent) throw new RangeError('a JPEG cannot be transparent')
  const composed = composeScene(text, width, height, seed)
  const scene = isTransparent ? colorWords(composed) : composed
  const png = await encodePng(scene, isTransparent)
  if (format === 'png') return png
  const image = new Bun.Image(png)
  return format === 'jpeg'
    ? image.jpeg({ quality: Math.max(1, quality) }).bytes()
    : image.webp({ lossless: true }).bytes()
}

/** Gives the words the color of the omitted background, to be legible on white and on black. */
function colorWords(scene: Scene): Scene {
  const { palette, firstInk } = scene
  const background = palette[0] ?? [0, 0, 0]
  return { ...scene, palette: palette.map((color, index) => (index < firstInk ? color : background)) }
}
