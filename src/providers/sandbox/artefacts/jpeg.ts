import { runInSlices } from '../../../lib/time-slicer.ts'
import { BitWriter } from './bit-writer.ts'
import type { Colour, Scene } from './scene.ts'

/** A Huffman table: how many codes there are of each length from 1 to 16, and their symbols in order. */
interface HuffmanTable {
  counts: number[]
  symbols: number[]
  codes: Map<number, { code: number; length: number }>
}

const blockSize = 8
const blockSamples = blockSize * blockSize
const components = 3
const blocksPerStep = 32

/** The end of a block is the most frequent symbol by far: two bits. All others have eight; the last code is unused. */
const endOfBlock = 0x00
const sixteenZeros = 0xf0
const runsAndSizes = Array.from(
  { length: 160 },
  (_, index) => (Math.floor(index / 10) << 4) | ((index % 10) + 1),
)
const acTable = buildHuffmanTable({ 2: [endOfBlock], 8: [sixteenZeros, ...runsAndSizes] })
const dcTable = buildHuffmanTable({ 4: Array.from({ length: 12 }, (_, size) => size) })

/** Basis functions of the discrete cosine transform: frequency by position. */
const basis = Float64Array.from({ length: blockSamples }, (_, index) => {
  const [frequency, position] = [index >> 3, index & 7]
  const scale = frequency === 0 ? Math.SQRT1_2 / 2 : 1 / 2
  return scale * Math.cos(((2 * position + 1) * frequency * Math.PI) / 16)
})

/** Positions in a block by diagonals, every second one downwards. */
const zigzag = Array.from({ length: blockSamples }, (_, index) => index).sort((a, b) => {
  const [diagonalA, diagonalB] = [(a >> 3) + (a & 7), (b >> 3) + (b & 7)]
  if (diagonalA !== diagonalB) return diagonalA - diagonalB
  return diagonalA % 2 === 0 ? (a & 7) - (b & 7) : (a >> 3) - (b >> 3)
})

/** A baseline JPEG. Quality is from 0 to 100. */
export async function encodeJpeg(scene: Scene, quality: number): Promise<Uint8Array> {
  const steps = buildQuantisation(quality)
  const scan = await runInSlices(encodeScan(scene, steps))
  return Buffer.concat([
    Buffer.of(0xff, 0xd8),
    buildSegment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1')),
    buildSegment(0xdb, Buffer.from([0, ...zigzag.map((position) => steps[position] ?? 1)])),
    buildSegment(0xc0, buildFrameHeader(scene)),
    buildSegment(0xc4, Buffer.from([0x00, ...dcTable.counts, ...dcTable.symbols])),
    buildSegment(0xc4, Buffer.from([0x10, ...acTable.counts, ...acTable.symbols])),
    buildSegment(0xda, Buffer.from([components, 1, 0, 2, 0, 3, 0, 0, 63, 0])),
    ...stuffBytes(scan),
    Buffer.of(0xff, 0xd9),
  ])
}

/** Coarser for higher frequencies, and for lower quality. */
function buildQuantisation(quality: number): number[] {
  const factor = (100 - Math.min(100, Math.max(0, quality))) / 50
  return Array.from({ length: blockSamples }, (_, position) =>
    Math.min(255, Math.max(1, Math.round((8 + 4 * ((position >> 3) + (position & 7))) * factor))),
  )
}

function buildFrameHeader({ width, height }: Scene): Buffer {
  const header = Buffer.from([8, 0, 0, 0, 0, components, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0])
  header.writeUInt16BE(height, 1)
  header.writeUInt16BE(width, 3)
  return header
}

function buildSegment(marker: number, content: Uint8Array): Buffer {
  const length = content.length + 2
  return Buffer.concat([Buffer.of(0xff, marker, length >> 8, length & 255), content])
}

/** In the data, a byte of ones is followed by a zero, to tell it from a marker. */
function* stuffBytes(bytes: Buffer): Generator<Buffer> {
  let start = 0
  for (let at = bytes.indexOf(0xff); at >= 0; at = bytes.indexOf(0xff, start)) {
    yield bytes.subarray(start, at + 1)
    yield Buffer.of(0)
    start = at + 1
  }
  yield bytes.subarray(start)
}

function* encodeScan(scene: Scene, steps: readonly number[]): Generator<undefined, Buffer> {
  const { width, height } = scene
  const levels = toLevels(scene.palette)
  const columns = Math.ceil(width / blockSize)
  const stride = columns * blockSize
  const rows = new Uint8Array(stride * blockSize)
  const block = new Uint8Array(blockSamples)
  const encoder = new BlockEncoder(steps)
  for (let top = 0; top < height; top += blockSize) {
    for (let y = 0; y < blockSize; y++) {
      const row = rows.subarray(y * stride, (y + 1) * stride)
      // Beyond the edge, the last row and column go on: decoders cut them off.
      scene.paintRow(Math.min(top + y, height - 1), row.subarray(0, width))
      row.fill(row[width - 1] ?? 0, width)
    }
    for (let column = 0; column < columns; column++) {
      for (let y = 0; y < blockSize; y++) {
        const start = y * stride + column * blockSize
        block.set(rows.subarray(start, start + blockSize), y * blockSize)
      }
      encoder.encode(block, levels)
      if (column % blocksPerStep === blocksPerStep - 1) yield
    }
    yield
  }
  return encoder.finish()
}

/** The palette as luma and chroma, centred on zero. */
function toLevels(palette: readonly Colour[]): Float64Array[] {
  const levels = Array.from({ length: components }, () => new Float64Array(palette.length))
  for (const [index, [red, green, blue]] of palette.entries()) {
    const luma = 0.299 * red + 0.587 * green + 0.114 * blue
    const values = [luma - 128, (blue - luma) / 1.772, (red - luma) / 1.402]
    for (const [component, value] of values.entries()) levels[component]?.fill(value, index, index + 1)
  }
  return levels
}

class BlockEncoder {
  readonly #bits = new BitWriter(64 * 1024)
  readonly #steps: readonly number[]
  /** The mean of the block before, of each component: only the difference is stored. */
  readonly #previous = new Int32Array(components)
  readonly #rows = new Float64Array(blockSamples)
  readonly #coefficients = new Int32Array(blockSamples)

  constructor(steps: readonly number[]) {
    this.#steps = steps
  }

  /** Encodes a block of colours, given the level of each colour in each component. */
  encode(block: Uint8Array, levels: readonly Float64Array[]): void {
    // Most blocks have one colour, and then nothing but a mean.
    const isFlat = hasOneValue(block)
    for (const [component, values] of levels.entries()) {
      if (!isFlat) this.#transform(block, values)
      const flatMean = ((values[block[0] ?? 0] ?? 0) * blockSize) / (this.#steps[0] ?? 1)
      this.#writeMean(isFlat ? Math.round(flatMean) : (this.#coefficients[0] ?? 0), component)
      if (isFlat) this.#writeSymbol(acTable, endOfBlock)
      else this.#writeCoefficients()
    }
  }

  finish(): Buffer {
    this.#bits.align(1)
    return this.#bits.finish()
  }

  #writeMean(mean: number, component: number): void {
    const difference = mean - (this.#previous[component] ?? 0)
    this.#previous[component] = mean
    this.#writeValue(dcTable, 0, difference)
  }

  #writeCoefficients(): void {
    let zeros = 0
    for (let index = 1; index < blockSamples; index++) {
      const value = this.#coefficients[zigzag[index] ?? 0] ?? 0
      if (value === 0) {
        zeros++
        continue
      }
      for (; zeros > 15; zeros -= 16) this.#writeSymbol(acTable, sixteenZeros)
      this.#writeValue(acTable, zeros, value)
      zeros = 0
    }
    if (zeros > 0) this.#writeSymbol(acTable, endOfBlock)
  }

  /** The quantised cosine transform: of each row, then of each column. */
  #transform(block: Uint8Array, values: Float64Array): void {
    const steps = this.#steps
    for (let y = 0; y < blockSize; y++) {
      for (let u = 0; u < blockSize; u++) {
        let sum = 0
        for (let x = 0; x < blockSize; x++) {
          sum += (basis[u * 8 + x] ?? 0) * (values[block[y * 8 + x] ?? 0] ?? 0)
        }
        this.#rows[y * 8 + u] = sum
      }
    }
    for (let v = 0; v < blockSize; v++) {
      for (let u = 0; u < blockSize; u++) {
        let sum = 0
        for (let y = 0; y < blockSize; y++) sum += (basis[v * 8 + y] ?? 0) * (this.#rows[y * 8 + u] ?? 0)
        this.#coefficients[v * 8 + u] = Math.round(sum / (steps[v * 8 + u] ?? 1))
      }
    }
  }

  /** The symbol has the zeros before a value and its size in bits; the bits of the value follow. */
  #writeValue(table: HuffmanTable, zeros: number, value: number): void {
    const size = 32 - Math.clz32(Math.abs(value))
    this.#writeSymbol(table, (zeros << 4) | size)
    this.#bits.writeBits(value < 0 ? value + (1 << size) - 1 : value, size)
  }

  #writeSymbol({ codes }: HuffmanTable, symbol: number): void {
    const { code, length } = codes.get(symbol) ?? { code: 0, length: 0 }
    this.#bits.writeBits(code, length)
  }
}

function hasOneValue(block: Uint8Array): boolean {
  const first = block[0]
  for (const value of block) if (value !== first) return false
  return true
}

/** Codes are given in order of their length. */
function buildHuffmanTable(symbolsByLength: Record<number, number[]>): HuffmanTable {
  const table: HuffmanTable = { counts: [], symbols: [], codes: new Map() }
  let code = 0
  for (let length = 1; length <= 16; length++, code <<= 1) {
    const symbols = symbolsByLength[length] ?? []
    table.counts.push(symbols.length)
    table.symbols.push(...symbols)
    for (const symbol of symbols) table.codes.set(symbol, { code: code++, length })
  }
  return table
}
