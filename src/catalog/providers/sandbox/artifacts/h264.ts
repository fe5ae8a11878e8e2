/** The side of a macroblock. */
export const macroblockSize = 16

/** A picture of whole macroblocks, each with its samples: luma, then the two chroma components at half the resolution. */
export interface VideoPicture {
  columns: number
  rows: number
  /** The samples of a macroblock, requested in coding order. In the limited range, none is zero. */
  readMacroblock(column: number, row: number): Uint8Array
}

interface Level {
  idc: number
  maxMacroblocks: number
  maxMacroblocksPerSecond: number
}

const frameNumberBits = 8
/** Constrained baseline. */
const profile = fixed(66, 8) + fixed(0xc0, 8)
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
/** The type of a macroblock that is stored as samples, and zeros up to the next byte. */
const storedMacroblock = golomb(25)

/** Along a side of so many pixels. */
export function countMacroblocks(side: number): number {
  return Math.ceil(side / macroblockSize)
}

/** Null when no level allows so large a picture. */
export function chooseLevel(columns: number, rows: number, framesPerSecond: number): number | null {
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
export function encodeSequence(width: number, height: number, level: number): Buffer {
  const [columns, rows] = [countMacroblocks(width), countMacroblocks(height)]
  // Crop what the last macroblocks have too much, in units of two pixels.
  const crops = [0, columns * macroblockSize - width, 0, rows * macroblockSize - height]
  const bits = [
    profile + fixed(level, 8),
    ...[0, frameNumberBits - 4].map(golomb),
    // Pictures are shown in the order in which they are coded, and refer to the one before.
    ...[2, 1].map(golomb),
    fixed(0, 1),
    ...[columns - 1, rows - 1].map(golomb),
    '111',
    ...crops.map((crop) => golomb(crop / 2)),
    fixed(0, 1),
  ]
  return buildNal(nalTypes.sequence, toBytes(`${bits.join('')}1`))
}

/** The picture parameter set: variable-length codes, one slice, no deblocking parameters. */
export function encodePictureParameters(): Buffer {
  const zeros = golomb(0).repeat(3)
  const bits = golomb(0).repeat(2) + fixed(0, 2) + zeros + fixed(0, 3) + zeros + fixed(0, 3)
  return buildNal(nalTypes.picture, toBytes(`${bits}1`))
}

/** A picture that depends on no other, exact to the sample. Yields after each row of macroblocks. */
export function* encodeKeyPicture(picture: VideoPicture): Generator<undefined, Buffer> {
  const header = encodeSliceStart(sliceTypes.intra, 0) + golomb(0) + fixed(0, 2) + golomb(0)
  const pieces: Uint8Array[] = []
  let type = toBytes(header + storedMacroblock)
  for (let row = 0; row < picture.rows; row++) {
    for (let column = 0; column < picture.columns; column++) {
      pieces.push(type, picture.readMacroblock(column, row))
      type = toBytes(storedMacroblock)
    }
    yield
  }
  return buildNal(nalTypes.keySlice, Buffer.concat([...pieces, toBytes('1')]))
}

/** A picture like the one before, which has the previous number: all macroblocks are skipped. */
export function encodeSamePicture({ columns, rows }: VideoPicture, number: number): Buffer {
  const header = encodeSliceStart(sliceTypes.predicted, number) + fixed(0, 3) + golomb(0)
  return buildNal(nalTypes.slice, toBytes(`${header}${golomb(columns * rows)}1`))
}

function encodeSliceStart(type: number, frameNumber: number): string {
  return golomb(0) + golomb(type) + golomb(0) + fixed(frameNumber % 2 ** frameNumberBits, frameNumberBits)
}

function fixed(value: number, bits: number): string {
  return value.toString(2).padStart(bits, '0')
}

/** An Exp-Golomb code. The signed code of zero is the same. */
function golomb(value: number): string {
  const bits = (value + 1).toString(2)
  return '0'.repeat(bits.length - 1) + bits
}

/** Zeros fill the last byte. */
function toBytes(bits: string): Buffer {
  const bytes = bits.match(/.{1,8}/g) ?? []
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2)))
}

/** Breaks up runs of zeros, which would look like the start of a unit. */
function buildNal(type: number, payload: Buffer): Buffer {
  const pieces: Buffer[] = [Buffer.of(type)]
  let start = 0
  for (let at = payload.indexOf('\0\0'); at >= 0; at = payload.indexOf('\0\0', at + 1)) {
    if (at < start || (payload[at + 2] ?? 0) > 3) continue
    pieces.push(payload.subarray(start, at + 2), Buffer.of(3))
    start = at + 2
  }
  return Buffer.concat([...pieces, payload.subarray(start)])
}
