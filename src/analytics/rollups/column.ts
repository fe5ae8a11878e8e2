/**
 * A column of a segment: integers, or texts as indexes into `values`. One that has the same value in every
 * row has no `numbers`. Negative numbers reverse what was counted before; they are rare, and eight bytes
 * wide.
 */
export interface Column {
  numbers: Uint32Array | Float64Array | null
  constant: number
  /** The largest magnitude. */
  max: number
  /** Sum of the absolute values of all rows, as a double. */
  total: number
  /** Whether a row may be negative. */
  isSigned: boolean
  values: readonly (string | null)[] | null
}

interface Header {
  /** Bytes of a number; 0 for a constant. */
  width: 0 | 1 | 2 | 4 | 8
  constant: number
  max: number
  total: number
  values: readonly (string | null)[] | null
}

const maxUint32 = 0xffff_ffff

export function createNumberColumn(numbers: ArrayLike<number>): Column {
  return createColumn(numbers, null)
}

export function createTextColumn(texts: readonly (string | null)[]): Column {
  const indexes = new Map<string | null, number>()
  const numbers = new Uint32Array(texts.length)
  for (let row = 0; row < texts.length; row++) {
    const text = texts[row] ?? null
    let index = indexes.get(text)
    if (index === undefined) {
      index = indexes.size
      indexes.set(text, index)
    }
    numbers[row] = index
  }
  return createColumn(numbers, [...indexes.keys()])
}

function createColumn(numbers: ArrayLike<number>, values: Column['values']): Column {
  const first = numbers[0] ?? 0
  let max = Math.abs(first)
  let total = max
  let isConstant = true
  let isSigned = first < 0
  for (let row = 1; row < numbers.length; row++) {
    const number = numbers[row] ?? 0
    const magnitude = Math.abs(number)
    total += magnitude
    if (magnitude > max) max = magnitude
    if (number !== first) isConstant = false
    if (number < 0) isSigned = true
  }
  if (isConstant) return { numbers: null, constant: first, max, total, isSigned, values }
  const wide = isSigned || max > maxUint32
  const stored = wide ? Float64Array.from(numbers) : Uint32Array.from(numbers)
  return { numbers: stored, constant: 0, max, total, isSigned, values }
}

export function encodeColumn({ numbers, constant, max, total, values }: Column): Uint8Array {
  const packed = numbers && narrow(numbers, max)
  const width = (packed?.BYTES_PER_ELEMENT ?? 0) as Header['width']
  const header: Header = { width, constant, max, total, values }
  return encodeFrame(header, packed ? new Uint8Array(packed.buffer) : new Uint8Array())
}

function narrow(numbers: Uint32Array | Float64Array, max: number) {
  if (numbers instanceof Float64Array) return Float64Array.from(numbers)
  if (max <= 0xff) return Uint8Array.from(numbers)
  return max <= 0xffff ? Uint16Array.from(numbers) : Uint32Array.from(numbers)
}

export function decodeColumn(bytes: Uint8Array, size: number): Column {
  const { header, data } = decodeFrame<Header>(bytes)
  const { width, constant, ...known } = header
  let numbers: Column['numbers'] | undefined
  return {
    ...known,
    constant,
    isSigned: width === 8 || constant < 0,
    // Often the total is enough.
    get numbers() {
      numbers ??= width === 0 ? null : widen(data, width, size)
      return numbers
    },
  }
}

/** One kind of array for all widths, so that loops over them are compiled once. */
function widen(data: Uint8Array, width: number, size: number): Uint32Array | Float64Array {
  const aligned = data.byteOffset % width === 0 ? data : data.slice()
  const { buffer, byteOffset } = aligned
  if (width === 1) return new Uint32Array(new Uint8Array(buffer, byteOffset, size))
  if (width === 2) return new Uint32Array(new Uint16Array(buffer, byteOffset, size))
  return width === 4 ? new Uint32Array(buffer, byteOffset, size) : new Float64Array(buffer, byteOffset, size)
}

/** Packs several columns in one body, each under its name. */
export function packColumns(columns: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const offsets: Record<string, [at: number, length: number]> = {}
  let at = 0
  for (const [name, bytes] of columns) {
    offsets[name] = [at, bytes.length]
    at = alignTo8(at + bytes.length)
  }
  const data = new Uint8Array(at)
  for (const [name, bytes] of columns) data.set(bytes, offsets[name]?.[0])
  return encodeFrame(offsets, data)
}

export function unpackColumns(bytes: Uint8Array): Map<string, Uint8Array> {
  const { header, data } = decodeFrame<Record<string, [at: number, length: number]>>(bytes)
  return new Map(Object.entries(header).map(([name, [at, length]]) => [name, data.subarray(at, at + length)]))
}

/** The length of the header, the header as JSON, and the data aligned to eight bytes. */
function encodeFrame(header: unknown, data: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(header))
  const start = alignTo8(4 + text.length)
  const bytes = new Uint8Array(start + data.length)
  new DataView(bytes.buffer).setUint32(0, text.length, true)
  bytes.set(text, 4)
  bytes.set(data, start)
  return bytes
}

function decodeFrame<T>(bytes: Uint8Array): { header: T; data: Uint8Array } {
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as T
  return { header, data: bytes.subarray(alignTo8(4 + length)) }
}

function alignTo8(length: number): number {
  return Math.ceil(length / 8) * 8
}
