import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import { runInSlices } from '../../../../platform/time/time-slicer.ts'
import type { Scene } from './scene.ts'

const signature = Buffer.from('89504e470d0a1a0a', 'hex')
const bitDepth = 8
const paletteColorType = 3
const deflateInThread = promisify(deflate)
/** The rows repeat each other: more effort gains nothing. */
const compressionLevel = 1

/** Indexed colors, with the background transparent on request. */
export async function encodePng(scene: Scene, isTransparent: boolean): Promise<Uint8Array> {
  const pixels = await deflateInThread(await runInSlices(paintRows(scene)), { level: compressionLevel })
  return Buffer.concat([
    signature,
    buildChunk('IHDR', buildHeader(scene)),
    buildChunk('PLTE', Buffer.from(scene.palette.flat())),
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
  header.writeUInt8(paletteColorType, 9)
  return header
}

function buildChunk(type: string, data: Uint8Array): Buffer {
  const chunk = Buffer.alloc(data.length + 12)
  chunk.writeUInt32BE(data.length, 0)
  chunk.write(type, 4, 'latin1')
  chunk.set(data, 8)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length)
  return chunk
}
