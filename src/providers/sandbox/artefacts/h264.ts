import { BitWriter } from './bit-writer.ts'

/** One of the three components of a picture. */
export interface Plane {
  data: Uint8Array
  /** Bytes from one row to the next. */
  stride: number
  /** The side of its part of a macroblock: 16 for luma, 8 for chroma. */
  blockSize: number
}

/** A picture of whole macroblocks: luma, then the two chroma components at half the resolution. */
export interface VideoPicture {
  columns: number
  rows: number
  planes: Plane[]
}

export interface VideoFormat {
  width: number
  height: number
  framesPerSecond: number
}

interface Level {
  idc: number
  maxMacroblocks: number
  maxMacroblocksPerSecond: number
}

export const macroblockSize = 16
const frameNumberBits = 8
const baselineProfile = 66
/** Constrained baseline. */
const constraintFlags = 0xc0
const levels: Level[] = [
  { idc: 20, maxMacroblocks: 396, maxMacroblocksPerSecond: 11_880 },
  { idc: 30, maxMacroblocks: 1620, maxMacroblocksPerSecond: 40_500 },
  { idc: 31, maxMacroblocks: 3600, maxMacroblocksPerSecond: 108_000 },
  { idc: 40, maxMacroblocks: 8192, maxMacroblocksPerSecond: 245_760 },
  { idc: 50, maxMacroblocks: 22_080, maxMacroblocksPerSecond: 589_824 },
  { idc: 51, maxMacroblocks: 36_864, maxMacroblocksPerSecond: 983_040 },
]

/** The types of NAL units, with the bits that mark them as references. */
const nalTypes = { slice: 0x41, keySlice: 0x65, sequence: 0x67, picture: 0x68 }
const sliceTypes = { predicted: 5, intra: 7 }
/** Numbers of macroblock types in an intra slice; in a predicted slice five others come first. */
const predictedTypes = 5
const macroblockTypes = { vertical: 1, horizontal: 2, samples: 25 }
const chromaModes = { horizontal: 1, vertical: 2 }

type Prediction = 'vertical' | 'horizontal'

/** Null when no level allows so large a picture. */
export function chooseLevel({ width, height, framesPerSecond }: VideoFormat): number | null {
  const columns = Math.ceil(width / macroblockSize)
  const rows = Math.ceil(height / macroblockSize)
  const count = columns * rows
  const level = levels.find(
    ({ maxMacroblocks, maxMacroblocksPerSecond }) =>
      count <= maxMacroblocks &&
      count * framesPerSecond <= maxMacroblocksPerSecond &&
      Math.max(columns, rows) ** 2 <= 8 * maxMacroblocks,
  )
  return level?.idc ?? null
}

/** The sequence parameter set. */
export function encodeSequence(format: VideoFormat, level: number): Buffer {
  const { width, height, framesPerSecond } = format
  const columns = Math.ceil(width / macroblockSize)
  const rows = Math.ceil(height / macroblockSize)
  const bits = new BitWriter()
  bits.writeBits(baselineProfile, 8)
  bits.writeBits(constraintFlags, 8)
  bits.writeBits(level, 8)
  writeNumber(bits, 0)
  writeNumber(bits, frameNumberBits - 4)
  // Pictures are shown in the order in which they are coded, and refer to the one before.
  writeNumber(bits, 2)
  writeNumber(bits, 1)
  bits.writeBits(0, 1)
  writeNumber(bits, columns - 1)
  writeNumber(bits, rows - 1)
  bits.writeBits(0b111, 3)
  // Crop what the last macroblocks have too much, in units of two pixels.
  for (const crop of [0, columns * macroblockSize - width, 0, rows * macroblockSize - height]) {
    writeNumber(bits, crop / 2)
  }
  writeUsability(bits, framesPerSecond)
  return finishNal(nalTypes.sequence, bits)
}

/** Video usability information: the colours of HDTV, and the frame rate. */
function writeUsability(bits: BitWriter, framesPerSecond: number): void {
  bits.writeBits(0b1_0_0_1, 4)
  // Unspecified kind of video, limited range, colour primaries, transfer and matrix of BT.709.
  bits.writeBits(0b101_0_1, 5)
  for (let field = 0; field < 3; field++) bits.writeBits(1, 8)
  // No chroma location; timing.
  bits.writeBits(0b0_1, 2)
  bits.writeBits(0, 16)
  bits.writeBits(1, 16)
  bits.writeBits(0, 16)
  bits.writeBits(framesPerSecond * 2, 16)
  // A fixed frame rate; no buffer model, picture structure or restrictions.
  bits.writeBits(0b1_0_0_0_0, 5)
}

/** The picture parameter set. */
export function encodePictureParameters(): Buffer {
  const bits = new BitWriter()
  writeNumber(bits, 0)
  writeNumber(bits, 0)
  bits.writeBits(0, 2)
  for (let field = 0; field < 3; field++) writeNumber(bits, 0)
  bits.writeBits(0, 3)
  for (let field = 0; field < 3; field++) writeNumber(bits, 0)
  // Slices may turn the deblocking filter off.
  bits.writeBits(0b100, 3)
  return finishNal(nalTypes.picture, bits)
}

/** A picture that depends on no other, exact to the sample. Yields after each row of macroblocks. */
export function* encodeKeyPicture(picture: VideoPicture, keyNumber: number): Generator<undefined, Buffer> {
  const bits = new BitWriter(64 * 1024)
  writeNumber(bits, 0)
  writeNumber(bits, sliceTypes.intra)
  writeNumber(bits, 0)
  bits.writeBits(0, frameNumberBits)
  // Two key pictures in a row have different numbers.
  writeNumber(bits, keyNumber % 2)
  bits.writeBits(0, 2)
  writeSliceEnd(bits)
  const writer = new MacroblockWriter(bits, picture, 0)
  for (let row = 0; row < picture.rows; row++) {
    for (let column = 0; column < picture.columns; column++) writer.write(column, row)
    yield
  }
  return finishNal(nalTypes.keySlice, bits)
}

/** A picture like the one before except for the macroblocks at `changes`, which are in coding order. */
export function encodeChangedPicture(
  picture: VideoPicture,
  number: number,
  changes: Iterable<{ column: number; row: number }>,
): Buffer {
  const bits = new BitWriter()
  writeNumber(bits, 0)
  writeNumber(bits, sliceTypes.predicted)
  writeNumber(bits, 0)
  bits.writeBits(number % 2 ** frameNumberBits, frameNumberBits)
  bits.writeBits(0, 3)
  writeSliceEnd(bits)
  const writer = new MacroblockWriter(bits, picture, predictedTypes)
  let next = 0
  for (const { column, row } of changes) {
    const address = row * picture.columns + column
    writeNumber(bits, address - next)
    writer.write(column, row)
    next = address + 1
  }
  const skipped = picture.columns * picture.rows - next
  if (skipped > 0) writeNumber(bits, skipped)
  return finishNal(nalTypes.slice, bits)
}

/** The quantiser stays; the deblocking filter is off, so that samples remain exact. */
function writeSliceEnd(bits: BitWriter): void {
  writeNumber(bits, 0)
  writeNumber(bits, 1)
}

/** Macroblocks that continue their neighbour are predicted from it, all others are stored as samples. */
class MacroblockWriter {
  readonly #bits: BitWriter
  readonly #picture: VideoPicture
  readonly #firstType: number
  /** The macroblocks of this slice that are stored as samples. */
  readonly #stored = new Set<number>()

  constructor(bits: BitWriter, picture: VideoPicture, firstType: number) {
    this.#bits = bits
    this.#picture = picture
    this.#firstType = firstType
  }

  write(column: number, row: number): void {
    const prediction = this.#choosePrediction(column, row)
    if (prediction) this.#writePredicted(column, row, prediction)
    else this.#writeSamples(column, row)
  }

  #choosePrediction(column: number, row: number): Prediction | null {
    const { planes } = this.#picture
    if (column > 0 && planes.every((plane) => continuesLeft(plane, column, row))) return 'horizontal'
    if (row > 0 && planes.every((plane) => continuesTop(plane, column, row))) return 'vertical'
    return null
  }

  #writePredicted(column: number, row: number, prediction: Prediction): void {
    const bits = this.#bits
    writeNumber(bits, this.#firstType + macroblockTypes[prediction])
    writeNumber(bits, chromaModes[prediction])
    writeNumber(bits, 0)
    // No coefficients: the code depends on how many the neighbours have, and stored ones count as full.
    if (this.#hasStoredNeighbour(column, row)) bits.writeBits(0b000011, 6)
    else bits.writeBits(1, 1)
  }

  #hasStoredNeighbour(column: number, row: number): boolean {
    const address = row * this.#picture.columns + column
    const isLeftStored = column > 0 && this.#stored.has(address - 1)
    return isLeftStored || (row > 0 && this.#stored.has(address - this.#picture.columns))
  }

  #writeSamples(column: number, row: number): void {
    this.#stored.add(row * this.#picture.columns + column)
    writeNumber(this.#bits, this.#firstType + macroblockTypes.samples)
    this.#bits.align()
    for (const { data, stride, blockSize } of this.#picture.planes) {
      let start = row * blockSize * stride + column * blockSize
      for (let y = 0; y < blockSize; y++, start += stride) {
        this.#bits.writeBytes(data.subarray(start, start + blockSize))
      }
    }
  }
}

/** Each row of the block repeats the sample to its left. */
function continuesLeft({ data, stride, blockSize }: Plane, column: number, row: number): boolean {
  let start = row * blockSize * stride + column * blockSize
  for (let y = 0; y < blockSize; y++, start += stride) {
    const sample = data[start - 1]
    for (let x = 0; x < blockSize; x++) if (data[start + x] !== sample) return false
  }
  return true
}

/** Each column of the block repeats the sample above it. */
function continuesTop({ data, stride, blockSize }: Plane, column: number, row: number): boolean {
  const above = (row * blockSize - 1) * stride + column * blockSize
  for (let y = 1; y <= blockSize; y++) {
    for (let x = 0; x < blockSize; x++) {
      if (data[above + y * stride + x] !== data[above + x]) return false
    }
  }
  return true
}

/** An Exp-Golomb code. The signed code of zero is the same. */
function writeNumber(bits: BitWriter, value: number): void {
  const length = 32 - Math.clz32(value + 1)
  bits.writeBits(0, length - 1)
  bits.writeBits(value + 1, length)
}

/** Adds the stop bit and the header, and breaks up runs of zeros, which would look like the start of a unit. */
function finishNal(type: number, bits: BitWriter): Buffer {
  bits.writeBits(1, 1)
  const payload = bits.finish()
  const pieces: Buffer[] = [Buffer.of(type)]
  let start = 0
  for (let at = payload.indexOf('\0\0'); at >= 0; at = payload.indexOf('\0\0', at + 1)) {
    if (at < start || (payload[at + 2] ?? 0) > 3) continue
    pieces.push(payload.subarray(start, at + 2), Buffer.of(3))
    start = at + 2
  }
  pieces.push(payload.subarray(start))
  return Buffer.concat(pieces)
}
