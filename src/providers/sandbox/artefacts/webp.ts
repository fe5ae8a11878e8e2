import { runInSlices } from '../../../lib/time-slicer.ts'
import type { Scene } from './scene.ts'

/**
 * Lossless WebP (VP8L) of a picture with a palette. Instead of codes fitted to the picture it has one fixed code, and
 * refers back only to the pixel to the left and to the row above: enough for flat areas and large letters.
 */
const signature = 0x2f
const colourIndexing = 3
const literals = 256
const lengthSymbols = 24
/** Distances to the row above and to the pixel to the left are the first two symbols of their code. */
const distanceSymbols = { above: 0, left: 1 }
const minCopy = 3
const pixelsPerStep = 16_384

/** Indexed colours, with the background transparent on request. */
export async function encodeWebp(scene: Scene, isTransparent: boolean): Promise<Uint8Array> {
  const data = await runInSlices(encodeImage(scene, isTransparent))
  const padding = Buffer.alloc(data.length % 2)
  const chunkHead = Buffer.from('VP8L\0\0\0\0')
  chunkHead.writeUInt32LE(data.length, 4)
  const fileHead = Buffer.from('RIFF\0\0\0\0WEBP')
  fileHead.writeUInt32LE(4 + chunkHead.length + data.length + padding.length, 4)
  return Buffer.concat([fileHead, chunkHead, data, padding])
}

function* encodeImage(scene: Scene, isTransparent: boolean): Generator<undefined, Buffer> {
  const { width, height } = scene
  const bits = new LowBitWriter()
  bits.write(signature, 8)
  bits.write(width - 1, 14)
  bits.write(height - 1, 14)
  bits.write(isTransparent ? 1 : 0, 1)
  bits.write(0, 3)
  bits.write(1, 1)
  bits.write(colourIndexing, 2)
  writePalette(bits, scene, isTransparent)
  // No further transform, no cache of colours, one set of codes for the whole picture.
  bits.write(0, 3)
  writeFixedCode(bits, literals + lengthSymbols)
  for (let channel = 0; channel < 3; channel++) writeSingleCode(bits)
  writeDistanceCode(bits)
  let above = new Uint8Array(width)
  let row = new Uint8Array(width)
  for (let y = 0; y < height; y++) {
    scene.paintRow(y, row)
    writeRow(bits, row, y > 0 ? above : null)
    ;[above, row] = [row, above]
    if (((y + 1) * width) % pixelsPerStep < width) yield
  }
  return bits.finish()
}

/** A picture of one row, each colour as its difference from the one before. */
function writePalette(bits: LowBitWriter, { palette, firstInk }: Scene, isTransparent: boolean): void {
  bits.write(palette.length - 1, 8)
  bits.write(0, 1)
  writeFixedCode(bits, literals + lengthSymbols)
  for (let channel = 0; channel < 3; channel++) writeFixedCode(bits, literals)
  writeSingleCode(bits)
  let previous = [0, 0, 0, 0]
  for (const [index, [red, green, blue]] of palette.entries()) {
    const isHidden = isTransparent && index < firstInk
    const channels = isHidden ? [0, 0, 0, 0] : [green, red, blue, 255]
    const differences = channels.map((value, channel) => (value - (previous[channel] ?? 0)) & 255)
    const [greenDifference = 0, ...others] = differences
    writeSymbol(bits, greenDifference, literals + lengthSymbols)
    for (const difference of others) writeSymbol(bits, difference, literals)
    previous = channels
  }
}

/** Copies where possible, one pixel where not. */
function writeRow(bits: LowBitWriter, row: Uint8Array, above: Uint8Array | null): void {
  let at = 0
  while (at < row.length) {
    const fromAbove = above ? countEqual(row, at, above, at) : 0
    const fromLeft = at > 0 ? countEqual(row, at, row, at - 1) : 0
    const length = Math.max(fromAbove, fromLeft)
    if (length < minCopy) {
      writeSymbol(bits, row[at++] ?? 0, literals + lengthSymbols)
      continue
    }
    writeLength(bits, length)
    bits.write(fromAbove >= fromLeft ? distanceSymbols.above : distanceSymbols.left, 1)
    at += length
  }
}

function countEqual(row: Uint8Array, at: number, other: Uint8Array, otherAt: number): number {
  let length = 0
  while (at + length < row.length && row[at + length] === other[otherAt + length]) length++
  return length
}

/** A length as a symbol for its highest two bits, and the others as they are. */
function writeLength(bits: LowBitWriter, length: number): void {
  const value = length - 1
  const highest = 31 - Math.clz32(value)
  const extraBits = Math.max(0, highest - 1)
  const symbol = value < 4 ? value : 2 * highest + ((value >> extraBits) & 1)
  writeSymbol(bits, literals + symbol, literals + lengthSymbols)
  bits.write(value & ((1 << extraBits) - 1), extraBits)
}

/** The symbols with eight bits come first; those with nine fill the code up. */
function countShortSymbols(symbols: number): number {
  return 2 * literals - symbols
}

/** A code of which the symbols have eight or nine bits. Codes are sent from their highest bit. */
function writeSymbol(bits: LowBitWriter, symbol: number, symbols: number): void {
  const short = countShortSymbols(symbols)
  const isShort = symbol < short
  const length = isShort ? 8 : 9
  const code = isShort ? symbol : short * 2 + (symbol - short)
  for (let bit = length - 1; bit >= 0; bit--) bits.write((code >> bit) & 1, 1)
}

/** The lengths of the code, which themselves are coded: one bit for eight or nine. */
function writeFixedCode(bits: LowBitWriter, symbols: number): void {
  bits.write(0, 1)
  // Lengths eight and nine are the 12th and 13th of the list of lengths.
  bits.write(13 - 4, 4)
  for (let index = 0; index < 13; index++) bits.write(index >= 11 ? 1 : 0, 3)
  bits.write(0, 1)
  const short = countShortSymbols(symbols)
  for (let symbol = 0; symbol < symbols; symbol++) bits.write(symbol < short ? 0 : 1, 1)
}

/** A code of the symbol 0 alone, which takes no bits. */
function writeSingleCode(bits: LowBitWriter): void {
  bits.write(0b0001, 4)
}

/** A code of the symbols 0 and 1, a bit each. */
function writeDistanceCode(bits: LowBitWriter): void {
  bits.write(0b0011, 4)
  bits.write(1, 8)
}

/** Writes bits from the lowest to the highest of each byte. */
class LowBitWriter {
  #bytes: number[] = []
  #pieces: Buffer[] = []
  #pending = 0
  #pendingBits = 0

  /** At most 24 bits. */
  write(value: number, count: number): void {
    this.#pending |= value << this.#pendingBits
    this.#pendingBits += count
    while (this.#pendingBits >= 8) {
      this.#bytes.push(this.#pending & 255)
      this.#pending >>>= 8
      this.#pendingBits -= 8
    }
    if (this.#bytes.length >= 65_536) this.#flush()
  }

  finish(): Buffer {
    if (this.#pendingBits > 0) this.write(0, 8 - this.#pendingBits)
    this.#flush()
    return Buffer.concat(this.#pieces)
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#bytes))
    this.#bytes = []
  }
}
