import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import { runInSlices } from '../../../lib/time-slicer.ts'
import { composeScene, type Scene } from './scene.ts'

export interface PictureOptions {
  text: string
  width: number
  height: number
  /** `auto` is opaque. */
  background: 'auto' | 'transparent' | 'opaque'
  seed: number
}

export const maxPictureSide = 4096

const signature = Buffer.from('89504e470d0a1a0a', 'hex')
const bitDepth = 8
const paletteColourType = 3
const deflateInThread = promisify(deflate)
/** The rows repeat each other: more effort gains nothing. */
const compressionLevel = 1

/** A PNG with the words of the text on a coloured or transparent background. */
export async function drawPicture(options: PictureOptions): Promise<Uint8Array> {
  const { text, width, height, background, seed } = options
  for (const side of [width, height]) {
    if (!Number.isInteger(side) || side < 1 || side > maxPictureSide) {
      throw new RangeError(`width and height must be whole numbers from 1 to ${maxPictureSide}`)
    }
  }
  const scene = composeScene(text, width, height, seed)
  const isTransparent = background === 'transparent'
  const pixels = await deflateInThread(await runInSlices(paintRows(scene)), { level: compressionLevel })
  return Buffer.concat([
    signature,
    buildChunk('IHDR', buildHeader(scene)),
    buildChunk('PLTE', buildPalette(scene, isTransparent)),
    ...(isTransparent ? [buildChunk('tRNS', Buffer.alloc(scene.firstInk))] : []),
    buildChunk('IDAT', pixels),
    buildChunk('IEND', Buffer.alloc(0)),
  ])
}

/** Each row has a byte for its filter before it: none. */
function* paintRows(scene: Scene): Generator<undefined, Uint8Array> {
  const { width, height } = scene
  const rows = new Uint8Array((width + 1) * height)
  for (let y = 0; y < height; y++) {
    const start = y * (width + 1) + 1
    scene.paintRow(y, rows.subarray(start, start + width))
    yield
  }
  return rows
}

function buildHeader({ width, height }: Scene): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.writeUInt8(bitDepth, 8)
  header.writeUInt8(paletteColourType, 9)
  return header
}

/** Without a background the words have its colour, to be legible on white and on black. */
function buildPalette({ palette, firstInk }: Scene, isTransparent: boolean): Buffer {
  const background = palette[0] ?? [0, 0, 0]
  return Buffer.from(
    palette.flatMap((colour, index) => (isTransparent && index >= firstInk ? background : colour)),
  )
}

function buildChunk(type: string, data: Uint8Array): Buffer {
  const chunk = Buffer.alloc(data.length + 12)
  chunk.writeUInt32BE(data.length, 0)
  chunk.write(type, 4, 'latin1')
  chunk.set(data, 8)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length)
  return chunk
}
